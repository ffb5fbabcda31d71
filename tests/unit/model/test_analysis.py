"""Ranges, and how often a rule condemns a healthy release by chance."""

import math
from dataclasses import replace
from datetime import timedelta

import pytest

from volary.model import analysis
from volary.model.analysis import Judgement, Range, Strategy

GOOD = analysis.Rule("m", "p", "q", expected=Range(maximum=1))
CONSECUTIVE = analysis.FailureCount.CONSECUTIVE
COMPARED = analysis.Rule("m", "p", "q", strategy=Strategy.CANARY_PRIMARY)


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
