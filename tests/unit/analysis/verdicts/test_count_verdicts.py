"""From counts of errors and requests, and from rates and latencies, to a verdict."""

import math
from dataclasses import replace

import pytest

from verdict_world import (
    COMPARED,
    PROPORTION,
    THRESHOLD,
    alone,
    beside,
    counted,
    judge,
    measured,
    series,
)
from volary.model.analysis import Deviation, Judgement, Kind, NoData, Range, Result, Strategy


def test_errors_in_excess_fail_as_soon_as_they_are_certain() -> None:
    history = counted([(5, 100, 9, 900)] * 10)
    found = [judge(PROPORTION, history, minute) for minute in range(1, 11)]
    first = next(at for at, each in enumerate(found, 1) if each.result is Result.FAIL)

    assert 1 < first < 4
    assert all(each.result is Result.FAIL for each in found[first - 1 :])
    assert all(each.is_final for each in found[first - 1 :])
    last = found[-1]
    assert (last.numbers.samples, last.numbers.reference_samples) == (1_000, 9_000)
    assert (last.numbers.value, last.numbers.reference) == (0.05, 0.01)
    assert last.numbers.effect == pytest.approx(5)
    assert last.numbers.looks == 10
    assert "canary has 5.0 % (1000 requests), baseline 1.0 % (9000)" in last.sentence


def test_the_same_share_of_errors_passes() -> None:
    found = judge(PROPORTION, counted([(1, 100, 9, 900)] * 10))

    assert (found.result, found.is_final) == (Result.PASS, True)
    assert found.numbers.p_value == pytest.approx(1, abs=0.3)


def test_no_errors_at_all_are_a_count_and_fewer_are_none() -> None:
    assert judge(PROPORTION, counted([(0, 1_000, 9, 9_000)] * 10)).result is Result.PASS

    found = judge(PROPORTION, counted([(-1, 1_000, 9, 9_000)] * 10))
    assert found.result is Result.INCONCLUSIVE
    assert "a count below zero" in found.sentence


def test_minimum_samples_hold_a_pass_but_not_a_failure() -> None:
    rule = replace(PROPORTION, minimum_samples=10_000)

    assert "1000 of 10000 samples on each side" in (
        judge(rule, counted([(1, 100, 9, 900)] * 10)).sentence
    )
    assert judge(rule, counted([(50, 100, 9, 900)] * 10)).result is Result.FAIL


def test_a_few_requests_cannot_pass() -> None:
    """Even if all had been errors it would have shown nothing."""
    found = judge(PROPORTION, counted([(0, 1, 0, 1)]))

    assert found.result is Result.INCONCLUSIVE


def test_a_ratio_is_allowed_before_it_counts() -> None:
    twice = replace(PROPORTION, ratio_limit=2.5)
    history = counted([(20, 1_000, 90, 9_000)] * 10)

    assert judge(PROPORTION, history).result is Result.FAIL
    assert judge(twice, history).result is Result.PASS
    assert judge(replace(twice, deviation=Deviation.EITHER), history).result is Result.PASS
    assert "2.5 times is allowed" in judge(twice, history).sentence


@pytest.mark.parametrize(
    ("errors", "requests", "reason"),
    [
        (0, 0, "the total is zero"),
        (5, 1, "do not fit together"),
        (-1, 10, "below zero"),
        (math.nan, 10, "NaN"),
        (1, math.inf, "+Inf"),
        (1, 1e300, "so large"),
    ],
)
def test_counts_that_say_nothing(errors: float, requests: float, reason: str) -> None:
    found = judge(PROPORTION, counted([(errors, requests, 1, 100)] * 3))

    assert found.result is Result.INCONCLUSIVE
    assert reason in found.sentence


def test_looks_without_data_follow_the_policy_here_too() -> None:
    gaps = counted([(0, 0, 0, 0), (1, 100, 9, 900), (0, 0, 0, 0)])

    assert judge(PROPORTION, gaps).result is Result.INCONCLUSIVE
    assert judge(replace(PROPORTION, no_data=NoData.FAIL), gaps, 1).result is Result.FAIL
    assert judge(replace(PROPORTION, no_data=NoData.PASS), gaps).result is Result.PASS


def test_a_proportion_against_a_limit() -> None:
    rule = replace(PROPORTION, strategy=Strategy.THRESHOLD, expected=Range(maximum=0.01))

    unlucky = judge(
        rule, series([measured(at, [int(at == 1)], totals=[100]) for at in range(1, 10)], 9)
    )
    bad = judge(rule, series([measured(at, [5], totals=[100]) for at in range(1, 10)], 9))

    assert unlucky.result is Result.PASS
    assert bad.result is Result.FAIL
    assert "5.0 % of 900 requests where ≤ 0.01 is expected" in bad.sentence


def test_a_rate_against_a_limit_and_against_the_other_side() -> None:
    """60 seconds a look: events per second."""
    limit = replace(THRESHOLD, kind=Kind.RATE, judgement=Judgement.SEQUENTIAL)
    other = replace(PROPORTION, kind=Kind.RATE, total_query="")

    assert judge(limit, alone([[2]] * 5)).result is Result.PASS
    assert judge(limit, alone([[12]] * 5)).result is Result.FAIL
    assert judge(other, beside([([12], [10])] * 5)).result is Result.PASS
    assert judge(other, beside([([40], [10])] * 5)).result is Result.FAIL


def test_latency_looked_at_together() -> None:
    rule = replace(COMPARED, judgement=Judgement.SEQUENTIAL)

    assert judge(rule, beside([([1, 4, 2, 3], [3, 1, 4, 2])] * 10)).result is Result.PASS
    assert judge(rule, beside([([3, 5, 4, 6], [3, 1, 4, 2])] * 10)).result is Result.FAIL
