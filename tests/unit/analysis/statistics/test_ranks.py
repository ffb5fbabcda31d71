"""Mann-Whitney: PipeCD's golden values, every order by brute force, and a library's."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.analysis.statistics import ranks
from volary.model.analysis import Deviation

EVEN = [2.0 * number for number in range(500)]
ODD = [2.0 * number - 41 for number in range(600)]

#: spec: the first sample, the second, U, p for less, differs, greater.
GOLDEN = [
    ([2, 1, 3, 5], [12, 11, 13, 15], 0, 0.0142857, 0.0285714, 1),
    ([12, 11, 13, 15], [2, 1, 3, 5], 16, 1, 0.0285714, 0.0142857),
    ([2, 1, 3, 5], [0, 4, 6, 7], 5, 0.242857, 0.485714, 0.828571),
    ([2, 1, 3, 5], [2, 1, 3, 5], 8, 0.628571, 1, 0.628571),
    ([2, 1, 3, 5], [2, 2, 2, 2], 10, 0.857143, 0.714286, 0.357143),
    # PipeCD says 0 for "differs", as it mirrors a distribution that is not symmetric.
    ([2, 1, 3, 5], [1, 1, 1, 1, 1], 17.5, 1, 0.0952381, 0.0476190),
    (EVEN, ODD, 135250, 0.00246677, 0.00493354, 0.997535),
    (EVEN, EVEN, 125000, 0.500044, 1, 0.500044),
    (EVEN, EVEN[:30] + ODD[30:], 134845, 0.00193519, 0.00387038, 0.998066),
]


def p_values(first: list[float], second: list[float]) -> tuple[float, float, float]:
    tails = ranks.tails([ranks.rank_sum(first, second)])
    return tails.less, tails.p_value(Deviation.EITHER), tails.greater


@pytest.mark.parametrize(("first", "second", "u", "less", "differs", "greater"), GOLDEN)
def test_the_golden_values_of_pipecd(
    first: list[float],
    second: list[float],
    u: float,
    less: float,
    differs: float,
    greater: float,
) -> None:
    assert ranks.rank_sum(first, second).u == u
    assert p_values(first, second) == pytest.approx((less, differs, greater), rel=1e-5)


@pytest.mark.parametrize(
    ("first", "second", "deviation", "is_alike"),
    [
        ([0.1, 0.2, 0.3, 0.4, 0.5], [0.1, 0.2, 0.3, 0.4, 0.5], Deviation.EITHER, True),
        ([10.1, 10.2, 10.3, 10.4, 10.5], [0.1, 0.2, 0.3, 0.4, 0.5], Deviation.LOW, True),
        ([10.1, 10.2, 10.3, 10.4, 10.5], [0.1, 0.2, 0.3, 0.4, 0.5], Deviation.HIGH, False),
        ([0.1, 0.2, 0.3, 0.4, 0.5], [10.1, 10.2, 10.3, 10.4, 10.5], Deviation.HIGH, True),
        ([0.1, 0.2, 0.3, 0.4, 0.5], [10.1, 10.2, 10.3, 10.4, 10.5], Deviation.LOW, False),
        ([0.1, 0.2, 5.3, 0.2, 0.5], [0.1] * 5, Deviation.EITHER, False),
    ],
)
def test_the_decisions_of_pipecd(
    first: list[float], second: list[float], deviation: Deviation, *, is_alike: bool
) -> None:
    p_value = ranks.tails([ranks.rank_sum(first, second)]).p_value(deviation)

    assert (p_value > 0.05) is is_alike


def by_brute_force(first: list[float], second: list[float]) -> tuple[float, float]:
    """Look at every way to share the values between both sides."""
    values = first + second
    seen = ranks.rank_sum(first, second).u
    sums = []
    for chosen in itertools.combinations(range(len(values)), len(first)):
        one = [values[at] for at in chosen]
        other = [value for at, value in enumerate(values) if at not in chosen]
        sums.append(ranks.rank_sum(one, other).u)
    less = sum(u <= seen for u in sums) / len(sums)
    return less, sum(u >= seen for u in sums) / len(sums)


small = st.lists(st.integers(0, 5).map(float), min_size=1, max_size=5)


@given(small, small)
def test_the_exact_tails_are_those_of_every_order(first: list[float], second: list[float]) -> None:
    tails = ranks.tails([ranks.rank_sum(first, second)])

    assert (tails.less, tails.greater) == pytest.approx(by_brute_force(first, second))


samples = st.lists(
    st.floats(allow_nan=False, width=16) | st.integers(0, 20).map(float), min_size=1, max_size=60
)


@given(samples, samples)
def test_swapping_the_sides_swaps_the_tails(first: list[float], second: list[float]) -> None:
    less, differs, greater = p_values(first, second)

    assert p_values(second, first) == pytest.approx((greater, differs, less))


@given(samples, samples)
def test_only_the_order_counts(first: list[float], second: list[float]) -> None:
    """A growing function of all values, infinities included, changes nothing."""
    stretched = [[math.atan(value) * 3 + 1 for value in side] for side in (first, second)]
    unchanged = sorted({*first, *second})
    if len({math.atan(value) for value in unchanged}) < len(unchanged):
        return  # too close together to stay apart

    assert p_values(*stretched) == pytest.approx(p_values(first, second))


@given(samples, samples)
def test_the_interval_holds_what_was_seen(first: list[float], second: list[float]) -> None:
    found = ranks.rank_sum(first, second)
    low, high = ranks.interval([found])

    assert 0 <= low <= found.superiority <= high <= 1
    assert high - low > 0


def test_blocks_that_differ_in_level_do_not_hide_what_both_show() -> None:
    """Each region shows the same small difference, and one has ten times the latency."""
    fast = ([1.1, 1.2, 1.3, 1.4], [1.0, 1.05, 1.15, 1.16])
    slow = ([11.1, 11.2, 11.3, 11.4], [10.0, 10.5, 11.15, 11.16])
    mixed = ranks.rank_sum(fast[0] + slow[0], fast[1] + slow[1])

    apart = ranks.tails([ranks.rank_sum(*fast), ranks.rank_sum(*slow)])

    assert apart.greater < 0.05 < ranks.tails([mixed]).greater


def test_blocks_that_hold_unequal_shares_of_both_sides_raise_no_alarm() -> None:
    """Simpson's paradox: canary runs mostly in the slow region, and is like the rest there."""
    fast = ([1.0, 1.3], [1.1, 1.2, 1.05, 1.15, 1.25, 1.01, 1.29, 1.18])
    slow = ([9.0, 9.3, 9.1, 9.2, 9.05, 9.25, 9.15, 9.22], [9.12, 9.21])
    mixed = ranks.rank_sum(fast[0] + slow[0], fast[1] + slow[1])

    apart = ranks.tails([ranks.rank_sum(*fast), ranks.rank_sum(*slow)])

    assert ranks.tails([mixed]).greater < 0.05 < apart.greater


