"""Metrics that wander as slowly as an analysis is long: neither condemned nor passed."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from volary.analysis.verdicts import evidence, rule_verdicts, samples
from volary.model import analysis
from volary.model.analysis import Deviation, Judgement, Kind, Result, Role, Strategy

START = datetime(2026, 1, 1, tzinfo=UTC)
REQUESTS = 600.0
ERRORS = analysis.Rule(
    "errors",
    query="q",
    total_query="t",
    kind=Kind.PROPORTION,
    strategy=Strategy.CANARY_BASELINE,
    deviation=Deviation.HIGH,
    judgement=Judgement.SEQUENTIAL,
)
#: Errors of canary that go up for ten minutes and down again.
WANDERING = (6, 8, 10, 12, 15, 18, 22, 26, 24, 22, 18, 15, 12, 10, 8, 6, 4, 3, 3, 4)
STEADY = (6, 7, 5, 6, 8, 6, 4, 6, 7, 5, 6, 6, 7, 4, 6, 8, 5, 6, 7, 5)


def measured(canary: Sequence[float], *others: Sequence[float]) -> analysis.Series:
    """Return a release with these errors at each minute; it is over."""
    roles = (Role.JUDGED, Role.REFERENCE, Role.CONTROL)
    measurements = tuple(
        analysis.Measurement(
            "errors",
            "q",
            START + timedelta(minutes=minute),
            target="eu",
            role=role,
            values=(float(errors),),
            totals=(REQUESTS,),
        )
        for role, side in zip(roles, (canary, *others), strict=False)
        for minute, errors in enumerate(side, 1)
    )
    ends = START + timedelta(minutes=len(canary))
    return analysis.Series(START, ends, ends + timedelta(minutes=5), "eu", measurements)


def judge(series: analysis.Series) -> analysis.Verdict:
    return rule_verdicts.judge(ERRORS, series, series.ends)


def test_what_may_be_the_weather_of_the_metric_is_inconclusive_and_says_so() -> None:
    verdict = judge(measured(WANDERING, STEADY))

    assert verdict.result is Result.INCONCLUSIVE
    assert "wanders as slowly as the analysis is long" in verdict.sentence
    assert "measure longer" in verdict.sentence


def test_as_many_errors_all_the_time_are_not_its_weather() -> None:
    mean = sum(WANDERING) // len(WANDERING)

    verdict = judge(measured([mean + errors - 6 for errors in STEADY], STEADY))

    assert verdict.result is Result.FAIL
    assert verdict.is_condemned


def test_what_wanders_on_both_sides_is_passed() -> None:
    assert judge(measured(WANDERING, [*WANDERING[1:], 4])).result is Result.PASS


def test_a_third_side_that_wanders_speaks_for_the_release() -> None:
    """Primary beside a steady baseline: what differs when nothing differs."""
    rule = analysis.Rule(
        "errors",
        kind=Kind.PROPORTION,
        strategy=Strategy.CANARY_BASELINE_PRIMARY,
        deviation=Deviation.HIGH,
        judgement=Judgement.SEQUENTIAL,
    )

    def scale(primary: Sequence[float]) -> float:
        series = measured([errors + 2 for errors in STEADY], STEADY, primary)
        looks = samples.gather(rule, [series])
        return evidence.measured(rule, [look.usable for look in looks]).weather.scale

    assert scale(WANDERING) > 2 * scale(STEADY)
