"""From measurements of both sides to a verdict."""

from dataclasses import replace

import pytest

from verdict_world import COMPARED, alone, beside, judge
from volary.model.analysis import Deviation, Result


def test_values_that_are_higher_than_the_others_fail() -> None:
    found = judge(COMPARED, beside([([5, 6, 7, 8], [1, 2, 3, 4])]))

    assert found.result is Result.FAIL
    assert found.numbers.samples == found.numbers.reference_samples == 4
    assert found.numbers.effect == 1
    assert found.numbers.p_value == pytest.approx(1 / 70)
    assert "canary has a median of 6.5 (4 values), baseline 2.5 (4)" in found.sentence
    assert judge(replace(COMPARED, deviation=Deviation.LOW), beside([([5], [1])] * 5)).result is (
        Result.PASS
    )


def test_a_look_too_small_to_show_anything_takes_those_before_it() -> None:
    """One value a look: five looks in a row are the first that can show 5 %."""
    worse = beside([([2], [1])] * 8)

    for minute in range(1, 5):
        assert judge(COMPARED, worse, minute).result is Result.INCONCLUSIVE
    assert judge(COMPARED, worse, 5).result is Result.FAIL
    assert ", over 5 looks" in judge(COMPARED, worse, 5).sentence
    assert judge(COMPARED, beside([([1], [2])] * 8)).result is Result.PASS


def test_a_canary_that_was_never_compared_does_not_pass() -> None:
    found = judge(COMPARED, beside([([1], [1])] * 3))

    assert found.result is Result.INCONCLUSIVE
    assert "too little to show any difference" in found.sentence


def test_a_side_without_data_is_named() -> None:
    found = judge(COMPARED, beside([([1, 2, 3, 4], "the target is gone")] * 3))

    assert found.result is Result.INCONCLUSIVE
    assert "baseline: the query failed: the target is gone" in found.sentence
    without = alone([[1, 2, 3]] * 3)
    assert "no measurement of the reference side" in judge(COMPARED, without).sentence


def test_the_chance_of_a_false_alarm_is_said() -> None:
    """One bad look of twenty at 5 % is nothing: two of three healthy releases have one."""
    history = beside([([1, 2, 3, 4], [1, 2, 3, 4])] * 19 + [([5, 6, 7, 8], [1, 2, 3, 4])])

    assert "of healthy releases 64.2 % come to this" in judge(COMPARED, history).sentence


@pytest.mark.parametrize(
    ("value", "deviation", "limit", "result"),
    [
        (1.1, Deviation.HIGH, 1.1, Result.PASS),
        (1.2, Deviation.HIGH, 1.1, Result.FAIL),
        (0.1, Deviation.HIGH, 1.1, Result.PASS),
        (0.8, Deviation.LOW, 0.9, Result.FAIL),
        (0.95, Deviation.LOW, 0.9, Result.PASS),
        (0.5, Deviation.EITHER, 1.5, Result.FAIL),
        (0.7, Deviation.EITHER, 1.5, Result.PASS),
        (1.6, Deviation.EITHER, 1.5, Result.FAIL),
    ],
)
def test_a_ratio_holds_the_medians_of_a_look(
    value: float, deviation: Deviation, limit: float, result: Result
) -> None:
    rule = replace(COMPARED, deviation=deviation, ratio_limit=limit)

    assert judge(rule, beside([([value], [1.0])])).result is result


def test_nothing_against_nothing_is_within_any_ratio() -> None:
    rule = replace(COMPARED, ratio_limit=1.1)

    assert judge(rule, beside([([0], [0])])).result is Result.PASS
    assert judge(rule, beside([([1], [0])])).result is Result.FAIL
    assert judge(rule, beside([([-1], [1])])).result is Result.INCONCLUSIVE


def test_the_median_of_a_look_is_one_value() -> None:
    """Four values a look show it at once, their medians after five looks."""
    rule = replace(COMPARED, median_per_look=True)
    worse = beside([([5, 6, 7, 8], [1, 2, 3, 4])] * 5)

    assert judge(rule, worse, 4).result is Result.INCONCLUSIVE
    assert judge(rule, worse, 5).result is Result.FAIL
    assert judge(rule, worse, 5).numbers.samples == 5