@given(st.lists(st.tuples(small, small), min_size=2, max_size=2))
def test_several_blocks_are_exact(pairs: list[tuple[list[float], list[float]]]) -> None:
    """Against every pair of orders, with van Elteren's weights."""
    blocks = [ranks.rank_sum(*pair) for pair in pairs]
    weights = [1 / (each.first + each.second + 1) for each in blocks]
    spreads = [
        ranks.tied_distribution(each.first, each.groups or (1,) * (each.first + each.second))
        for each in blocks
    ]
    seen = sum(weight * each.u for weight, each in zip(weights, blocks, strict=True))
    less = greater = every = 0
    for (one, ways), (other, more) in itertools.product(*(enumerate(each) for each in spreads)):
        value = weights[0] * one / 2 + weights[1] * other / 2
        every += ways * more
        less += ways * more * (value <= seen + 1e-9)
        greater += ways * more * (value >= seen - 1e-9)

    tails = ranks.tails(blocks)

    assert (tails.less, tails.greater) == pytest.approx((less / every, greater / every))


@pytest.mark.parametrize(("first", "second"), [([], [1.0]), ([1.0], []), ([math.nan], [1.0])])
def test_what_has_no_rank_is_refused(first: list[float], second: list[float]) -> None:
    with pytest.raises(ValueError, match=r"empty|NaN"):
        ranks.rank_sum(first, second)


