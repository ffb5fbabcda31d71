"""Claims about bets: tests that are repeated at every look."""

import functools
import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace

from benchmarks import simulation
from benchmarks.claims import files, releases
from benchmarks.claims.claim import Claim, at_least, at_most, exactly
from benchmarks.claims.releases import (
    ERRORS,
    EVEN,
    LATENCY,
    MINUTE,
    ONE_BY_ONE,
    RATE,
    VALUES,
    beside,
    count,
    counted,
)
from volary.analysis.planning import traffic
from volary.analysis.statistics import binomial, counts, ranks, sequential
from volary.model import analysis, errors
from volary.model.analysis import Deviation, Judgement, Result

HIGH = Deviation.HIGH


def pair(drawn: float, first: float, rest: float, second: float) -> counts.Pair:
    return counts.Pair(counts.Count(drawn, first), counts.Count(rest, second))


# Exactly: the mean of the stake after one look, over all that could be seen.

#: Beyond it sums of rounded numbers are no more exact.
_DIGITS = 9


def _mean_of_counts() -> float:
    """Return the highest mean over margins and levels, of healthy releases."""
    highest = 0.0
    for first, second in ((1, 1), (1, 9), (9, 1), (4, 7), (8, 8)):
        for share in (0.01, 0.1, 0.3, 0.5, 0.8, 0.99):
            mean = math.fsum(
                binomial.chance(drawn, first, share)
                * binomial.chance(rest, second, share)
                * math.exp(
                    sequential.from_proportions([[pair(drawn, first, rest, second)]], HIGH).now
                )
                for drawn, rest in itertools.product(range(first + 1), range(second + 1))
            )
            highest = max(highest, mean)
    return round(highest, _DIGITS)


def _mean_without_replacement() -> float:
    """Return the highest mean over the ways in which the events of a look fall to the sides."""
    highest = 0.0
    for first, second in ((1, 12), (12, 1), (3, 9), (8, 8)):
        total = first + second
        for events in range(total + 1):
            mean = math.fsum(
                math.comb(first, drawn)
                * math.comb(second, events - drawn)
                / math.comb(total, events)
                * math.exp(
                    sequential.from_proportions(
                        [[pair(drawn, first, events - drawn, second)]], HIGH
                    ).now
                )
                for drawn in range(max(0, events - second), min(events, first) + 1)
            )
            highest = max(highest, mean)
    return round(highest, _DIGITS)


def _mean_of_odds() -> float:
    """Return the highest mean where 1.5 times the odds are allowed, and are what there is."""
    highest, first, second = 0.0, 7, 9
    for share in (0.01, 0.1, 0.3, 0.5, 0.8):
        odds = 1.5 * share / (1 - share)
        worse = odds / (1 + odds)
        mean = math.fsum(
            binomial.chance(drawn, first, worse)
            * binomial.chance(rest, second, share)
            * math.exp(
                sequential.from_proportions(
                    [[pair(drawn, first, rest, second)]], HIGH, odds=1.5
                ).now
            )
            for drawn, rest in itertools.product(range(first + 1), range(second + 1))
        )
        highest = max(highest, mean)
    return round(highest, _DIGITS)


def _mean_of_ranks() -> float:
    """Return the highest mean over all orders of up to four values a side, with any ties."""
    highest = 0.0
    for first, second in itertools.product(range(1, 5), range(1, 4)):
        total = first + second
        for groups in _compositions(total):
            values = [float(at) for at, size in enumerate(groups) for _ in range(size)]
            bets = []
            for chosen in itertools.combinations(range(total), first):
                one = [values[at] for at in chosen]
                other = [value for at, value in enumerate(values) if at not in chosen]
                found = sequential.from_ranks([[ranks.rank_sum(one, other)]], HIGH)
                bets.append(math.exp(found.now))
            highest = max(highest, math.fsum(bets) / len(bets))
    return round(highest, _DIGITS)


def _compositions(total: int) -> Iterator[tuple[int, ...]]:
    """Yield the ways to put values into groups of equal ones."""
    if total == 0:
        yield ()
    for size in range(1, total + 1):
        for rest in _compositions(total - size):
            yield (size, *rest)


