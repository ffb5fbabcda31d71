"""Comparison of counts: errors among requests, or events per time.

Both sides together had so many events; without a difference each of them falls to the new
version with the chance of its share of the requests (or of the time). That conditional view
needs no common error rate: several clusters, or several looks, are blocks whose excesses are
added up (Cochran-Mantel-Haenszel), so that a region which always has more errors does not count
against the version that happens to run there.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

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


def ratio(blocks: Sequence[Pair]) -> float | None:
    """Return how many times the other's rate the first side has; None with no event there.

    Over several blocks Mantel and Haenszel's estimate, which no block's own level distorts.
    """
    above, below = _weighted(blocks)
    return above / below if below else None


def _weighted(blocks: Sequence[Pair]) -> tuple[float, float]:
    totals = [pair.first.exposure + pair.second.exposure for pair in blocks]
    pairs = list(zip(blocks, totals, strict=True))
    above = sum(pair.first.events * pair.second.exposure / total for pair, total in pairs)
    below = sum(pair.second.events * pair.first.exposure / total for pair, total in pairs)
    return above, below


def ratio_interval(
    blocks: Sequence[Pair], *, confidence: float = 0.95
) -> tuple[float, float | None]:
    """Return an interval for `ratio`; None above: there is no upper bound.

    One block, or one side without events: Clopper and Pearson's on the share of the events;
    over several blocks, or for thousands of events, Greenland and Robins'.
    """
    added = _added(blocks)
    is_one_sided = not round(added.first.events) or not round(added.second.events)
    if is_one_sided or (len(blocks) == 1 and added.events <= _EXACT):
        return _exact_interval(added, confidence)
    above, below = _weighted(blocks)
    spread = _spread(blocks)
    reach = _NORMAL.inv_cdf((1 + confidence) / 2) * math.sqrt(spread / (above * below))
    return above / below * math.exp(-reach), above / below * math.exp(reach)


def log_ratio(blocks: Sequence[Pair]) -> tuple[float, float]:
    """Return the logarithm of `ratio` and its variance, with half an event more per side."""
    above, below = _weighted(blocks)
    added = _added(blocks)
    total = added.first.exposure + added.second.exposure
    above += added.second.exposure / total / 2
    below += added.first.exposure / total / 2
    half = added.first.exposure * added.second.exposure / total**2
    return math.log(above / below), (_spread(blocks) + half) / (above * below)


def difference(blocks: Sequence[Pair]) -> tuple[float, float]:
    """Return by how much the first side's rate is higher, and the variance of that.

    Blocks weigh as in Mantel and Haenszel's estimates, so that no block's own level distorts. The
    variance is that of sides with one rate: by its own rate a side that has no events, where
    some were to be expected, would seem to be certain of that.
    """
    weights = [
        pair.first.exposure * pair.second.exposure / (pair.first.exposure + pair.second.exposure)
        for pair in blocks
    ]
    higher = sum(
        weight * (pair.first.rate - pair.second.rate)
        for weight, pair in zip(weights, blocks, strict=True)
    )
    added = _added(blocks)
    # Half an event more keeps it above zero.
    rate = (added.events + 0.5) / (added.first.exposure + added.second.exposure)
    variance = rate / added.first.exposure + rate / added.second.exposure
    return higher / sum(weights), variance


def fewest(blocks: Sequence[Pair]) -> float:
    """Return the events of the side that has fewer."""
    added = _added(blocks)
    return min(added.first.events, added.second.events)


def _spread(blocks: Sequence[Pair]) -> float:
    return sum(
        pair.events * pair.first.exposure * pair.second.exposure
        / (pair.first.exposure + pair.second.exposure) ** 2
        for pair in blocks
    )  # fmt: skip


def _added(blocks: Sequence[Pair]) -> Pair:
    return Pair(
        total([pair.first for pair in blocks]),
        total([pair.second for pair in blocks]),
    )


def total(counts: Sequence[Count]) -> Count:
    """Add counts up."""
    return Count(sum(count.events for count in counts), sum(count.exposure for count in counts))


def _exact_interval(pair: Pair, confidence: float) -> tuple[float, float | None]:
    drawn, rest = round(pair.first.events), round(pair.second.events)
    outside = (1 - confidence) / 2
    events = drawn + rest
    low = binomial.share_below(drawn, events, outside) if drawn else 0.0
    high = 1 - binomial.share_below(rest, events, outside) if rest else None
    scale = pair.second.exposure / pair.first.exposure
    upper = None if high is None else scale * high / (1 - high)
    return scale * low / (1 - low) if low < 1 else math.inf, upper
