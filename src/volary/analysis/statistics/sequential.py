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
it narrower. So exp(t (U - mean) - t² variance / 2) is a fair bet for every t; the mean of some
is taken.

*Counts.* The events of one look fall to the new version like draws without replacement, whose
generating function is below that with replacement (Hoeffding), seen from either margin; the
bets are on so many times the odds, and their mean is taken.

*The weather.* All that is exact for independent events. Where looks scatter more, what each says
is divided by the scale of their variance (`dispersion`), and no block may say more than a
little: that costs fair bets nothing of their fairness, and a burst much of its weight. A part of
the stake is laid at each later look, so that what begins late is not held against all the good
looks before it.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from volary.analysis.statistics import counts, logarithms, ranks
from volary.model import analysis

#: Superiorities that are bet on, away from 0.5, each with the same stake. One of d moves the
#: weighted sum by 12 d per unit of its variance.
_TILTS = {12 * away: 1.0 for away in (0.05, 0.1, 0.2, 0.3, 0.45)}
#: So many times the odds are bet on, with stakes like these: most on what is worth finding and
#: not found by anything else.
_ODDS = {1.15: 0.4, 1.3: 0.9, 1.7: 2.0, 2.5: 2.0, 4.0: 1.6, 8.0: 0.8, 20.0: 0.2}
_LOG_ODDS = {math.log(odds): stake for odds, stake in _ODDS.items()}
#: Part of the stake that is laid at the first look, and of the rest at each later one.
_FIRST, _LATER = 0.9, 0.03
#: No single block multiplies a stake by more than e to this: one burst convinces nobody.
_MOST = 2.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """How the bet stands, as logarithms: now, and at its best so far."""

    now: float = 0.0
    best: float = 0.0

    @property
    def p_value(self) -> float:
        """Valid at any time; 1: nothing speaks against the release."""
        return math.exp(-max(0.0, self.best))


def from_ranks(
    looks: Iterable[Sequence[ranks.RankSum]], deviation: analysis.Deviation, *, scale: float = 1.0
) -> Evidence:
    """Return the evidence that the first side is higher, lower or either; blocks per look."""
    tilts = list(_signed(_TILTS, deviation))

    def bets(block: ranks.RankSum) -> list[float]:
        total = block.first + block.second + 1
        excess = (block.u - block.mean) / total
        variance = block.first * block.second / 12 / total
        return [tilt * excess - tilt * tilt * variance / 2 for tilt in tilts]

    return _followed(looks, _signed(_TILTS, deviation), bets, scale=scale)


def from_proportions(
    looks: Iterable[Sequence[counts.Pair]],
    deviation: analysis.Deviation,
    *,
    odds: float = 1.0,
    scale: float = 1.0,
) -> Evidence:
    """Return the evidence that the first side has not at most `odds` times the other's odds.

    Lower: not at least so many times; either: not the same, where odds have to be 1.
    """
    allowed, stakes = math.log(odds), _signed(_LOG_ODDS, deviation)
    tilts = [(log_odds, log_odds + allowed) for log_odds in stakes]
    strengths = [(*each, math.expm1(each[1]), math.expm1(-each[1])) for each in tilts]

    def bets(pair: counts.Pair) -> list[float]:
        return _proportion_bets(pair, strengths, allowed)

    return _followed(looks, stakes, bets, scale=scale)


def from_rates(
    looks: Iterable[Sequence[counts.Pair]],
    deviation: analysis.Deviation,
    *,
    ratio: float = 1.0,
    scale: float = 1.0,
) -> Evidence:
    """Return the evidence that the first side's rate is not `ratio` times the other's.

    Valid for proportions with a ratio as well; at high ones it sees little.
    """

    stakes = _signed(_LOG_ODDS, deviation)
    strengths = [(log_odds, math.expm1(log_odds)) for log_odds in stakes]

    def bets(pair: counts.Pair) -> list[float]:
        first, events, chance = pair.first.events, pair.events, pair.chance(ratio)
        return [
            first * log_odds - events * math.log1p(chance * more) for log_odds, more in strengths
        ]

    return _followed(looks, stakes, bets, scale=scale)


def _proportion_bets(
    pair: counts.Pair, strengths: Sequence[tuple[float, float, float, float]], allowed: float
) -> list[float]:
    """Return the logarithms of the bets; each bound is fair, so the lowest may be taken.

    At other odds than 1 the generating function is M(tilt + allowed) / M(allowed), of which
    the lower one is at least exp(mean * allowed) (Jensen).

    Args:
        pair: What is bet on.
        strengths: For each bet the logarithm of its odds, its tilt, and by how much more than 1
            time (less, if negative) the tilt, and its opposite, multiply.
        allowed: The logarithm of the odds that are.
    """
    log1p = math.log1p
    first, second, drawn = pair.first.exposure, pair.second.exposure, pair.first.events
    total = first + second
    events = min(pair.events, total)
    share, chance, others = events / total, first / total, total - events
    usual = events * chance * allowed
    return [
        drawn * log_odds
        - min(
            events * log1p(chance * more),
            first * log1p(share * more),
            first * tilt + others * log1p(chance * less),
            events * tilt + second * log1p(share * less),
        )
        + usual
        for log_odds, tilt, more, less in strengths
    ]