def _times_the_highest_stake() -> float:
    """Return how far the p-value is from 1 divided by the highest stake, of 50 releases."""
    generator, worst = random.Random(1), 0.0
    canary, usual = simulation.drawer(100, 0.02), simulation.drawer(900, 0.01)
    for _ in range(50):
        looks = simulation.errors(generator, 20, canary, usual)
        stakes = [sequential.from_proportions(looks[:at], HIGH).now for at in range(1, 21)]
        found = sequential.from_proportions(looks, HIGH).p_value
        worst = max(worst, abs(found * math.exp(max(0.0, *stakes)) - 1))
    return round(worst, _DIGITS)


#: A look after which nothing is left of the stake that was laid.
_CRUSHING = pair(0, 100_000, 50_000, 100_000)


def _laid(number: int) -> float:
    """Return how many percent of what was not laid are laid at a look."""
    before, after = (
        math.exp(sequential.from_proportions([[_CRUSHING]] * looks, HIGH).now)
        for looks in (number - 1, number)
    )
    return 100 * (1 - after / before)


def _times(found: sequential.Evidence) -> float:
    """Return by how much a first look multiplies the stake that it meets."""
    laid = _laid(1) / 100
    return (math.exp(found.now) - 1 + laid) / laid


def _off_odds() -> float:
    """Return how far a stake is from being mostly on 1.7 to 4 times the odds, after one event."""
    stakes = {1.15: 0.4, 1.3: 0.9, 1.7: 2.0, 2.5: 2.0, 4.0: 1.6, 8.0: 0.8, 20.0: 0.2}
    whole, chance = math.fsum(stakes.values()), 0.4
    most = math.fsum(stake for odds, stake in stakes.items() if 1.7 <= odds <= 4) / whole
    assert most > 0.5
    factors = (stake * odds / (1 + chance * (odds - 1)) for odds, stake in stakes.items())
    found = _times(sequential.from_rates([[pair(1, 40, 0, 60)]], HIGH))
    return round(abs(found - math.fsum(factors) / whole), _DIGITS)


def _off_equal_parts_of_ranks() -> float:
    """Return how far a stake is from equal parts on 5 to 45 points, after four values."""
    first, second, u = 2, 2, 3.0
    # The t for which normal values, of which one is higher so often, are told best.
    tilts = (12 * points / (first + second + 1) for points in (0.05, 0.1, 0.2, 0.3, 0.45))
    variance = first * second * (first + second + 1) / 12
    factors = (math.exp(tilt * (u - first * second / 2) - tilt**2 * variance / 2) for tilt in tilts)
    found = _times(sequential.from_ranks([[ranks.RankSum(first, second, u)]], HIGH))
    return round(abs(found - math.fsum(factors) / 5), _DIGITS)


def _most_of_a_look() -> float:
    """Return by how much one look of one cluster multiplies the stake."""
    plain = [
        sequential.from_proportions([[pair(requests, requests, 0, requests)]], HIGH)
        for requests in (10, 100, 1_000, 100_000, 10_000_000)
    ]
    plain += [
        sequential.from_ranks([[ranks.RankSum(size, size, float(size * size))]], HIGH)
        for size in (5, 50, 500)
    ]
    return max(map(_times, plain))


def _condemned_by_one_look() -> float:
    """Count sizes and kinds of one plain look on one cluster that fails."""
    condemned = 0
    for requests in (10, 100, 1_000, 100_000, 10_000_000):
        plain = counted((requests, requests), (0, requests), looks=1)
        for rule in (ERRORS, RATE, releases.LIMIT):
            condemned += releases.judged(rule, plain).result is Result.FAIL
    for size in (5, 50, 500):
        high, low = releases.values(*[2.0] * size), releases.values(*[1.0] * size)
        condemned += releases.judged(VALUES, beside([(high, low)])).result is Result.FAIL
    return condemned


# Drawn.


