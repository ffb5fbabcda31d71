"""Rules that cannot be judged as they are written are named."""

import math
from dataclasses import replace
from datetime import timedelta

import pytest

from volary.model import analysis
from volary.model.analysis import Judgement, Kind, Range, Strategy

GOOD = analysis.Rule("m", "p", "q", expected=Range(maximum=1))
CONSECUTIVE = analysis.FailureCount.CONSECUTIVE
COMPARED = analysis.Rule("m", "p", "q", strategy=Strategy.CANARY_PRIMARY)


@pytest.mark.parametrize(
    "rule",
    [
        GOOD,
        COMPARED,
        replace(COMPARED, judgement=Judgement.SEQUENTIAL, ratio_limit=1.1, median_per_look=True),
        replace(GOOD, kind=Kind.PROPORTION, total_query="t", judgement=Judgement.SEQUENTIAL),
        replace(GOOD, expected=Range(1, 1)),
    ],
)
def test_a_good_rule_has_no_faults(rule: analysis.Rule) -> None:
    assert analysis.faults(rule) == ()


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        (replace(GOOD, expected=None), "expected is required"),
        (replace(GOOD, expected=Range()), "needs a minimum or a maximum"),
        (replace(GOOD, expected=Range(2, 1)), "minimum is above the maximum"),
        (replace(COMPARED, expected=Range(maximum=1)), "only with the strategy THRESHOLD"),
        (replace(GOOD, ratio_limit=1.1), "needs a strategy that compares"),
        (replace(COMPARED, ratio_limit=0), "must be above zero"),
        (replace(GOOD, kind=Kind.PROPORTION), "needs a query for its total"),
        (replace(GOOD, total_query="t"), "only for a proportion"),
        (replace(GOOD, judgement=Judgement.SEQUENTIAL), "look by look"),
        (replace(GOOD, median_per_look=True), "median per look"),
        (replace(GOOD, significance=1), "between 0 and 1"),
        (replace(GOOD, failure_limit=-1), "failure limit"),
        (replace(GOOD, minimum_samples=0), "at least one sample"),
        (replace(GOOD, interval=timedelta(0)), "interval"),
        (replace(GOOD, warm_up=-timedelta(1)), "warm-up"),
    ],
)
def test_each_fault_has_its_sentence(rule: analysis.Rule, fault: str) -> None:
    found = analysis.faults(rule)

    assert len(found) == 1
    assert fault in found[0]


@pytest.mark.parametrize(
    ("expected", "inside", "outside", "text"),
    [
        (Range(1, 2), [1, 1.5, 2], [0.9, 2.1, math.nan, math.inf], "1 to 2"),
        (Range(minimum=1), [1, math.inf], [0, math.nan], "≥ 1"),
        (Range(maximum=1), [1, -math.inf], [2, math.nan], "≤ 1"),
        (Range(), [0], [math.nan], "any value"),
    ],
)
def test_a_range_holds_its_bounds_and_never_nan(
    expected: Range, inside: list[float], outside: list[float], text: str
) -> None:
    assert all(value in expected for value in inside)
    assert not any(value in expected for value in outside)
    assert str(expected) == text


@pytest.mark.parametrize(
    ("rule", "minutes", "share"),
    [
        (COMPARED, 1, 0.05),
        (COMPARED, 30, 1 - 0.95**30),
        (replace(COMPARED, failure_limit=1), 2, 0.05**2),
        (replace(COMPARED, failure_limit=9), 5, 0),
        (replace(COMPARED, warm_up=timedelta(minutes=29)), 30, 0.05),
        (replace(COMPARED, failure_limit=1, failure_count=CONSECUTIVE), 2, 0.05**2),
        (replace(COMPARED, failure_limit=1, failure_count=CONSECUTIVE), 3, 1 - (1 - 0.05**2) ** 2),
        (replace(COMPARED, judgement=Judgement.SEQUENTIAL), 600, 0.05),
        (replace(COMPARED, ratio_limit=1.1), 30, 0),
        (GOOD, 30, 0),
    ],
)
def test_looking_more_often_raises_more_false_alarms(
    rule: analysis.Rule, minutes: int, share: float
) -> None:
    assert analysis.false_alarms(rule, timedelta(minutes=minutes)) == pytest.approx(share)