def above_proportion(
    looks: Iterable[Sequence[counts.Count]], limit: float, *, scale: float = 1.0
) -> Evidence:
    """Return the evidence that the true proportion is above `limit` (0: one event shows it)."""
    strengths = [(odds, math.log1p(limit * math.expm1(odds))) for odds in _LOG_ODDS]
    return _followed(
        looks,
        _LOG_ODDS,
        lambda count: [count.events * odds - count.exposure * usual for odds, usual in strengths],
        is_impossible=lambda count: limit <= 0 < count.events,
        scale=scale,
    )


def below_proportion(
    looks: Iterable[Sequence[counts.Count]], limit: float, *, scale: float = 1.0
) -> Evidence:
    """Return the evidence that the true proportion is below `limit`."""
    others = (
        [counts.Count(max(0.0, block.exposure - block.events), block.exposure) for block in blocks]
        for blocks in looks
    )
    return above_proportion(others, 1 - limit, scale=scale)


def above_rate(
    looks: Iterable[Sequence[counts.Count]], limit: float, *, scale: float = 1.0
) -> Evidence:
    """Return the evidence that the true rate is above `limit` per unit of exposure."""
    strengths = [(odds, math.expm1(odds)) for odds in _LOG_ODDS]

    def bets(count: counts.Count) -> list[float]:
        usual = limit * count.exposure
        return [count.events * odds - usual * more for odds, more in strengths]

    return _followed(
        looks,
        _LOG_ODDS,
        bets,
        is_impossible=lambda count: limit <= 0 < count.events,
        scale=scale,
    )


def below_rate(
    looks: Iterable[Sequence[counts.Count]], limit: float, *, scale: float = 1.0
) -> Evidence:
    """Return the evidence that the true rate is below `limit` per unit of exposure."""
    strengths = [(odds, math.expm1(-odds)) for odds in _LOG_ODDS]

    def bets(count: counts.Count) -> list[float]:
        usual = limit * count.exposure
        return [-count.events * odds - usual * less for odds, less in strengths]

    return _followed(looks, _LOG_ODDS, bets, scale=scale)


Block = TypeVar("Block", counts.Pair, counts.Count, ranks.RankSum)


def _followed(
    looks: Iterable[Sequence[Block]],
    stakes: Mapping[float, float],
    bets: Callable[[Block], Sequence[float]],
    is_impossible: Callable[[Block], bool] = lambda _: False,
    *,
    scale: float = 1.0,
) -> Evidence:
    """Follow bets of some strengths, each with its part of what is laid, from look to look.

    Most of the stake is laid from the first look on, some of it at each later one; `scale` divides
    what a look says. `bets` are the logarithms of what a block makes of each stake.
    """
    every = math.fsum(stakes.values())
    shares = [math.log(part / every) for part in stakes.values()]
    held: list[float] = [-math.inf] * len(shares)
    unlaid, now, best = 1.0, 0.0, 0.0
    for number, blocks in enumerate(looks, 1):
        laid = _FIRST if number == 1 else unlaid * _LATER
        unlaid -= laid
        for block in blocks:
            if is_impossible(block):
                return Evidence(math.inf, math.inf)
        added = math.log(laid)
        won = _won(list(map(bets, blocks)), scale) if blocks else [0.0] * len(shares)
        held = [
            logarithms.of_two(stake, added + share) + more
            for stake, share, more in zip(held, shares, won, strict=True)
        ]
        now = logarithms.total([math.log(unlaid), *held])
        best = max(best, now)
    return Evidence(now, best)


def _won(said: Sequence[Sequence[float]], scale: float) -> list[float]:
    """Return what a look makes of each stake: the blocks together, none of them too much."""
    return [
        sum([part if (part := bet / scale) < _MOST else _MOST for bet in column])
        for column in zip(*said, strict=True)
    ]


def _signed(bets: Mapping[float, float], deviation: analysis.Deviation) -> Mapping[float, float]:
    lower = {-strength: part for strength, part in bets.items()}
    match deviation:
        case analysis.Deviation.HIGH:
            return bets
        case analysis.Deviation.LOW:
            return lower
        case analysis.Deviation.EITHER:
            return {**bets, **lower}
