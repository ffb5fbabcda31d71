"""``volary analysis RUN``: what was measured, how it was judged, and why it failed."""

from collections.abc import Mapping
from pathlib import Path

from volary.cli import console, exit_codes, forms
from volary.cli.analysis import findings_table
from volary.cli.remote import client, output, queries
from volary.model import errors

_MOST = 20_000


async def show(
    server: client.Client, run: str, stage: str, cluster: str, metric: str, form: forms.Form
) -> int:
    """Show what the analyses of a run found."""
    whole = await queries.run_of(server, run)
    summary = whole["summary"]
    findings = await server.pages(
        "runs",
        summary["id"],
        "findings",
        most=_MOST,
        stage=stage,
        cluster=cluster,
        metric=metric,
    )
    if form.is_document:
        output.show({"run": summary, "findings": findings}, form)
        return exit_codes.Exit.DONE
    console.write_text(f"{summary['application']} {summary['id']}: {summary['status']}")
    if summary["reason"]:
        console.write_text(str(summary["reason"]))
    judged = findings_table.read(findings)
    if not judged:
        console.write_text(_nothing({"stage": stage, "cluster": cluster, "metric": metric}))
    for name in dict.fromkeys(judged_metric.stage for judged_metric in judged):
        _show_stage(
            name, [judged_metric for judged_metric in judged if judged_metric.stage == name], form
        )
    return exit_codes.Exit.DONE


async def write_report(
    server: client.Client, run: str, stage: str, cluster: str, metric: str, file: str
) -> int:
    """Write what the analyses of a run found into a file of HTML; an older one is replaced.

    Raises:
        errors.UserError: The file cannot be written.
    """
    # Nothing else needs it.
    from volary.cli.analysis import html_report

    summary = (await queries.run_of(server, run))["summary"]
    found = await server.get("runs", summary["id"], "analysis", stage=stage, cluster=cluster)
    page = html_report.page(summary, found, metric=metric)
    try:
        Path(file).write_text(console.without_secrets(page), encoding="utf-8")
    except OSError as error:
        raise errors.user_error(
            f"cannot write {file}: {error.strerror or error}", hint="name a file for --report"
        ) from None
    console.tell(f"wrote {file}")
    return exit_codes.Exit.DONE


def _nothing(asked: Mapping[str, str]) -> str:
    """Say that nothing was found; with limits that is no news of the run."""
    named = ", ".join(f"{name} {value}" for name, value in asked.items() if value)
    said = "nothing was measured in this run"
    return f"{said} for {named}" if named else said


def _show_stage(name: str, judged: list[findings_table.JudgedMetric], form: forms.Form) -> None:
    console.write_text("")
    console.write_text(name)
    lines = [*findings_table.table(judged), *findings_table.sentences(judged)]
    if form is forms.Form.WIDE:
        lines += findings_table.queries(judged)
    console.write_lines(f"  {line}" for line in lines)
