"""From looks at one side to a verdict: a release in a few lines per test."""

import math
from dataclasses import replace

import pytest

from verdict_world import MINUTE, THRESHOLD, Values, alone, judge
from volary.analysis.verdicts import rule_verdicts
from volary.model.analysis import FailureCount, NoData, Range, Result


def test_all_looks_in_range_pass_once_the_analysis_is_over() -> None:
    history = alone([[0.01], [0.02], [0.05]])

    midway, at_the_end = judge(THRESHOLD, history, 2), judge(THRESHOLD, history)

    assert (midway.result, midway.is_final) == (Result.PASS, False)
    assert (at_the_end.result, at_the_end.is_final) == (Result.PASS, True)
    assert at_the_end.sentence == (
        "errors on eu: 0 of 3 looks failed; the last good one: 0.05 is within the expected ≤ 0.05"
    )


def test_one_value_of_one_series_out_of_range_fails_at_once() -> None:
    found = judge(THRESHOLD, alone([[0.01, 0.07]], planned=5), 1)

    assert (found.result, found.is_final, found.is_condemned) == (Result.FAIL, True, True)
    assert found.sentence == (
        "errors on eu: 1 of 1 look failed, 0 allowed; the last: 0.07 is outside the expected ≤ 0.05"
    )


def test_the_limit_of_failures_is_strict() -> None:
    """PipeCD and Flagger's `>`: a limit of one tolerates one."""
    rule = replace(THRESHOLD, failure_limit=1)

    for last, result, failed in ((0, Result.PASS, 1), (9, Result.FAIL, 2)):
        found = judge(rule, alone([[9], [0], [last]]))
        assert (found.result, found.numbers.failed_looks) == (result, failed)


def test_failures_within_the_limit_and_nothing_else_do_not_pass() -> None:
    """PipeCD lets three of three failures pass when three are allowed."""
    found = judge(replace(THRESHOLD, failure_limit=3), alone([[9], [9], [9]]))

    assert found.result is Result.FAIL
    assert "no look was good" in found.sentence


def test_failures_in_a_row_begin_again_after_a_good_look() -> None:
    rule = replace(THRESHOLD, failure_limit=1, failure_count=FailureCount.CONSECUTIVE)

    assert judge(rule, alone([[9], [0], [9], [0]])).result is Result.PASS
    assert judge(rule, alone([[9], [9], [0], [0]])).result is Result.FAIL


def test_a_look_without_an_answer_does_not_mend_a_row_of_failures() -> None:
    rule = replace(THRESHOLD, failure_limit=1, failure_count=FailureCount.CONSECUTIVE)

    assert judge(rule, alone([[9], "timeout", [9], [0]])).result is Result.FAIL


NOTHING: list[tuple[Values, str]] = [
    ([], "no values"),
    ([math.nan], "NaN"),
    ([0.01, math.nan], "NaN"),
    ([-math.inf], "-Inf"),
    ("the provider is down", "the provider is down"),
]


@pytest.mark.parametrize(("values", "reason"), NOTHING)
def test_what_says_nothing_is_held_until_the_deadline_and_then_fails(
    values: Values, reason: str
) -> None:
    history = alone([values, values])

    before, at_the_end = judge(THRESHOLD, history, 1), judge(THRESHOLD, history)
    overdue = rule_verdicts.judge(THRESHOLD, history, history.deadline)

    assert (before.result, before.is_final) == (Result.INCONCLUSIVE, False)
    assert (at_the_end.result, at_the_end.is_final) == (Result.INCONCLUSIVE, False)
    assert (overdue.result, overdue.is_final) == (Result.FAIL, True)
    assert not overdue.is_condemned
    assert reason in overdue.sentence


@pytest.mark.parametrize(("values", "_reason"), NOTHING)
def test_the_policy_says_what_nothing_means(values: Values, _reason: str) -> None:
    history = alone([values, values])
    strict = judge(replace(THRESHOLD, no_data=NoData.FAIL), history, 1)
    lenient = judge(replace(THRESHOLD, no_data=NoData.PASS), history)

    assert (strict.result, strict.is_condemned) == (Result.FAIL, False)
    assert lenient.result is Result.PASS
    assert "lets that pass" in lenient.sentence


def test_infinity_above_the_maximum_fails_and_below_none_says_nothing() -> None:
    open_above = replace(THRESHOLD, expected=Range(minimum=0))

    assert judge(THRESHOLD, alone([[math.inf]])).result is Result.FAIL
    assert judge(open_above, alone([[math.inf]])).result is Result.INCONCLUSIVE


def test_no_look_at_all_is_no_pass() -> None:
    """PipeCD succeeds when the interval is longer than the analysis."""
    empty = alone([], planned=5)

    for policy, result in (
        (NoData.HOLD, Result.INCONCLUSIVE),
        (NoData.FAIL, Result.FAIL),
        (NoData.PASS, Result.PASS),
    ):
        assert judge(replace(THRESHOLD, no_data=policy), empty).result is result


def test_traffic_that_stops_holds_the_release() -> None:
    """Good looks at first do not vouch for what came after them."""
    found = judge(THRESHOLD, alone([[0], [0], [0], "no traffic"]))

    assert (found.result, found.is_final) == (Result.INCONCLUSIVE, False)
    assert "no traffic" in found.sentence


def test_most_looks_missing_hold_the_release_until_enough_came() -> None:
    history = alone(["x", "x", "x", "x", "x", "x", [0]])

    assert "only 1 of 7 looks" in judge(THRESHOLD, history).sentence
    longer = alone([*["x"] * 6, [0], [0], [0], [0]], planned=7)
    assert judge(THRESHOLD, longer, 9).result is Result.INCONCLUSIVE
    assert judge(THRESHOLD, longer, 10).result is Result.PASS


def test_what_is_measured_during_the_warm_up_does_not_count() -> None:
    """The look at its very end is about warm-up alone, one that begins within it partly."""
    rule = replace(THRESHOLD, warm_up=2 * MINUTE)

    assert judge(rule, alone([[9], [9], [0], [0]])).result is Result.PASS
    assert judge(rule, alone([[9], [9], [9], [0]])).result is Result.FAIL
    partly = replace(THRESHOLD, warm_up=1.5 * MINUTE)
    assert judge(partly, alone([[9], [9], [0], [0]])).result is Result.PASS
    assert "since the warm-up" in judge(rule, alone([[9], [9]], planned=9), 2).sentence


def test_where_data_come_late_the_first_look_that_counts_is_later() -> None:
    late = replace(THRESHOLD, delay=2 * MINUTE)

    assert judge(late, alone([[9], [9], [0], [0]])).result is Result.PASS
    assert judge(late, alone([[0], [0], [9], [0]])).result is Result.FAIL
    assert judge(replace(late, warm_up=MINUTE), alone([[9]] * 3 + [[0]])).result is Result.PASS
    early = judge(late, alone([[9], [9]], planned=9), 2).sentence
    assert "nothing has been measured about the time since it began" in early


def test_a_look_with_too_few_samples_says_nothing() -> None:
    rule = replace(THRESHOLD, minimum_samples=3)

    assert judge(rule, alone([[0, 0, 0]])).result is Result.PASS
    assert judge(rule, alone([[0, 0]])).result is Result.INCONCLUSIVE
