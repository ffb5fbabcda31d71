"""Rounds of checks of a long stage: judged by the newest look, and no dearer than those before."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from volary.analysis.verdicts import checks, samples
from volary.model import analysis
from volary.stages.judgement import cluster_judges, metric_checks

START = datetime(2026, 1, 1, tzinfo=UTC)
EVERY = timedelta(seconds=10)
IN_RANGE = analysis.Rule(
    "latency",
    "prometheus",
    "q",
    strategy=analysis.Strategy.THRESHOLD,
    expected=analysis.Range(maximum=1),
    interval=timedelta(minutes=1),
)


def series(values: Sequence[float], *, target: str = "us") -> analysis.Series:
    """One value every ten seconds."""
    measured = tuple(
        analysis.Measurement(
            metric="latency",
            query="q",
            time=START + number * EVERY,
            target=target,
            variant="canary",
            role=analysis.Role.JUDGED,
            values=(value,),
            totals=(),
            reading=analysis.Reading.VALUES,
            message="",
        )
        for number, value in enumerate(values)
    )
    ends = START + timedelta(hours=3)
    return analysis.Series(
        started=START, ends=ends, deadline=ends, target=target, measurements=measured
    )


@pytest.mark.parametrize("last", [0.5, 2.0])
@pytest.mark.parametrize("count", [1, 2, 13, 100])
@pytest.mark.parametrize("targets", [("us",), ("us", "eu")])
def test_old_looks_change_nothing_about_the_newest(
    targets: tuple[str, ...], count: int, last: float
) -> None:
    known = [series([3.0] * count + [last], target=each) for each in targets]

    found = metric_checks.of_series(IN_RANGE, known)

    *earlier, newest = samples.gather(IN_RANGE, known)
    assert found == checks.of_look(IN_RANGE, newest, earlier)


@pytest.mark.parametrize(("last", "result"), [(11.0, "pass"), (13.0, "fail")])
@pytest.mark.parametrize("targets", [("us",), ("us", "eu")])
def test_what_was_usual_is_known_at_the_newest_look(
    targets: tuple[str, ...], last: float, result: str
) -> None:
    """It was asked at the first one, long before what the newest look needs."""
    rule = replace(
        IN_RANGE,
        expected=None,
        deviation=analysis.Deviation.HIGH,
        history=analysis.History(tolerance=0.2),
    )
    known = []
    for target in targets:
        seen = series([11.0] * 100 + [last], target=target)
        before = replace(seen.measurements[0], role=analysis.Role.HISTORY, values=(10.0,))
        known.append(replace(seen, measurements=(before, *seen.measurements)))

    assert metric_checks.of_series(rule, known).result == result


@pytest.mark.parametrize(("dry_run", "of_bad_looks"), [(False, [55, 56, 57, 58]), (True, [55, 58])])
def test_a_verdict_is_made_of_the_first_looks_of_bad_ones_and_now_and_then(
    dry_run: bool, of_bad_looks: list[int]
) -> None:
    """What only is tried out may be bad at every look of a long stage."""
    metrics = metric_checks._MetricChecks(cast("cluster_judges.Judge", None))
    good, bad = metric_checks.PASSED, metric_checks.Finding(metric_checks.Result.FAILED, "bad")
    made = []
    for metrics.round in range(1, 201):
        own = bad if metrics.round in (55, 56, 57) else good
        if not metrics._is_only_shown(replace(IN_RANGE, dry_run=dry_run), own):
            made.append(metrics.round)

    assert made == [1, 2, 3, 10, 20, 30, 40, 50, *of_bad_looks, 60, 70, 80, 100, 120, 140, 160, 200]
