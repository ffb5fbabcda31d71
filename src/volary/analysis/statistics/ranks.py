"""Comparison by rank: Mann-Whitney's U, exact where it is small, and the effect it shows.

Ranks need no assumption about the shape of latencies or error rates, only that without a
difference every order of the values is equally likely. Ties take the mean of their ranks, and
the exact distribution is that of the tied ranks: with ties it is not symmetric, so the
two-sided p-value is twice the smaller tail (PipeCD mirrors one tail, which gives p = 0 for
{2, 1, 3, 5} against five ones).
"""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from statistics import NormalDist
from typing import NamedTuple

from volary.model import analysis

#: Up to so many values on each side the distribution is computed, above it is approximated
#: (PipeCD's limits).
_EXACT, _EXACT_TIED = 50, 25
#: Sums that are worked out, over blocks, before the approximation takes over.
_EXACT_SUMS = 40_000
_NORMAL = NormalDist()
_HALVINGS = 30


@dataclass(frozen=True, slots=True)
class RankSum:
    """The ranks of two samples, as far as the tests need them."""

    #: How many values each side has.
    first: int
    second: int
    #: Pairs in which the first side is higher, ties counted half.
    u: float
    #: Sizes of the groups of equal values, in their order; empty without ties.
    groups: tuple[int, ...] = ()

    @property
    def mean(self) -> float:
        """U when there is no difference."""
        return self.first * self.second / 2

    @property
    def variance(self) -> float:
        """Of U when there is no difference, given the ties."""
        total = self.first + self.second
        tied = sum(size**3 - size for size in self.groups)
        correction = tied / (total * (total - 1)) if tied else 0.0
        return self.first * self.second / 12 * (total + 1 - correction)

    @property
    def superiority(self) -> float:
        """How often a value of the first side exceeds one of the second; 0.5: alike."""
        return self.u / (self.first * self.second)


@dataclass(frozen=True, slots=True)
class Tails:
    """One-sided p-values of a statistic."""

    less: float
    greater: float

    def p_value(self, deviation: analysis.Deviation) -> float:
        """Return the p-value against "no difference in the direction of `deviation`"."""
        match deviation:
            case analysis.Deviation.LOW:
                return self.less
            case analysis.Deviation.HIGH:
                return self.greater
            case analysis.Deviation.EITHER:
                return min(1.0, 2 * min(self.less, self.greater))


def rank_sum(first: Sequence[float], second: Sequence[float]) -> RankSum:
    """Rank two samples that are not empty; infinities are the outermost ranks.

    Raises:
        ValueError: a sample is empty or holds NaN, which has no rank.
    """
    if not first or not second:
        raise ValueError("a sample is empty")
    ordered = sorted([*first, *second])
    total = len(ordered)
    last = dict(zip(ordered, count(1), strict=False))
    if any(map(math.isnan, ordered)):
        raise ValueError("NaN has no rank")
    doubled = 2 * sum(map(last.__getitem__, first))
    groups: tuple[int, ...] = ()
    if len(last) < total:
        # The first rank of a group follows the last one of the group before it.
        groups = tuple(map(operator.sub, last.values(), [0, *last.values()]))
        middle = dict(zip(last, _doubled_middles(groups), strict=True))
        doubled = sum(map(middle.__getitem__, first))
    u = (doubled - len(first) * (len(first) + 1)) / 2
    return RankSum(len(first), len(second), u, groups)


def _doubled_middles(groups: Sequence[int]) -> list[int]:
    middles, before = [], 0
    for size in groups:
        middles.append(2 * before + size + 1)
        before += size
    return middles


def tails(blocks: Sequence[RankSum]) -> Tails:
    """Return both p-values of one comparison, or of several taken together.

    One block: exact for small samples, otherwise the tie-corrected normal approximation.
    Several (clusters, looks): van Elteren's test, which ranks within each block, so that
    blocks may differ as they like; exact as long as that is few enough sums.
    """
    if len(blocks) == 1 and _is_small(blocks[0]):
        return _exact(blocks[0])
    if all(map(_is_small, blocks)) and (exact := _exact_sum(blocks)):
        return exact
    weights = [1.0] if len(blocks) == 1 else [_weight(block) for block in blocks]
    pairs = list(zip(weights, blocks, strict=True))
    excess = sum(weight * (block.u - block.mean) for weight, block in pairs)
    deviation = math.sqrt(sum(weight * weight * block.variance for weight, block in pairs))
    return normal_tails(excess, deviation, step=min(weights))


