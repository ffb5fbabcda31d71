"""Proportions and rates against every way to share the events, and against a library."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.analysis.statistics import binomial, counts
from volary.model.analysis import Deviation

REASON = "scipy is only an oracle of the tests"

TABLES = [(3, 40, 1, 300), (0, 50, 4, 60), (12, 100, 30, 900), (7, 7, 0, 9), (0, 5, 0, 5)]


def pair(drawn: float, first: float, rest: float, second: float) -> counts.Pair:
    return counts.Pair(counts.Count(drawn, first), counts.Count(rest, second))


@pytest.mark.parametrize("table", TABLES)
def test_proportions_as_fisher(table: tuple[int, int, int, int]) -> None:
    stats = pytest.importorskip("scipy.stats", reason=REASON)
    drawn, first, rest, second = table
    square = [[drawn, first - drawn], [rest, second - rest]]
    tails = counts.proportion_tails([pair(*table)])

    assert tails.less == pytest.approx(stats.fisher_exact(square, "less").pvalue)
    assert tails.greater == pytest.approx(stats.fisher_exact(square, "greater").pvalue)


def test_many_events_are_approximated_closely() -> None:
    stats = pytest.importorskip("scipy.stats", reason=REASON)
    tails = counts.proportion_tails([pair(1_300, 90_000, 5_400, 400_000)])
    theirs = stats.fisher_exact([[1_300, 88_700], [5_400, 394_600]], "greater").pvalue

    assert tails.greater == pytest.approx(theirs, rel=0.05)


@pytest.mark.parametrize("ratio", [1.0, 1.1, 3.0])
@pytest.mark.parametrize("table", TABLES)
def test_rates_as_the_binomial_test(table: tuple[int, int, int, int], ratio: float) -> None:
    stats = pytest.importorskip("scipy.stats", reason=REASON)
    drawn, first, rest, second = table
    if drawn + rest == 0:
        return  # the library refuses no trials
    share = ratio * first / (ratio * first + second)
    tails = counts.rate_tails([pair(*table)], ratio=ratio)

    for side, ours in (("less", tails.less), ("greater", tails.greater)):
        theirs = stats.binomtest(drawn, drawn + rest, share, side).pvalue
        assert ours == pytest.approx(theirs)


@pytest.mark.parametrize(
    ("number", "trials", "share"),
    [(0, 5, 0.3), (3, 5, 0.3), (5, 5, 0.3), (40, 1_000, 0.03), (70_000, 100_000, 0.7), (1, 1, 0)],
)
def test_binomial_tails(number: int, trials: int, share: float) -> None:
    stats = pytest.importorskip("scipy.stats", reason=REASON)

    assert binomial.at_least(number, trials, share) == pytest.approx(
        stats.binom.sf(number - 1, trials, share), rel=1e-8
    )


@given(st.integers(1, 60), st.floats(0.01, 0.99))
def test_the_chances_add_up(trials: int, share: float) -> None:
    chances = [binomial.chance(number, trials, share) for number in range(trials + 1)]

    assert math.fsum(chances) == pytest.approx(1)
    for number in (0, trials // 2, trials):
        assert binomial.at_least(number, trials, share) == pytest.approx(
            math.fsum(chances[number:]), rel=1e-6
        )


@pytest.mark.parametrize("table", TABLES)
def test_a_ratio_with_half_an_event_more_on_each_side(table: tuple[int, int, int, int]) -> None:
    drawn, first, rest, second = table
    ratio, variance = counts.log_ratio(counts.sums([pair(*table)]))

    assert ratio == pytest.approx(math.log((drawn + 0.5) / first / ((rest + 0.5) / second)))
    assert variance == pytest.approx(1 / (drawn + 0.5) + 1 / (rest + 0.5))


def test_a_side_without_events_is_not_certain_of_that() -> None:
    """Six were to be expected, so none is hardly three deviations away."""
    higher, variance = counts.difference(counts.sums([pair(0, 600, 54, 5400)]))

    assert higher == pytest.approx(-0.01)
    assert higher / math.sqrt(variance) == pytest.approx(-2.44, abs=0.01)


exposures = st.integers(1, 60)


@given(exposures, exposures, st.data())
def test_both_tails_share_what_was_seen(first: int, second: int, data: st.DataObject) -> None:
    drawn, rest = data.draw(st.integers(0, first)), data.draw(st.integers(0, second))
    tails = counts.proportion_tails([pair(drawn, first, rest, second)])
    swapped = counts.proportion_tails([pair(rest, second, drawn, first)])

    assert tails.less + tails.greater >= 1 - 1e-9
    assert min(tails.less, tails.greater) >= 0
    assert (swapped.less, swapped.greater) == pytest.approx((tails.greater, tails.less))


@given(exposures, exposures, st.data())
def test_the_interval_holds_the_ratio(first: int, second: int, data: st.DataObject) -> None:
    drawn, rest = data.draw(st.integers(0, first)), data.draw(st.integers(0, second))
    blocks = [pair(drawn, first, rest, second)]
    low, high = counts.ratio_interval(counts.sums(blocks))
    ratio = counts.ratio(counts.sums(blocks))

    assert low <= (math.inf if ratio is None else ratio) + 1e-9
    assert high is None or (ratio is not None and high >= ratio - 1e-9)


def test_the_interval_as_the_library_has_it() -> None:
    stats = pytest.importorskip("scipy.stats", reason=REASON)
    low, high = counts.ratio_interval(counts.sums([pair(8, 100, 10, 400)]))
    theirs = stats.binomtest(8, 18).proportion_ci()

    assert low == pytest.approx(4 * theirs.low / (1 - theirs.low))
    assert high == pytest.approx(4 * theirs.high / (1 - theirs.high))


def test_a_region_with_more_errors_does_not_confound() -> None:
    """Canary is like the rest in both regions, but mostly runs where errors are common."""
    calm = pair(1, 100, 90, 9_000)
    bad = pair(90, 900, 10, 100)
    mixed = pair(91, 1_000, 100, 9_100)

    assert counts.proportion_tails([mixed]).p_value(Deviation.HIGH) < 1e-6
    assert counts.proportion_tails([calm, bad]).p_value(Deviation.HIGH) > 0.3
    assert counts.ratio(counts.sums([calm, bad])) == pytest.approx(1, rel=0.05)
    assert counts.ratio(counts.sums([mixed])) == pytest.approx(8.3, rel=0.05)


def test_several_blocks_as_the_library_has_them() -> None:
    """Mantel and Haenszel's statistic with the continuity correction, on many events."""
    stats = pytest.importorskip("scipy.stats", reason=REASON)
    tables = [(90, 900, 300, 4_000), (150, 1_000, 120, 1_000)]
    excess = variance = 0.0
    for drawn, first, rest, second in tables:
        events, total = drawn + rest, first + second
        spread = stats.hypergeom(total, events, first)
        excess += drawn - spread.mean()
        variance += spread.var()
    theirs = stats.norm.sf((excess - 0.5) / math.sqrt(variance))

    ours = counts.proportion_tails([pair(*table) for table in tables]).greater

    assert ours == pytest.approx(theirs)


def test_a_few_events_over_blocks_are_exact() -> None:
    """One against one error, of 3 and of 2 requests each: all ways, by hand."""
    blocks = [pair(1, 1, 0, 2), pair(1, 1, 0, 1)]

    assert counts.proportion_tails(blocks).greater == pytest.approx(1 / 3 * 1 / 2)


def test_fractions_of_a_metric_system_are_rounded() -> None:
    whole, fractions = pair(4, 100, 2, 300), pair(4.03, 100.4, 1.97, 299.8)

    assert counts.proportion_tails([fractions]) == counts.proportion_tails([whole])
