"""Looking again and again without raising the chance of a false alarm.

A test at 5 % that is repeated thirty times condemns most healthy releases. Here every look adds
to a *bet against* "there is no difference": a factor that is never above 1 on average while
that is true. A product of such bets exceeds 1 / 0.05 at any time, however often one looks, with
a chance below 5 % (Ville's inequality), and 1 / its highest value so far is a p-value that may
be read at any moment.

Neither bet assumes a level that stays the same: each look on each cluster is a block of its
own, so peaks of traffic and differing regions cancel out.

*Ranks.* U without ties is never wider than the normal distribution of its own mean and
variance: its generating function is a product of sinh((n + j) t/2) / sinh(j t/2), and
log(sinh x / x) - x²/6 falls with x. Ties average over orders without ties, which can only make
it narrower. So exp(t (U - mean) - t² variance / 2) is a fair bet for every t; one is taken over
all positive t, with normal weights (Robbins' mixture).

*Counts.* The events of one look fall to the new version like draws without replacement, whose
generating function is below that with replacement (Hoeffding), seen from either margin; the
bets are on so many times the odds, and their mean is taken.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeVar

from volary.analysis.statistics import counts, ranks
from volary.model import analysis

#: Spread of the superiorities that are bet on, away from 0.5: best for 0.6 to 0.8.
_SPREAD = 0.2
#: So many times the odds are bet on, each with the same stake.
_ODDS = (1.3, 1.7, 2.5, 4.0, 8.0, 20.0)
_LOG_ODDS = tuple(map(math.log, _ODDS))
_LOWER_ODDS = tuple(-log_odds for log_odds in _LOG_ODDS)
_NORMAL = NormalDist()
_LEAST_TAIL = 1e-300


@dataclass(frozen=True, slots=True)
class Evidence:
    """How the bet stands, as logarithms: now, and at its best so far."""

    now: float = 0.0
    best: float = 0.0

    @property
    def p_value(self) -> float:
        """Valid at any time; 1: nothing speaks against the release."""
        return math.exp(-max(0.0, self.best))


def from_ranks(looks: Iterable[Sequence[ranks.RankSum]], deviation: analysis.Deviation) -> Evidence:
    """Return the evidence that the first side is higher, lower or either; blocks per look."""
    excess = variance = 0.0
    now = best = 0.0
    for blocks in looks:
        for block in blocks:
            total = block.first + block.second + 1
            excess += (block.u - block.mean) / total
            variance += block.first * block.second / 12 / total
        now = _mixture(excess, variance, deviation)
        best = max(best, now)
    return Evidence(now, best)


def _mixture(excess: float, variance: float, deviation: analysis.Deviation) -> float:
    # A superiority of 0.5 + d moves the weighted sum by 12 d per unit of its variance.
    weight = (12 * _SPREAD) ** 2
    shrunk = 1 + weight * variance
    both = -math.log(shrunk) / 2 + weight * excess * excess / (2 * shrunk)
    if deviation is analysis.Deviation.EITHER:
        return both
    towards = excess if deviation is analysis.Deviation.HIGH else -excess
    tail = _NORMAL.cdf(towards * math.sqrt(weight / shrunk))
    return both + math.log(2 * max(tail, _LEAST_TAIL))


def from_proportions(
    looks: Iterable[Sequence[counts.Pair]], deviation: analysis.Deviation, *, odds: float = 1.0
) -> Evidence:
    """Return the evidence that the first side has not at most `odds` times the other's odds.

    Lower: not at least so many times; either: not the same, where odds have to be 1.
    """
    allowed = math.log(odds)
    return _followed(
        looks, _odds(deviation), lambda pair, log_odds: _proportion_bet(pair, log_odds, allowed)
    )


def from_rates(
    looks: Iterable[Sequence[counts.Pair]],
    deviation: analysis.Deviation,
    *,
    ratio: float = 1.0,
) -> Evidence:
    """Return the evidence that the first side's rate is not `ratio` times the other's.

    Valid for proportions with a ratio as well; at high ones it sees little.
    """

    def bet(pair: counts.Pair, log_odds: float) -> float:
        chance = pair.chance(ratio)
        return pair.first.events * log_odds - pair.events * _log_mean(chance, log_odds)

    return _followed(looks, _odds(deviation), bet)


def _proportion_bet(pair: counts.Pair, log_odds: float, allowed: float) -> float:
    """Return the logarithm of the bet; each bound is fair, so the lowest may be taken.

    At other odds than 1 the generating function is M(tilt + allowed) / M(allowed), of which
    the lower one is at least exp(mean * allowed) (Jensen).
    """
    tilt = log_odds + allowed
    first, second = pair.first.exposure, pair.second.exposure
    total = first + second
    events = min(pair.events, total)
    share, chance = events / total, first / total
    bound = min(
        events * _log_mean(chance, tilt),
        first * _log_mean(share, tilt),
        first * tilt + (total - events) * _log_mean(chance, -tilt),
        events * tilt + second * _log_mean(share, -tilt),
    )
    return pair.first.events * log_odds - bound + events * chance * allowed


def _log_mean(chance: float, log_odds: float) -> float:
    return math.log1p(chance * math.expm1(log_odds))


def above_proportion(looks: Iterable[Sequence[counts.Count]], limit: float) -> Evidence:
    """Return the evidence that the true proportion is above `limit` (0: one event shows it)."""
    return _followed(
        looks,
        _LOG_ODDS,
        lambda count, odds: count.events * odds - count.exposure * _log_mean(limit, odds),
        is_impossible=lambda count: limit <= 0 < count.events,
    )


def below_proportion(looks: Iterable[Sequence[counts.Count]], limit: float) -> Evidence:
    """Return the evidence that the true proportion is below `limit`."""
    others = (
        [counts.Count(max(0.0, block.exposure - block.events), block.exposure) for block in blocks]
        for blocks in looks
    )
    return above_proportion(others, 1 - limit)


def above_rate(looks: Iterable[Sequence[counts.Count]], limit: float) -> Evidence:
    """Return the evidence that the true rate is above `limit` per unit of exposure."""
    return _followed(
        looks,
        _LOG_ODDS,
        lambda count, odds: count.events * odds - limit * count.exposure * math.expm1(odds),
        is_impossible=lambda count: limit <= 0 < count.events,
    )


def below_rate(looks: Iterable[Sequence[counts.Count]], limit: float) -> Evidence:
    """Return the evidence that the true rate is below `limit` per unit of exposure."""
    return _followed(
        looks,
        _LOG_ODDS,
        lambda count, odds: -count.events * odds - limit * count.exposure * math.expm1(-odds),
    )


Block = TypeVar("Block", counts.Pair, counts.Count)


def _followed(
    looks: Iterable[Sequence[Block]],
    odds: Sequence[float],
    bet: Callable[[Block, float], float],
    is_impossible: Callable[[Block], bool] = lambda _: False,
) -> Evidence:
    """Follow the bets on all odds from look to look."""
    stakes = [0.0] * len(odds)
    now = best = 0.0
    for blocks in looks:
        for block in blocks:
            if is_impossible(block):
                return Evidence(math.inf, math.inf)
            stakes = [
                stake + bet(block, log_odds) for stake, log_odds in zip(stakes, odds, strict=True)
            ]
        now = _log_mean_of(stakes)
        best = max(best, now)
    return Evidence(now, best)


def _odds(deviation: analysis.Deviation) -> tuple[float, ...]:
    match deviation:
        case analysis.Deviation.HIGH:
            return _LOG_ODDS
        case analysis.Deviation.LOW:
            return _LOWER_ODDS
        case analysis.Deviation.EITHER:
            return _LOG_ODDS + _LOWER_ODDS


def _log_mean_of(logarithms: Sequence[float]) -> float:
    highest = max(logarithms)
    mean = math.fsum(math.exp(logarithm - highest) for logarithm in logarithms) / len(logarithms)
    return highest + math.log(mean)
