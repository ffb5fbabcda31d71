"""Comparison of counts: errors among requests, or events per time.

Both sides together had so many events; without a difference each of them falls to the new
version with the chance of its share of the requests (or of the time). That conditional view
needs no common error rate: several clusters, or several looks, are blocks whose excesses are
added up (Cochran-Mantel-Haenszel), so that a region which always has more errors does not count
against the version that happens to run there.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

from volary.analysis.statistics import binomial, ranks

#: Up to so many events the distribution is computed, of one block or of several; above it
#: is approximated.
_EXACT, _EXACT_TOGETHER = 5_000, 400
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Count:
    """Events, and what they are counted in: requests or seconds."""

    events: float
    exposure: float

    @property
    def rate(self) -> float:
        """Events per request or second."""
        return self.events / self.exposure


@dataclass(frozen=True, slots=True)
class Pair:
    """Both sides of one block; each has an exposure above zero."""

    first: Count
    second: Count

    @property
    def events(self) -> float:
        """Of both sides."""
        return self.first.events + self.second.events

    def chance(self, ratio: float = 1.0) -> float:
        """Return how likely an event is the first side's when its rate is `ratio` times."""
        weighed = ratio * self.first.exposure
        return weighed / (weighed + self.second.exposure)


@dataclass(frozen=True, slots=True)
class _Block:
    """Distribution of the first side's events: their least number, and the chance of each."""

    observed: int
    mean: float
    variance: float
    least: int = 0
    chances: tuple[float, ...] = ()


def proportion_tails(blocks: Sequence[Pair], *, odds: float = 1.0) -> ranks.Tails:
    """Test whether the first side has `odds` times the other's odds in every block.

    With odds of 1 whether the proportions are alike (Fisher; Mantel-Haenszel). Events are
    rounded to whole ones: a metric system that extrapolates gives fractions.
    """
    exact = _is_small(blocks)
    return _tails([_hypergeometric(pair, math.log(odds), exact=exact) for pair in blocks])


def rate_tails(blocks: Sequence[Pair], *, ratio: float = 1.0) -> ranks.Tails:
    """Test whether the first side's rate is `ratio` times the other's in every block.

    Also for proportions with a ratio other than 1, where it errs on the safe side.
    """
    exact = _is_small(blocks)
    return _tails([_binomial(pair, ratio, exact=exact) for pair in blocks])


def _is_small(blocks: Sequence[Pair]) -> bool:
    return sum(pair.events for pair in blocks) <= (_EXACT if len(blocks) == 1 else _EXACT_TOGETHER)


def _hypergeometric(pair: Pair, log_odds: float, *, exact: bool) -> _Block:
    first, second = _whole(pair.first), _whole(pair.second)
    drawn, rest = round(pair.first.events), round(pair.second.events)
    events, total = drawn + rest, first + second
    mean = events * first / total
    # Neither side is taken for less than one, so the total is two at least.
    others = (total - events) * second / (total * (total - 1))
    if not exact:
        return _Block(drawn, mean * (1 + others * log_odds), mean * others)
    least, most = max(0, events - second), min(events, first)
    logarithms = [
        binomial.log_choose(first, number)
        + binomial.log_choose(second, events - number)
        + number * log_odds
        for number in range(least, most + 1)
    ]
    highest = max(logarithms)
    chances = [math.exp(logarithm - highest) for logarithm in logarithms]
    every = math.fsum(chances)
    return _Block(drawn, mean, mean * others, least, tuple(chance / every for chance in chances))


def _whole(count: Count) -> int:
    return max(1, round(count.exposure), round(count.events))


def _binomial(pair: Pair, ratio: float, *, exact: bool) -> _Block:
    drawn = round(pair.first.events)
    events = drawn + round(pair.second.events)
    chance = pair.chance(ratio)
    mean = events * chance
    if not exact:
        return _Block(drawn, mean, mean * (1 - chance))
    chances = tuple(binomial.chance(number, events, chance) for number in range(events + 1))
    return _Block(drawn, mean, mean * (1 - chance), 0, chances)


def _tails(blocks: Sequence[_Block]) -> ranks.Tails:
    if all(block.chances for block in blocks):
        least = sum(block.least for block in blocks)
        at = sum(block.observed for block in blocks) - least
        chances = [1.0]
        for counted_block in blocks:
            chances = _convolved(chances, counted_block.chances)
        less, greater = math.fsum(chances[: at + 1]), math.fsum(chances[at:])
        return ranks.Tails(min(1.0, less), min(1.0, greater))
    excess = sum(block.observed - block.mean for block in blocks)
    deviation = math.sqrt(sum(block.variance for block in blocks))
    return ranks.normal_tails(excess, deviation)