def normal_tails(excess: float, deviation: float, *, step: float = 1.0) -> Tails:
    """Return both p-values of an excess over the mean, where it moves in steps."""
    if deviation == 0:
        return Tails(1.0, 1.0)
    half = step / 2  # towards the middle
    return Tails(
        less=_NORMAL.cdf((excess + half) / deviation),
        greater=_NORMAL.cdf((half - excess) / deviation),
    )


def _is_small(ranks: RankSum) -> bool:
    return max(ranks.first, ranks.second) <= (_EXACT_TIED if ranks.groups else _EXACT)


def _weight(ranks: RankSum) -> float:
    return 1 / (ranks.first + ranks.second + 1)


def _exact_sum(blocks: Sequence[RankSum]) -> Tails | None:
    """Return the exact tails of the weighted sum; None when it has too many values."""
    scale = math.lcm(*(block.first + block.second + 1 for block in blocks))
    steps = [scale // (block.first + block.second + 1) for block in blocks]
    chances: dict[int, float] = {0: 1.0}
    for step, ranked_block in zip(steps, blocks, strict=True):
        ways = _ways(ranked_block)
        if len(chances) * len(ways) > _EXACT_SUMS:
            return None
        chances = _added(chances, step, ways)
    at = sum(step * round(2 * block.u) for step, block in zip(steps, blocks, strict=True))
    less = math.fsum(chance for value, chance in chances.items() if value <= at)
    greater = math.fsum(chance for value, chance in chances.items() if value >= at)
    return Tails(min(1.0, less), min(1.0, greater))


def _added(chances: dict[int, float], step: int, ways: Sequence[int]) -> dict[int, float]:
    every = sum(ways)
    after: dict[int, float] = {}
    for twice_u, number in enumerate(ways):
        if number:
            share = number / every
            for value, chance in chances.items():
                reached = value + step * twice_u
                after[reached] = after.get(reached, 0.0) + chance * share
    return after


def _ways(ranks: RankSum) -> Sequence[int]:
    """Count the ways to reach twice U = 0, 1, 2, …"""
    if ranks.groups:
        return tied_distribution(ranks.first, ranks.groups)
    every = [0] * (2 * ranks.first * ranks.second + 1)
    every[::2] = distribution(ranks.first, ranks.second)
    return every


def _exact(ranks: RankSum) -> Tails:
    if ranks.groups:
        ways, at = tied_distribution(ranks.first, ranks.groups), round(2 * ranks.u)
    else:
        ways, at = distribution(ranks.first, ranks.second), round(ranks.u)
    every = math.comb(ranks.first + ranks.second, ranks.first)
    return Tails(sum(ways[: at + 1]) / every, sum(ways[at:]) / every)


@lru_cache(maxsize=64)
def distribution(first: int, second: int) -> tuple[int, ...]:
    """Count the orders of two samples without ties in which U is 0, 1, 2, …

    Their generating function is the product of (1 - q^(second + j)) / (1 - q^j). It is kept in
    one integer with a slot per coefficient, where a factor is a shift and a subtraction;
    dividing by 1 - q^j is multiplying with (1 + q^j)(1 + q^2j)(1 + q^4j) …
    """
    slots = first * second + 1
    width = _width(first + second)
    mask = (1 << width * slots) - 1
    packed = 1
    for j in range(1, first + 1):
        packed = (packed - (packed << width * (second + j))) & mask
        step = j
        while step < slots:
            packed = (packed + (packed << width * step)) & mask
            step *= 2
    return _unpacked(packed, slots, width)


@lru_cache(maxsize=64)
def tied_distribution(first: int, groups: tuple[int, ...]) -> tuple[int, ...]:
    """Count the ways to draw `first` values so that twice U is 0, 1, 2, …

    `groups` are the sizes of the groups of equal values. One polynomial per number of values
    drawn so far, each kept in one integer as in `distribution`.
    """
    total = sum(groups)
    width = _width(total)
    drawn = [1] + [0] * first
    before = 0
    for size in groups:
        drawn = _draw(drawn, size, before, width)
        before += size
    return _unpacked(drawn[first], 2 * first * (total - first) + 1, width)


def _draw(drawn: list[int], size: int, before: int, width: int) -> list[int]:
    """Draw none, one or more of the next `size` equal values.

    Each of them adds, to twice U, two for every lower value that was not drawn, and one for
    every equal one that is not.
    """
    after = [0] * len(drawn)
    for already, ways in enumerate(drawn[: before + 1]):
        for more in range(min(size, len(drawn) - 1 - already) + 1):
            added = more * (2 * (before - already) + size - more)
            after[already + more] += math.comb(size, more) * ways << (width * added)
    return after


def _unpacked(packed: int, slots: int, width: int) -> tuple[int, ...]:
    size = width // 8
    data = packed.to_bytes(slots * size, "little")
    return tuple(int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size))


