"""Bets that may be looked at any time: never in favour of an alarm while all is well."""

import bisect
import itertools
import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.analysis.statistics import binomial, counts, ranks, sequential
from volary.model.analysis import Deviation

HEALTHY = 10_000
LOOKS = 12


def pair(drawn: float, first: float, rest: float, second: float) -> counts.Pair:
    return counts.Pair(counts.Count(drawn, first), counts.Count(rest, second))


def drawer(trials: int, share: float, generator: random.Random) -> Callable[[], int]:
    """Return a generator of binomial numbers."""
    chances = (binomial.chance(number, trials, share) for number in range(trials + 1))
    upto = list(itertools.accumulate(chances))
    return lambda: min(bisect.bisect(upto, generator.random()), trials)


# One look: the mean of the bet over all that could be seen is at most 1 (exactly, not simulated).

sides = st.lists(st.integers(0, 4).map(float), min_size=1, max_size=4)


@given(sides, sides, st.sampled_from(Deviation))
def test_a_bet_on_ranks_is_fair(first: list[float], second: list[float], on: Deviation) -> None:
    values = first + second
    bets = []
    for chosen in itertools.combinations(range(len(values)), len(first)):
        one = [values[at] for at in chosen]
        other = [value for at, value in enumerate(values) if at not in chosen]
        bets.append(math.exp(sequential.from_ranks([[ranks.rank_sum(one, other)]], on).now))

    assert math.fsum(bets) / len(bets) <= 1 + 1e-9


@given(st.integers(1, 12), st.integers(1, 12), st.floats(0.01, 0.99), st.sampled_from(Deviation))
def test_a_bet_on_proportions_is_fair(first: int, second: int, share: float, on: Deviation) -> None:
    total = 0.0
    for drawn, rest in itertools.product(range(first + 1), range(second + 1)):
        chance = binomial.chance(drawn, first, share) * binomial.chance(rest, second, share)
        bet = sequential.from_proportions([[pair(drawn, first, rest, second)]], on).now
        total += chance * math.exp(bet)

    assert total <= 1 + 1e-9


@given(
    st.integers(1, 12),
    st.integers(1, 12),
    st.floats(0.01, 0.3),
    st.floats(0.5, 3),
    st.sampled_from([Deviation.HIGH, Deviation.LOW]),
)
def test_a_bet_on_a_ratio_is_fair_for_proportions_too(
    first: int, second: int, share: float, ratio: float, on: Deviation
) -> None:
    total = 0.0
    for drawn, rest in itertools.product(range(first + 1), range(second + 1)):
        chance = binomial.chance(drawn, first, share * ratio) * binomial.chance(rest, second, share)
        bet = sequential.from_rates([[pair(drawn, first, rest, second)]], on, ratio=ratio).now
        total += chance * math.exp(bet)

    assert total <= 1 + 1e-9


@given(st.integers(1, 40), st.floats(0.01, 0.99), st.floats(0, 1))
def test_a_bet_against_a_limit_is_fair_up_to_the_limit(
    trials: int, limit: float, fraction: float
) -> None:
    share = limit * fraction
    above = below = 0.0
    for number in range(trials + 1):
        looks = [[counts.Count(number, trials)]]
        bet = math.exp(sequential.above_proportion(looks, limit).now)
        above += binomial.chance(number, trials, share) * bet
        bet = math.exp(sequential.below_proportion(looks, limit).now)
        below += binomial.chance(number, trials, limit + (1 - limit) * fraction) * bet

    assert above <= 1 + 1e-9
    assert below <= 1 + 1e-9


@given(st.floats(0.1, 20), st.floats(0, 1))
def test_a_bet_against_a_rate_is_fair_up_to_the_limit(limit: float, fraction: float) -> None:
    def chance(number: int, mean: float) -> float:
        if mean == 0:
            return float(number == 0)
        return math.exp(number * math.log(mean) - mean - math.lgamma(number + 1))

    above = below = 0.0
    for number in range(300):
        looks = [[counts.Count(number, 1.0)]]
        above += chance(number, limit * fraction) * math.exp(
            min(500, sequential.above_rate(looks, limit).now)
        )
        below += chance(number, limit * (1 + fraction)) * math.exp(
            sequential.below_rate(looks, limit).now
        )

    assert above <= 1 + 1e-6
    assert below <= 1 + 1e-6