def _any_plan(generator: random.Random) -> analysis.Series:
    """Return a healthy release whose looks have from 1 to 400 requests on canary."""
    looks = []
    for _ in range(generator.randint(5, 40)):
        first, second = (int(math.exp(generator.random() * 6)) for _ in range(2))
        sides = [
            count(sum(generator.random() < 0.05 for _ in range(size)), size)
            for size in (first, second)
        ]
        looks.append((sides[0], sides[1]))
    return beside(looks)


def _barely_worse() -> float:
    """Count levels at which ten million requests with 1 % more errors fail."""
    failed = 0
    for level in (1e-5, 1e-4, 1e-3, 0.01, 0.1):
        requests = 500_000
        release = counted((1.01 * level * requests, requests), (level * requests, requests))
        failed += releases.judged(ERRORS, release).result is Result.FAIL
    return failed


def _slower_by(share: float) -> Callable[[random.Random], analysis.Series]:
    """Return what draws a release with twenty values a look, each so much larger on canary."""

    def draw(generator: random.Random) -> analysis.Series:
        looks = []
        for _ in range(20):
            first, second = (
                [math.exp(generator.gauss(0, 0.1)) for _ in range(20)] for _ in range(2)
            )
            looks.append(
                (releases.values(*((1 + share) * x for x in first)), releases.values(*second))
            )
        return beside(looks)

    return draw


def _late(generator: random.Random) -> analysis.Series:
    """Return a release that has five times the errors in the last six minutes of an hour."""
    return releases.changing(
        ERRORS, [EVEN] * 10, length=6 * MINUTE, generator=generator, effects=[1.0] * 9 + [5.0]
    )


def _looks_until_plain() -> float:
    plain = counted((50, 100), (9, 900))
    return releases.failing_look(ERRORS, plain, 20)


def _looks_until_one_is_too_many() -> float:
    none = replace(releases.LIMIT, expected=analysis.Range(maximum=0))
    return releases.failing_look(none, releases.alone([count(1, 1_000)] * 20), 20)


# Sentences and files.

_ANY = replace(VALUES, judgement=Judgement.EACH, minimum_effect=0, failure_limit=0)


def _would_come_to_it() -> float:
    """Return how many healthy releases come to it, of a hundred of which that is said."""
    said = 100 * analysis.false_alarms(_ANY, releases.TWENTY)
    measured = releases.failed_of(_ANY, _slower_by(0), seed=3, runs=100)()
    return 100 * measured / said


def _said_to_come_to_it() -> float:
    """Return what the sentence of a rule says that failed at one look of twenty, in percent."""
    low, high = releases.values(*map(float, range(20))), releases.values(*map(float, range(50, 70)))
    release = beside([(low, low)] * 19 + [(high, low)])
    sentence = releases.judged(_ANY, release).sentence
    _, _, said = sentence.rpartition("of healthy releases ")
    return float(said.partition(" %")[0])


def _looks_warned_of() -> float:
    """Return the fewest looks that are warned of, each judged by itself."""
    metric = {**files.COUNTED, "strategy": "CANARY_BASELINE"}

    def is_warned_of(looks: int) -> bool:
        loaded = files.read([metric], duration=f"{looks}m")
        return any("fail by chance" in problem.message for problem in loaded.problems)

    return releases.first(range(1, 20), is_warned_of)


def _directions() -> float:
    """Count comparisons whose direction is as it says where none is written."""
    side = {"strategy": "CANARY_BASELINE"}
    named = {"provider": "prom", "interval": "1m"}
    expected = (
        ({**files.COUNTED, **side}, Deviation.HIGH),
        ({**named, **side, "name": "request-errors"}, Deviation.HIGH),
        ({**named, **side, "name": "request-duration"}, Deviation.HIGH),
        ({**named, **side, "name": "request-success-rate"}, Deviation.LOW),
    )
    return sum(
        files.rules(files.read([metric]))[0].deviation is deviation
        for metric, deviation in expected
    )


def _refused_without_direction() -> float:
    metrics = [
        {**files.METRIC, "strategy": strategy, "kind": kind}
        for strategy in ("CANARY_BASELINE", "CANARY_PRIMARY", "PREVIOUS")
        for kind in ("value", "rate")
    ]
    refused = 0
    for metric in metrics:
        problems = errors.mistakes(files.read([metric]).problems)
        refused += any(str(problem.where.path).endswith("deviation") for problem in problems)
    return releases.share(refused, len(metrics))