def _convolved(first: Sequence[float], second: Sequence[float]) -> list[float]:
    if len(first) == 1:
        return [first[0] * chance for chance in second]
    total = [0.0] * (len(first) + len(second) - 1)
    for at, chance in enumerate(first):
        for further, other in enumerate(second):
            total[at + further] += chance * other
    return total


class Sums(NamedTuple):
    """What effects over blocks are made of: sums of what each block adds, in the order of blocks.

    Whoever asks about many parts of the same blocks works out what each adds only once.
    """

    blocks: int
    first_events: float
    first_exposure: float
    second_events: float
    second_exposure: float
    #: Of Mantel and Haenszel's ratio.
    above: float
    below: float
    #: Of the variance of its logarithm.
    spread: float
    #: Of the difference of both rates.
    weight: float
    higher: float


def addend(pair: Pair) -> Sums:
    """Return what a block adds to the sums."""
    first, second = pair.first, pair.second
    exposure = first.exposure + second.exposure
    weight = first.exposure * second.exposure / exposure
    return Sums(
        1,
        first.events,
        first.exposure,
        second.events,
        second.exposure,
        above=first.events * second.exposure / exposure,
        below=second.events * first.exposure / exposure,
        spread=pair.events * first.exposure * second.exposure / exposure**2,
        weight=weight,
        higher=weight * (first.rate - second.rate),
    )


def added(addends: Iterable[Sums]) -> Sums:
    """Return the sums over some blocks, of which there has to be one."""
    return Sums(*map(sum, zip(*addends, strict=True)))


def sums(blocks: Iterable[Pair]) -> Sums:
    """Return what some blocks, of which there has to be one, add up to."""
    return added(map(addend, blocks))


def ratio(sums: Sums) -> float | None:
    """Return how many times the other's rate the first side has; None with no event there.

    Over several blocks Mantel and Haenszel's estimate, which no block's own level distorts.
    """
    return sums.above / sums.below if sums.below else None


def ratio_interval(sums: Sums, *, confidence: float = 0.95) -> tuple[float, float | None]:
    """Return an interval for `ratio`; None above: there is no upper bound.

    One block, or one side without events: Clopper and Pearson's on the share of the events;
    over several blocks, or for thousands of events, Greenland and Robins'.
    """
    is_one_sided = not round(sums.first_events) or not round(sums.second_events)
    events = sums.first_events + sums.second_events
    if is_one_sided or (sums.blocks == 1 and events <= _EXACT):
        return _exact_interval(sums, confidence)
    above, below = sums.above, sums.below
    reach = _NORMAL.inv_cdf((1 + confidence) / 2) * math.sqrt(sums.spread / (above * below))
    return above / below * math.exp(-reach), above / below * math.exp(reach)


def log_ratio(sums: Sums) -> tuple[float, float]:
    """Return the logarithm of `ratio` and its variance, with half an event more per side."""
    total = sums.first_exposure + sums.second_exposure
    above = sums.above + sums.second_exposure / total / 2
    below = sums.below + sums.first_exposure / total / 2
    half = sums.first_exposure * sums.second_exposure / total**2
    return math.log(above / below), (sums.spread + half) / (above * below)


def difference(sums: Sums) -> tuple[float, float]:
    """Return by how much the first side's rate is higher, and the variance of that.

    Blocks weigh as in Mantel and Haenszel's estimates, so that no block's own level distorts. The
    variance is that of sides with one rate: by its own rate a side that has no events, where
    some were to be expected, would seem to be certain of that.
    """
    # Half an event more keeps it above zero.
    events = sums.first_events + sums.second_events + 0.5
    rate = events / (sums.first_exposure + sums.second_exposure)
    variance = rate / sums.first_exposure + rate / sums.second_exposure
    return sums.higher / sums.weight, variance


def fewest(sums: Sums) -> float:
    """Return the events of the side that has fewer."""
    return min(sums.first_events, sums.second_events)


def total(counts: Sequence[Count]) -> Count:
    """Add counts up."""
    return Count(sum(count.events for count in counts), sum(count.exposure for count in counts))


def _exact_interval(sums: Sums, confidence: float) -> tuple[float, float | None]:
    drawn, rest = round(sums.first_events), round(sums.second_events)
    outside = (1 - confidence) / 2
    events = drawn + rest
    low = binomial.share_below(drawn, events, outside) if drawn else 0.0
    high = 1 - binomial.share_below(rest, events, outside) if rest else None
    scale = sums.second_exposure / sums.first_exposure
    upper = None if high is None else scale * high / (1 - high)
    return scale * low / (1 - low) if low < 1 else math.inf, upper