def _width(total: int) -> int:
    """Return the bits of a slot, whole bytes: no coefficient exceeds 2 ** `total`."""
    return (total // 8 + 1) * 8


class Weighed(NamedTuple):
    """A block as estimates over blocks take it.

    Whoever asks about many parts of the same blocks works it out only once.
    """

    #: How much it says.
    weight: float
    superiority: float
    sizes: tuple[int, int]


def weighed(block: RankSum) -> Weighed:
    """Return what estimates need of a block."""
    weight = block.first * block.second / (block.first + block.second + 1)
    return Weighed(weight, block.superiority, (block.first, block.second))


def superiority(blocks: Sequence[RankSum]) -> float:
    """Return the chance that the first side is higher, over blocks weighed by what they say."""
    every = list(map(weighed, blocks))
    return _superiority(_shares(every), every)


def _superiority(shares: Sequence[float], blocks: Sequence[Weighed]) -> float:
    return sum([share * block.superiority for share, block in zip(shares, blocks, strict=True)])


def estimate(blocks: Sequence[Weighed]) -> tuple[float, float]:
    """Return the superiority over blocks and its variance, which is never quite zero."""
    # Half a pair towards the middle, so that sides wholly apart do not seem certain.
    pairs = sum([first * second for _, _, (first, second) in blocks])
    shares = _shares(blocks)
    value = _superiority(shares, blocks)
    inside = (value * pairs + 0.5) / (pairs + 1)
    return value, _variance_of(_parts(shares, blocks), inside)


def _parts(shares: Sequence[float], blocks: Sequence[Weighed]) -> dict[tuple[int, int], float]:
    """Return the squares of the shares, added up by sizes: most looks have the same."""
    parts: dict[tuple[int, int], float] = {}
    for share, (_, _, sizes) in zip(shares, blocks, strict=True):
        parts[sizes] = parts.get(sizes, 0.0) + share * share
    return parts


def _variance_of(parts: dict[tuple[int, int], float], value: float) -> float:
    return sum(square * _variance(sizes, value) for sizes, square in parts.items())


def deviation(blocks: Sequence[RankSum], value: float) -> float:
    """Return the standard deviation of `superiority` where it is truly `value`."""
    every = list(map(weighed, blocks))
    return math.sqrt(_variance_of(_parts(_shares(every), every), value))


def _shares(blocks: Sequence[Weighed]) -> list[float]:
    total = sum([block.weight for block in blocks])
    return [block.weight / total for block in blocks]


def interval(blocks: Sequence[RankSum], *, confidence: float = 0.95) -> tuple[float, float]:
    """Return an interval for `superiority` (Newcombe 2006, method 5, per block).

    It keeps to 0-1 and has a width also where one side is wholly above the other.
    """
    z = _NORMAL.inv_cdf((1 + confidence) / 2)
    every = list(map(weighed, blocks))
    shares = _shares(every)
    seen, parts = _superiority(shares, every), _parts(shares, every)

    def is_plausible(value: float) -> bool:
        return (value - seen) ** 2 <= z * z * _variance_of(parts, value)

    return _edge(is_plausible, seen, 0.0), _edge(is_plausible, seen, 1.0)


def _variance(sizes: tuple[int, int], value: float) -> float:
    others = sum(sizes) / 2 - 1
    spread = 1 + others * ((1 - value) / (2 - value) + value / (1 + value))
    return value * (1 - value) * spread / math.prod(sizes)


def _edge(is_plausible: Callable[[float], bool], inside: float, outside: float) -> float:
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if is_plausible(middle):
            inside = middle
        else:
            outside = middle
    return inside
