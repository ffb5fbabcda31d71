"""What a pass rules out, and that little acquits of nothing: releases drawn with a seed."""

import random
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
from volary.model import analysis
from volary.model.analysis import Deviation, Judgement, Kind, Range, Result, Strategy

LIMIT = replace(PROPORTION, strategy=Strategy.THRESHOLD, expected=Range(maximum=0.01))
Counted = list[tuple[float, float, float, float]]


def drawn(
    generator: random.Random, share: float, requests: tuple[int, int] = (50, 450), looks: int = 10
) -> Counted:
    """Return errors and requests a look; beside canary one in a hundred fails."""

    def errors(number: int, chance: float) -> int:
        return sum(generator.random() < chance for _ in range(number))

    first, second = requests
    return [(errors(first, share), first, errors(second, 0.01), second) for _ in range(looks)]


@pytest.mark.parametrize("judgement", Judgement)
@pytest.mark.parametrize("requests", [(3, 1_000), (1, 1), (10, 1_000), (1_000, 3)])
def test_three_requests_never_pass(judgement: Judgement, requests: tuple[int, int]) -> None:
    """Whatever the other side had, and also when none of them failed."""
    first, second = requests
    found = judge(replace(PROPORTION, judgement=judgement), counted([(0, first, 0, second)]))

    assert found.result is Result.INCONCLUSIVE
    assert "too little to show even" in found.sentence


@pytest.mark.parametrize("judgement", Judgement)
def test_one_request_a_look_passes_no_limit_until_there_are_enough(judgement: Judgement) -> None:
    rule = replace(LIMIT, judgement=judgement)
    looks = [measured(at, [0], totals=[1]) for at in range(1, 101)]

    def result(number: int) -> Result:
        return judge(rule, series(looks[:number], number)).result

    assert {result(number) for number in range(1, 14)} == {Result.INCONCLUSIVE}
    assert result(100) is Result.PASS


def test_a_pass_says_what_it_rules_out() -> None:
    found = judge(PROPORTION, counted([(1, 100, 9, 900)] * 10))

    assert found.numbers.detectable == pytest.approx(0.0325, abs=0.0005)
    assert "3.3 % would have been found with 80 %" in found.sentence
    ranked = judge(
        replace(COMPARED, judgement=Judgement.SEQUENTIAL), beside([([1, 3], [2, 4])] * 20)
    )
    assert "of the pairs would have been found with 80 %" in ranked.sentence
    limit = judge(LIMIT, series([measured(at, [0], totals=[100]) for at in range(1, 11)], 10))
    assert 0.01 < (limit.numbers.detectable or 0) < 0.04


@pytest.mark.parametrize("judgement", Judgement)
def test_what_is_said_is_what_is_found(judgement: Judgement) -> None:
    """Of releases as bad as a pass says, four of five are found, in the same traffic."""
    rule = replace(PROPORTION, judgement=judgement)
    looks = 10 if judgement is Judgement.SEQUENTIAL else 1
    requests = (50, 450) if judgement is Judgement.SEQUENTIAL else (500, 4_500)
    history = counted([(0.01 * requests[0], requests[0], 0.01 * requests[1], requests[1])] * looks)
    level = judge(rule, history).numbers.detectable or 0

    found = sum(
        judge(rule, counted(drawn(random.Random(seed), level, requests, looks))).result
        is Result.FAIL
        for seed in range(60)
    )

    assert found / 60 >= 0.75


def test_of_values_too() -> None:
    rule = replace(COMPARED, judgement=Judgement.SEQUENTIAL, minimum_effect=0)

    def released(seed: int, shift: float) -> analysis.Series:
        generator = random.Random(seed)
        return beside([
            ([10 + shift + generator.gauss(0, 1) for _ in range(4)],
             [10 + generator.gauss(0, 1) for _ in range(4)])
            for _ in range(12)
        ])  # fmt: skip

    level = judge(rule, released(2, 0)).numbers.detectable or 0
    # Two normal values of which one is a deviation higher: higher in 76 % of the pairs.
    assert level == pytest.approx(0.76, abs=0.02)
    found = sum(judge(rule, released(seed, 1.0)).result is Result.FAIL for seed in range(60))
    assert found / 60 >= 0.7


@pytest.mark.parametrize("kind", [Kind.PROPORTION, Kind.RATE, Kind.VALUE])
@pytest.mark.parametrize("judgement", Judgement)
def test_a_difference_that_matters_to_nobody_is_never_condemned(
    kind: Kind, judgement: Judgement
) -> None:
    """Ten million requests a look show a difference of 1 %; any amount of them may."""
    rule = replace(PROPORTION, kind=kind, judgement=judgement, significance=0.05)
    history = counted([(101_000, 10_000_000, 100_000, 10_000_000)] * 30)
    if kind is Kind.VALUE:
        rule = replace(rule, total_query="")
        history = beside([([100.1] * 20, [100.0] * 20)] * 30)

    assert judge(rule, history).result is Result.PASS
    any_difference = replace(rule, minimum_effect=0)
    if kind is Kind.VALUE or judgement is Judgement.EACH:
        assert judge(any_difference, history).result is Result.FAIL


def test_both_directions_have_a_least_effect() -> None:
    rule = replace(PROPORTION, deviation=Deviation.EITHER)

    for share, result in ((0.01, Result.PASS), (0.0101, Result.PASS), (0.008, Result.FAIL)):
        history = counted([(share * 1e6, 1e6, 1e4, 1e6)] * 20)
        assert judge(rule, history).result is result


def test_a_threshold_of_values_says_nothing_about_power() -> None:
    found = judge(THRESHOLD, alone([[0.01]] * 3))

    assert found.numbers.detectable is None


def test_a_better_release_passes() -> None:
    """30 % faster, and half of the errors."""
    faster = beside([([70, 72, 71, 73], [100, 103, 101, 102])] * 10)

    assert judge(COMPARED, faster).result is Result.PASS
    assert judge(PROPORTION, counted([(50, 10_000, 100, 10_000)] * 10)).result is Result.PASS