@given(st.integers(1, 12), st.integers(1, 12))
def test_both_ways_to_count_agree_without_ties(first: int, second: int) -> None:
    plain = ranks.distribution(first, second)

    assert ranks.tied_distribution(first, (1,) * (first + second))[::2] == plain
    assert sum(plain) == math.comb(first + second, first)


@pytest.mark.parametrize(
    ("sizes", "ties"),
    [
        ((7, 9), False),
        ((30, 45), False),
        ((60, 80), False),
        ((60, 80), True),
        ((500, 20), True),
    ],
)
def test_as_a_library_computes_it(sizes: tuple[int, int], *, ties: bool) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is only an oracle of the tests")
    spread = [math.sin(number * 12.9898) * 43758.5453 % 1 for number in range(sum(sizes))]
    values = [round(value, 1) for value in spread] if ties else spread
    first, second = values[: sizes[0]], values[sizes[0] :]
    exact = max(sizes) <= 50 and not ties

    for side, ours in zip(("less", "greater"), p_values(first, second)[::2], strict=True):
        theirs = stats.mannwhitneyu(
            first, second, alternative=side, method="exact" if exact else "asymptotic"
        )
        assert ours == pytest.approx(theirs.pvalue, rel=1e-9)


def test_the_exact_tail_with_ties_is_that_of_a_permutation_test() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is only an oracle of the tests")
    first, second = [1.0, 1.0, 2.0, 3.0, 3.0, 5.0], [1.0, 2.0, 2.0, 3.0, 4.0]
    theirs = stats.permutation_test(
        (first, second),
        lambda one, other: ranks.rank_sum(list(one), list(other)).u,
        vectorized=False,
        alternative="greater",
        n_resamples=10_000,
    )

    assert p_values(first, second)[2] == pytest.approx(theirs.pvalue)


def test_several_large_blocks_move_in_steps_of_their_own() -> None:
    """At the mean both tails have half of the chance and a little more, not much more."""
    blocks = [ranks.RankSum(60, 60, 1800.0), ranks.RankSum(80, 80, 3200.0)]

    tails = ranks.tails(blocks)

    assert tails.less == tails.greater
    assert 0.5 < tails.less < 0.501
    single = ranks.tails([ranks.RankSum(60, 60, 1800.0)])
    assert single.less == pytest.approx(
        0.5 + 0.5 / math.sqrt(2 * math.pi * 60 * 60 * 121 / 12), 1e-6
    )


@pytest.mark.parametrize(("confidence", "z"), [(0.95, 1.959964), (0.8, 1.281552)])
def test_the_ends_of_the_interval_are_where_the_deviation_is_that_of_the_confidence(
    confidence: float, z: float
) -> None:
    """By the formula of Newcombe 2006, method 5."""
    first, second = 12, 20
    seen = ranks.rank_sum(range(first), [number / 2 for number in range(second)])
    share = ranks.superiority([seen])

    for end in ranks.interval([seen], confidence=confidence):
        mean = (first + second) / 2 - 1
        factor = 1 + mean * ((1 - end) / (2 - end) + end / (1 + end))
        deviation = math.sqrt(end * (1 - end) * factor / (first * second))
        assert abs(end - share) == pytest.approx(z * deviation, rel=1e-5)
