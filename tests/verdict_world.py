"""Histories of measurements, a look a minute, and the verdict on them."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from volary.analysis.verdicts import rule_verdicts
from volary.model import analysis
from volary.model.analysis import Deviation, Judgement, Kind, Range, Reading, Role, Strategy

START = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

THRESHOLD = analysis.Rule("errors", "prom", "q", expected=Range(maximum=0.05))
COMPARED = analysis.Rule(
    "latency", "prom", "q", strategy=Strategy.CANARY_BASELINE, deviation=Deviation.HIGH
)
PROPORTION = analysis.Rule(
    "errors",
    "prom",
    "q",
    total_query="t",
    kind=Kind.PROPORTION,
    strategy=Strategy.CANARY_BASELINE,
    deviation=Deviation.HIGH,
    judgement=Judgement.SEQUENTIAL,
)

Values = Sequence[float] | str


def measured(
    number: int, values: Values, role: Role = Role.JUDGED, totals: Sequence[float] = ()
) -> analysis.Measurement:
    """Return what was measured at look `number`; text: an error."""
    return analysis.Measurement(
        "metric",
        "q",
        START + number * MINUTE,
        target="eu",
        variant="canary" if role is Role.JUDGED else "baseline",
        role=role,
        values=() if isinstance(values, str) else tuple(values),
        totals=tuple(totals),
        reading=Reading.ERROR if isinstance(values, str) else Reading.VALUES,
        message=values if isinstance(values, str) else "",
    )


def series(measurements: Iterable[analysis.Measurement], planned: int) -> analysis.Series:
    return analysis.Series(
        START,
        START + planned * MINUTE,
        START + 10 * planned * MINUTE,
        target="eu",
        measurements=tuple(measurements),
    )


def alone(values: Sequence[Values], planned: int | None = None) -> analysis.Series:
    """Return a history of the new version only, a look a minute."""
    found = [measured(at, each) for at, each in enumerate(values, 1)]
    return series(found, len(values) if planned is None else planned)


def beside(pairs: Sequence[tuple[Values, Values]]) -> analysis.Series:
    """Return a history of both sides."""
    return series(
        [
            each
            for at, (one, other) in enumerate(pairs, 1)
            for each in (measured(at, one), measured(at, other, Role.REFERENCE))
        ],
        len(pairs),
    )


def counted(pairs: Sequence[tuple[float, float, float, float]]) -> analysis.Series:
    """Return a history of errors and requests of both sides."""
    found = []
    for at, (errors, requests, others, other_requests) in enumerate(pairs, 1):
        found.append(measured(at, [errors], totals=[requests]))
        found.append(measured(at, [others], Role.REFERENCE, [other_requests]))
    return series(found, len(pairs))


def judge(rule: analysis.Rule, history: analysis.Series, minute: int = -1) -> analysis.Verdict:
    """Judge at the end of the analysis, or at a minute of it."""
    now = history.ends if minute < 0 else START + minute * MINUTE
    return rule_verdicts.judge(rule, history, now)
