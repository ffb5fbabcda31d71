"""Claims about the tests of each kind of metric, their intervals, and error budgets."""

import functools
import itertools
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

from benchmarks import simulation
from benchmarks.claims import releases
from benchmarks.claims.claim import Claim, at_least, at_most, exactly
from benchmarks.claims.releases import ERRORS, LIMIT, ONE_BY_ONE, count, counted
from volary.analysis.planning import rule_plans, traffic
from volary.analysis.statistics import binomial, counts, ranks
from volary.model import analysis
from volary.model.analysis import Deviation, Range, Result

# Ranks.


def _every_order(first: Sequence[float], second: Sequence[float]) -> float:
    """Return how far both tails are from those of every way to share the values."""
    found = ranks.tails([ranks.rank_sum(first, second)])
    seen = ranks.rank_sum(first, second).u
    values = [*first, *second]
    sums = [
        ranks.rank_sum(
            [values[at] for at in chosen],
            [value for at, value in enumerate(values) if at not in chosen],
        ).u
        for chosen in itertools.combinations(range(len(values)), len(first))
    ]
    less = sum(u <= seen for u in sums) / len(sums)
    greater = sum(u >= seen for u in sums) / len(sums)
    return max(abs(found.less - less), abs(found.greater - greater))


def _samples(*, ties: bool) -> Iterator[tuple[list[float], list[float]]]:
    generator = random.Random(1)
    for first, second in itertools.product(range(1, 6), range(1, 6)):
        values: list[float] = list(range(first + second))
        if ties:
            values = [float(generator.randrange(4)) for _ in values]
        generator.shuffle(values)
        yield values[:first], values[first:]


def _from_every_order(*, ties: bool) -> float:
    return round(max(_every_order(*pair) for pair in _samples(ties=ties)), 9)


def _approximated() -> float:
    """Return how far off p-values from 1 to 20 % are just above 50 values a side, in percent."""
    ways = ranks.distribution(51, 51)
    every = math.comb(102, 51)
    worst, below = 0.0, 0
    for u, number in enumerate(ways):
        below += number
        exact = below / every
        if 0.01 <= exact <= 0.2:
            less = ranks.tails([ranks.RankSum(51, 51, u)]).less
            worst = max(worst, abs(less / exact - 1))
    return 100 * worst


def _mirrored(found: ranks.RankSum) -> float:
    """Return the two-sided p-value as PipeCD has it: twice the tail below the smaller U."""
    below = min(found.u, found.first * found.second - found.u)
    return min(1.0, 2 * ranks.tails([replace(found, u=below)]).less)


_TIED = ranks.rank_sum([2, 1, 3, 5], [1] * 5)


def _two_sided(found: ranks.RankSum) -> float:
    return ranks.tails([found]).p_value(Deviation.EITHER)


def _apart_from_pipecd() -> float:
    """Return how far two-sided p-values without ties are from the mirrored ones."""
    found = [ranks.rank_sum(*pair) for pair in _samples(ties=False)]
    return round(max(abs(_two_sided(one) - _mirrored(one)) for one in found), 9)


def _from_smaller_tail() -> float:
    """Return how far two-sided p-values with ties are from twice the smaller tail."""
    worst = 0.0
    for pair in _samples(ties=True):
        found = ranks.rank_sum(*pair)
        tails = ranks.tails([found])
        twice = min(1.0, 2 * min(tails.less, tails.greater))
        worst = max(worst, abs(_two_sided(found) - twice))
    return round(worst, 9)


def _infinite_variance(generator: random.Random) -> analysis.Series:
    """Return a healthy release whose values have neither a mean nor a variance."""

    def drawn() -> releases.Answer:
        return releases.values(*((1 - generator.random()) ** -2 for _ in range(5)))

    return releases.beside([(drawn(), drawn()) for _ in range(20)])


def _ranks_cover() -> float:
    """Return how often the interval of the superiority holds the true one, in percent."""
    generator, held, runs = random.Random(1), 0, 400
    # Of two normal values of which one is a deviation higher.
    true = 0.5 * (1 + math.erf(0.5))
    for _ in range(runs):
        first, second = ([generator.gauss(mean, 1) for _ in range(20)] for mean in (1.0, 0.0))
        low, high = ranks.interval([ranks.rank_sum(first, second)])
        held += low <= true <= high
    return releases.share(held, runs)


# Counts.


def _of_same_share() -> float:
    """Count results of one look at 1 of 20, and at 100 of 2,000, that fail beside 1 %."""
    found = [
        releases.judged(ONE_BY_ONE, counted(canary, (20, 2000), looks=1)).result
        for canary in ((1, 20), (100, 2000))
    ]
    return found.count(Result.FAIL)