def _pipecd_counts_any() -> float:
    """Return whether a rule of PipeCD's counts any difference in both directions, and warns."""
    metric = {**files.METRIC, "strategy": "CANARY_BASELINE"}
    loaded = files.read([metric], is_pipecd=True)
    (rule,) = files.rules(loaded)
    is_any = rule.deviation is Deviation.EITHER and rule.allowed_ratio == 1
    is_warned_of = any("any difference fails" in problem.message for problem in loaded.problems)
    return releases.share(is_any and is_warned_of, 1)


_MEAN = "a factor whose mean is at most 1 as long as the release is healthy"
_EXACT = "That its mean stays below 1 is exact, not an approximation, also with ties"
_EFFECT = "of the odds for proportions, of the rate for rates, of each value of the other side"
_WORSE = "Only worse is worse"
_MUCH = traffic.Traffic(1_000, 1_000)
CLAIMS = (
    Claim(
        "A test at 5 % that is repeated at every look condemns most healthy releases in the end.",
        "errors, 10/s on each side, 60 looks one by one, 25 releases",
        at_least(50, "% fail"),
        releases.failed(ONE_BY_ONE, EVEN, duration=releases.HOUR, runs=25),
    ),
    Claim(_MEAN, "errors of 2 to 16 requests, exactly", at_most(1), _mean_of_counts, is_quick=True),
    Claim(
        "is below 5 % (Ville's inequality), at any time and for any plan of looks",
        "5 to 40 looks of 1 to 400 requests each, 5 % errors",
        at_most(5, "% fail"),
        releases.failed_of(replace(ERRORS, minimum_effect=0), _any_plan, seed=4, runs=100),
    ),
    Claim(
        "The p-value that is shown is 1 divided by the highest stake so far",
        "50 releases with twice the errors: how far off",
        exactly(0),
        _times_the_highest_stake,
        is_quick=True,
    ),
    Claim(
        "for superiorities of 5 to 45 points, equal parts",
        "one look of two values a side: how far the stake is from that",
        exactly(0),
        _off_equal_parts_of_ranks,
        is_quick=True,
    ),
    Claim(
        "the stake is on 1.15, 1.3, 1.7, 2.5, 4, 8 and 20 times the odds, most of it on 1.7 to 4",
        "one event on canary: how far the stake is from that",
        exactly(0),
        _off_odds,
        is_quick=True,
    ),
    Claim(
        _EXACT,
        "1 to 4 values and 1 to 3, all orders and ties",
        at_most(1),
        _mean_of_ranks,
        is_quick=True,
    ),
    Claim(
        "Drawing without replacement is bounded by drawing with replacement (Hoeffding), from"
        " either margin.",
        "all errors of 13 to 16 requests, exactly: the mean of the stake",
        at_most(1),
        _mean_without_replacement,
        is_quick=True,
    ),
    Claim(
        'with `max: 1.5` the bet is against "at most 1.5 times"',
        "1.5 times the errors, 100/s on each side",
        at_most(5, "% fail"),
        releases.failed(replace(ERRORS, ratio_limit=1.5), traffic.Traffic(100, 100), 1.5),
    ),
    Claim(
        'with `max: 1.5` the bet is against "at most 1.5 times"',
        "3 times the errors, 100/s on each side, 20 releases",
        at_least(95, "% fail"),
        releases.failed(replace(ERRORS, ratio_limit=1.5), traffic.Traffic(100, 100), 3.0, runs=20),
    ),
    Claim(
        _EFFECT,
        "errors with 1.05 times the odds, 1,000/s on each side",
        at_most(5, "% fail"),
        releases.failed(ERRORS, _MUCH, 1.0495),
    ),
    Claim(
        _EFFECT,
        "1.05 times the events a second, 1,000/s on each side",
        at_most(5, "% fail"),
        releases.failed(RATE, _MUCH, 1.05),
    ),
    Claim(
        _EFFECT,
        "values 1.05 times as high, twenty a look, which scatter by 10 %",
        at_most(5, "% fail"),
        releases.failed_of(VALUES, _slower_by(0.05), seed=5, runs=50),
    ),
    Claim(
        _EFFECT,
        "the same with `minEffect: 0`",
        at_least(50, "% fail"),
        releases.failed_of(replace(VALUES, minimum_effect=0), _slower_by(0.05), seed=5, runs=50),
    ),
    Claim(
        "A canary with ten million requests is not condemned for 1 % more errors.",
        "levels from 0.001 to 10 %",
        exactly(0, "fail"),
        _barely_worse,
        is_quick=True,
    ),
    Claim(
        "At other odds than 1 the bet is divided by the least that its generating function can be"
        " there (Jensen).",
        "1.5 times the odds, errors of 16 requests, exactly: the mean of the stake",
        at_most(1),
        _mean_of_odds,
        is_quick=True,
    ),
    Claim(
        _WORSE,
        "30 % less latency",
        at_most(5, "% fail"),
        releases.failed(LATENCY, EVEN, 0.7),
    ),
    Claim(
        _WORSE, "a third of the errors", at_most(5, "% fail"), releases.failed(ERRORS, EVEN, 1 / 3)
    ),
    Claim(
        "`deviation` is `HIGH` for proportions, `request-errors` and `request-duration`, `LOW` for"
        " `request-success-rate`",
        "files that do not write it",
        exactly(4, "of 4"),
        _directions,
        is_quick=True,
    ),
    Claim(
        "and has to be written for any other comparison",
        "values and rates against three other sides",
        exactly(100, "% are refused"),
        _refused_without_direction,
        is_quick=True,
    ),
    Claim(
        "PipeCD's files keep PipeCD's meaning (any difference counts, in both directions), and"
        " `volary lint` warns.",
        "a comparison of values",
        exactly(100, "%"),
        _pipecd_counts_any,
        is_quick=True,
    ),
    Claim(
        "90 % of the stake is laid at the first look",
        "what a look that says the opposite destroys",
        exactly(90, "%"),
        functools.partial(_laid, 1),
        is_quick=True,
    ),
    Claim(
        "and 3 % of the rest at each further one",
        "the fifth look that says the opposite",
        exactly(3, "%"),
        functools.partial(_laid, 5),
        is_quick=True,
    ),
    Claim(
        "Of releases that have five times the errors in the last tenth of an hour, at least 17 of"
        " 20 are found.",
        "10/s on each side, 60 releases",
        at_least(85, "% fail"),
        releases.failed_of(ERRORS, _late, seed=6, runs=60),
    ),
    Claim(
        "no cluster's look multiplies the stake by more than e²",
        "the plainest errors and values there are",
        at_most(7.39, "times"),
        _most_of_a_look,
        is_quick=True,
    ),
    Claim(
        "So a single look on one cluster never condemns at 5 %",
        "all of up to ten million requests fail; 5 to 500 values wholly above",
        exactly(0, "fail"),
        _condemned_by_one_look,
        is_quick=True,
    ),
    Claim(
        "unless not one error is allowed",
        "one of 1,000 requests fails, a limit of none",
        exactly(1, "look"),
        _looks_until_one_is_too_many,
        is_quick=True,
    ),
    Claim(
        "two do where it is plain",
        "half of 100 requests fail, beside 1 %",
        exactly(2, "looks"),
        _looks_until_plain,
        is_quick=True,
    ),
    Claim(
        "its sentence says how many healthy releases would have come to the same",
        "one of twenty looks failed: 1 − 0.95²⁰",
        exactly(64, "%", tolerance=0.5),
        _said_to_come_to_it,
        is_quick=True,
    ),
    Claim(
        "its sentence says how many healthy releases would have come to the same",
        "twenty values a side and look: how many do, of those of which it is said",
        exactly(100, "%", tolerance=20),
        _would_come_to_it,
    ),
    Claim(
        "`volary lint` warns of rules that would condemn more than a fifth of them",
        "1 − 0.95⁴ is 19 %, 1 − 0.95⁵ is 23 %: the fewest looks",
        exactly(5, "looks"),
        _looks_warned_of,
        is_quick=True,
    ),
)
