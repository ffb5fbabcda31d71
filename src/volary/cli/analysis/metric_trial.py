"""``volary analysis test``: tries the metrics of an application file without a release."""

import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from volary.cli import console, exit_codes, forms
from volary.cli.analysis import asked_clusters, findings_table
from volary.cli.remote import output
from volary.config.decoding import values
from volary.controller import inputs, system_clock
from volary.controller.planning import preparation
from volary.engine.observers import redaction as event_redaction
from volary.manifests import redaction as manifest_redaction
from volary.model import analysis, errors, json
from volary.stages.judgement import metric_trials

_AGO = re.compile(r"-(.+)")


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """What is tried."""

    inputs: preparation.RunOptions
    #: A moment in RFC 3339, or how long ago, as `-10m`; empty: now.
    at: str = ""
    looks: int = 1
    #: When the analysis began that `PREVIOUS` compares with.
    previous: str = ""
    #: Only this cluster; empty: all of the application's.
    cluster: str = ""


async def run(request: TrialRequest, form: forms.Form) -> int:
    """Try the metrics and show what they say; 1 when a release would not have passed."""
    clock = system_clock.SystemClock()
    now = clock.now()
    moment = metric_trials.Moment(
        at=_moment(request.at, now) or now,
        looks=request.looks,
        is_now=not request.at,
        previous=_moment(request.previous, now),
    )
    asked = await asked_clusters.open_clusters(request.inputs, only=request.cluster)
    masker = manifest_redaction.Masker()
    async with inputs.open_meter(asked.members.providers, clock=clock, learn=masker.add) as meter:
        tried = metric_trials.Trial(asked.opened.application, asked.names, meter, clock)
        findings, verdicts = await tried.run(moment)
    shown = [_clean(masker, finding) for finding in findings]
    if form.is_document:
        output.show({"at": moment.at.isoformat(), "findings": shown}, form)
    else:
        _show(shown)
    passed = all(
        verdict.result is analysis.Result.PASS for verdict in verdicts if not verdict.dry_run
    )
    return exit_codes.Exit.DONE if passed else exit_codes.Exit.FAILED


def _clean(
    masker: manifest_redaction.Masker, finding: metric_trials.TrialFinding
) -> json.JsonObject:
    document = event_redaction.clean_finding(masker, finding.document)
    return {**asdict(finding), "attempt": 1, "document": document}


def _show(shown: list[json.JsonObject]) -> None:
    judged = findings_table.read(shown)
    if not judged:
        console.write_text("no stage of the application measures anything")
        return
    console.write_lines(findings_table.table(judged))
    console.write_lines(findings_table.sentences(judged))
    console.write_lines(findings_table.queries(judged))


def _moment(written: str, now: datetime) -> datetime | None:
    """Read a moment; None: nothing was written.

    Raises:
        errors.UserError: It is none.
    """
    if not written:
        return None
    ago = _AGO.fullmatch(written)
    try:
        if ago:
            return now - values.duration(ago[1])
        moment = datetime.fromisoformat(written)
    except ValueError:
        raise errors.user_error(
            f"{written} is no moment", hint="write 2026-01-31T12:00:00Z, or -10m"
        ) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if moment > now + timedelta(seconds=1):
        raise errors.user_error(f"{written} is in the future")
    return moment