def _gained_by_errors() -> float:
    """Return how many more releases with three times the errors are found by counting these."""
    made, duration = traffic.Traffic(2, 2), releases.TWENTY
    errors = replace(ERRORS, ratio_limit=1.5)
    successes = replace(errors, deviation=Deviation.LOW, ratio_limit=1 / 1.5)
    by_errors, by_successes = (
        releases.outcome(rule, made, 3.0, duration=duration, runs=40).failed
        for rule in (errors, successes)
    )
    return 100 * (by_errors - by_successes)


def _size_at_any_level() -> float:
    """Return the most healthy releases that one look condemns, at any level of errors: exactly."""
    first, second = 20, 60
    condemned = [
        (drawn, rest)
        for drawn, rest in itertools.product(range(first + 1), range(second + 1))
        if counts.proportion_tails(
            [counts.Pair(counts.Count(drawn, first), counts.Count(rest, second))]
        ).greater
        <= 0.05
    ]
    return 100 * max(
        math.fsum(
            binomial.chance(drawn, first, share) * binomial.chance(rest, second, share)
            for drawn, rest in condemned
        )
        for share in (0.001, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99)
    )


def _ratio_is_covered() -> float:
    """Return how often at least an interval of one block holds the true ratio: exactly."""
    events, least = 20, 1.0
    pairs = [
        counts.Pair(counts.Count(drawn, 1000), counts.Count(events - drawn, 9000))
        for drawn in range(events + 1)
    ]
    intervals = [counts.ratio_interval(counts.sums([pair])) for pair in pairs]
    for ratio in (0.1, 0.5, 1.0, 1.7, 3.0, 9.0, 30.0):
        chance = pairs[0].chance(ratio)
        held = (
            binomial.chance(drawn, events, chance)
            for drawn, (low, high) in enumerate(intervals)
            if low <= ratio and (high is None or ratio <= high)
        )
        least = min(least, math.fsum(held))
    return 100 * least


def _ratio_over_blocks_is_covered() -> float:
    generator, held, runs = random.Random(1), 0, 400
    canary, usual = simulation.drawer(200, 0.04), simulation.drawer(900, 0.02)
    for _ in range(runs):
        looks = simulation.errors(generator, 10, canary, usual, (200, 900))
        low, high = counts.ratio_interval(counts.sums([pair for look in looks for pair in look]))
        held += low <= 2 <= (high or math.inf)
    return releases.share(held, runs)


# Error budgets.

SLO = analysis.Slo(99.9)
BUDGET = replace(LIMIT, slo=SLO, expected=Range(maximum=6 * SLO.budget))


def _burning(rate: float, *, bursts: bool = False) -> traffic.Traffic:
    made = traffic.Traffic(50, 50, errors=rate * SLO.budget)
    return replace(made, overdispersion=0.001, autocorrelation=0.5) if bursts else made


@functools.cache
def _burnt(rate: float, *, bursts: bool) -> rule_plans.Outcome:
    return releases.outcome(BUDGET, _burning(rate, bursts=bursts), runs=50)


def _hidden(rate: float) -> float:
    """Return how many of a hundred releases bursts hide."""
    return 100 * (_burnt(rate, bursts=False).failed - _burnt(rate, bursts=True).failed)


def _not_proven(look: int, result: Result) -> float:
    """Return how many releases above both windows of the lower bound come to a result."""
    rates = [6 + number / 20 for number in range(1, 11)]
    found = [
        releases.judged(
            BUDGET, releases.alone([count(rate * SLO.budget * 3_000, 3_000)] * 20), look
        )
        for rate in rates
    ]
    return releases.share([one.result for one in found].count(result), len(found))


def _of_four_bounds() -> float:
    """Return how many releases fail that burn exactly as fast as the lowest of four bounds."""
    minutes = [2, 5, 10, 20]
    windows = tuple(
        analysis.BurnRate(6, length * releases.MINUTE, releases.MINUTE) for length in minutes
    )
    slo = replace(SLO, burn_rates=windows)
    return releases.failed(replace(BUDGET, slo=slo), _burning(6), runs=60)()


def _shortest_window() -> float:
    """Return the minutes that a window of ten seconds is said to have."""
    short = analysis.BurnRate(6, releases.TWENTY, timedelta(seconds=10))
    rule = replace(BUDGET, slo=replace(SLO, burn_rates=(short,)))
    sentence = releases.judged(rule, releases.alone([count(60, 3_000)] * 20)).sentence
    return float(sentence.partition(" and ")[2].partition(" over ")[2].partition("m,")[0])