def test_no_error_at_all_is_allowed() -> None:
    clean = [[counts.Count(0, 1_000)]]
    dirty = [[counts.Count(1, 1_000)]]

    assert sequential.above_proportion(clean, 0).p_value == 1
    assert sequential.above_proportion(dirty, 0).p_value == 0
    assert sequential.above_rate(dirty, 0).p_value == 0
    assert sequential.below_proportion([[counts.Count(999, 1_000)]], 1).p_value == 0


def test_the_best_moment_is_remembered() -> None:
    """What was certain once does not become uncertain: else an alarm depended on the moment."""
    bad, good = [pair(20, 100, 10, 900)], [pair(0, 100, 10, 900)]
    before = sequential.from_proportions([bad, bad], Deviation.HIGH)
    after = sequential.from_proportions([bad, bad, *[good] * 30], Deviation.HIGH)

    assert after.now < before.now
    assert after.p_value == before.p_value


# Many looks: false alarms over whole releases, and how soon bad ones are found.


def test_false_alarms_by_rank_stay_below_the_level() -> None:
    """10,000 healthy releases of 12 looks at 4 values each, tested at every look."""
    generator = random.Random(4)
    draw = generator.random
    sequentially = repeatedly = 0
    for _ in range(HEALTHY):
        looks = [
            [ranks.rank_sum([draw(), draw(), draw(), draw()], [draw(), draw(), draw(), draw()])]
            for _ in range(LOOKS)
        ]
        sequentially += sequential.from_ranks(looks, Deviation.EITHER).p_value <= 0.05
        repeatedly += any(ranks.tails(look).p_value(Deviation.EITHER) <= 0.05 for look in looks)

    assert 0 < sequentially / HEALTHY <= 0.05
    # Without bets, each look by itself: the reason for all this.
    assert repeatedly / HEALTHY > 0.25


def test_false_alarms_by_proportion_stay_below_the_level() -> None:
    """10,000 healthy releases of 12 looks; errors vary from look to look, for both sides alike."""
    generator = random.Random(5)
    shares = (0.002, 0.01, 0.05)
    drawers = [(drawer(100, each, generator), drawer(400, each, generator)) for each in shares]
    alarms = 0
    for _ in range(HEALTHY):
        looks = []
        for _ in range(LOOKS):
            first, second = generator.choice(drawers)
            looks.append([pair(first(), 100, second(), 400)])
        alarms += sequential.from_proportions(looks, Deviation.HIGH).p_value <= 0.05

    assert 0 < alarms / HEALTHY <= 0.05


@pytest.mark.parametrize(
    ("share", "caught", "soon"), [(0.02, 0.4, 11), (0.03, 0.9, 6), (0.05, 0.999, 3)]
)
def test_bad_releases_are_caught_early(share: float, caught: float, soon: int) -> None:
    """Of 1 % errors usually, 100 requests a look on canary: the share found, the median look."""
    generator = random.Random(6)
    bad, usual = drawer(100, share, generator), drawer(900, 0.01, generator)
    found = []
    for _ in range(300):
        looks = [[pair(bad(), 100, usual(), 900)] for _ in range(LOOKS)]
        at = (
            number
            for number in range(1, LOOKS + 1)
            if sequential.from_proportions(looks[:number], Deviation.HIGH).p_value <= 0.05
        )
        found.append(next(at, math.inf))

    assert sum(map(math.isfinite, found)) / len(found) >= caught
    assert sorted(found)[len(found) // 2] <= soon or caught < 0.5


def test_slower_releases_are_caught_early() -> None:
    """Values a standard deviation higher, 6 a look on each side."""
    generator = random.Random(7)
    found = []
    for _ in range(300):
        looks = [
            [
                ranks.rank_sum(
                    [generator.gauss(1, 1) for _ in range(6)],
                    [generator.gauss(0, 1) for _ in range(6)],
                )
            ]
            for _ in range(LOOKS)
        ]
        found.append(
            next(
                (
                    number
                    for number in range(1, LOOKS + 1)
                    if sequential.from_ranks(looks[:number], Deviation.HIGH).p_value <= 0.05
                ),
                math.inf,
            )
        )

    assert sum(map(math.isfinite, found)) / len(found) >= 0.95
    assert sorted(found)[len(found) // 2] <= 5