_BETWEEN = "above in both windows and not proven, a release does not pass"
CLAIMS = (
    Claim(
        "An error *ratio* as a value forgets that 1 of 20 and 100 of 2,000 are not the same.",
        "one look at each, beside 20 of 2,000",
        exactly(1, "of 2 fails"),
        _of_same_share,
        is_quick=True,
    ),
    Claim(
        "errors rather than successes, most of all with a ratio such as `max: 1.5`",
        "three times the errors, 2/s on each side, 40 releases: so many more are found",
        at_least(20, "% more"),
        _gained_by_errors,
    ),
    Claim(
        "Mann-Whitney's test needs no assumption about the shape of latencies",
        "values without a mean or a variance, five a side and look, `minEffect: 0`",
        at_most(5, "% fail"),
        releases.failed_of(
            replace(releases.VALUES, minimum_effect=0), _infinite_variance, seed=10, runs=100
        ),
    ),
    Claim(
        "Up to 50 values a side (25 with ties) its distribution is computed",
        "up to 5 values a side: how far from all orders",
        exactly(0),
        functools.partial(_from_every_order, ties=False),
        is_quick=True,
    ),
    Claim(
        "Up to 50 values a side (25 with ties) its distribution is computed",
        "the same with ties",
        exactly(0),
        functools.partial(_from_every_order, ties=True),
        is_quick=True,
    ),
    Claim(
        "above that approximated",
        "51 values a side, p-values from 1 to 20 %: how far off",
        at_most(5, "%"),
        _approximated,
        is_quick=True,
    ),
    Claim(
        "the two-sided p-value is twice the smaller tail",
        "up to 5 values a side with ties: how far off",
        exactly(0),
        _from_smaller_tail,
        is_quick=True,
    ),
    Claim(
        "PipeCD mirrors one tail there and gets p = 0",
        "its way to compute it",
        exactly(0),
        functools.partial(_mirrored, _TIED),
        is_quick=True,
    ),
    Claim(
        "where 0.095 is right",
        "{2, 1, 3, 5} against five ones",
        exactly(0.095, tolerance=0.0005),
        functools.partial(_two_sided, _TIED),
        is_quick=True,
    ),
    Claim(
        "everywhere else the p-values are the same as PipeCD's",
        "two-sided without ties, up to 5 values a side: how far apart",
        exactly(0),
        _apart_from_pipecd,
        is_quick=True,
    ),
    Claim(
        "The interval beside the effect is Newcombe's, of 95 %",
        "20 values a side, one deviation apart: how often it holds the true effect, of 400",
        exactly(95, "%", tolerance=2),
        _ranks_cover,
        is_quick=True,
    ),
    Claim(
        "whatever the level of errors is",
        "20 requests and 60, levels from 0.1 to 99 %, exactly: the most that one look condemns",
        at_most(5, "% fail"),
        _size_at_any_level,
        is_quick=True,
    ),
    Claim(
        "The interval of the ratio is Clopper and Pearson's for one block",
        "20 errors, ratios from 0.1 to 30, exactly: how often at least it holds the true one",
        at_least(95, "%"),
        _ratio_is_covered,
        is_quick=True,
    ),
    Claim(
        "Greenland and Robins' over several",
        "ten looks of 200 requests and 900, twice the errors: how often it holds, of 400",
        exactly(95, "%", tolerance=2),
        _ratio_over_blocks_is_covered,
        is_quick=True,
    ),
    Claim(
        "a release that burns exactly as fast as is allowed fails with a chance of at most 5 %",
        "99.9 %, 6 times, 50/s",
        at_most(5, "% fail"),
        releases.failed(BUDGET, _burning(6)),
    ),
    Claim(
        "and may pass",
        "99.9 %, 6 times, 50/s",
        at_least(1, "% pass"),
        releases.passed(BUDGET, _burning(6)),
    ),
    Claim(
        "the bounds share `significance`, so the promise below holds whatever the windows are",
        "four bounds of 6 times over 2 to 20 minutes, 6 times, 50/s, 60 releases",
        at_most(5, "% fail"),
        _of_four_bounds,
    ),
    Claim(
        "Windows are counted in whole looks, at least one.",
        "a window of ten seconds: what is said of it",
        exactly(1, "minute"),
        _shortest_window,
        is_quick=True,
    ),
    Claim(
        _BETWEEN,
        "6.05 to 6.5 times, 50/s, when the analysis ends",
        exactly(0, "% pass"),
        functools.partial(_not_proven, 20, Result.PASS),
        is_quick=True,
    ),
    Claim(
        "it is held up for more data, and fails without",
        "the same, at the deadline",
        exactly(100, "% fail"),
        functools.partial(_not_proven, 40, Result.FAIL),
        is_quick=True,
    ),
    Claim(
        "Errors that come in bursts hide a rate that is just above a bound",
        "8 times, correlation 0.001, memory 0.5, 50 releases: so many fewer are found",
        at_least(20, "% fewer"),
        functools.partial(_hidden, 8.0),
    ),
    Claim(
        "and hardly one that is far above it",
        "14.4 times, the same",
        at_most(5, "% fewer"),
        functools.partial(_hidden, 14.4),
    ),
)
