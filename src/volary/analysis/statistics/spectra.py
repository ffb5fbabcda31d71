"""How looks go up and down: their power at each frequency, and which weather that fits.

The frequencies are cosines of 1, 2, 3, … half periods over all looks. Independent events have the
same power in each of them; what remembers the looks before has it in the slow ones. A level that
stays the same is in none, so an effect is no scatter. One step to another level is in the slow ones
like weather; so looks are held against both, weather alone and weather beside a step, which is
less likely beforehand (`_STEP`): a release that turns bad does not hide behind its own jump.
"""

import functools
import itertools
import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from volary.analysis.statistics import logarithms

#: The logarithm of how likely a step is, before any look; and the fewest looks in which one is
#: looked for, as many of them before it as here.
_STEP, _FEWEST, _BEFORE = -6.0, 6, 2
#: The frequencies above are taken as one.
_FREQUENCIES = 32


class Unit(NamedTuple):
    """One look at one cluster: an excess over what is expected, and the variance it should have.

    There are thousands, by which results are found again: hence no dataclass.
    """

    excess: float
    variance: float


@dataclass(frozen=True, slots=True)
class Spectrum:
    """The power of looks at each frequency; 1 on average where events are independent."""

    looks: int
    #: The variance that a look should have, on average.
    variance: float
    powers: Sequence[float]
    #: The same without the step that explains most; None: too few looks, or none is looked for.
    stepless: Sequence[float] | None = None

    def log_likelihoods(self, weathers: Iterable[tuple[float, float]]) -> list[float]:
        """Return how well the looks fit each weather, as a logarithm.

        Args:
            weathers: The variance of the logarithm of the rate of each, and its memory: the
                correlation of neighbouring looks.
        """
        numbers = _numbers(self.looks)
        powers = list(map(operator.mul, numbers, self.powers))
        stepless = None
        if self.stepless is not None:
            stepless = list(map(operator.mul, numbers, self.stepless))
        found = []
        for part, memory in weathers:
            more = part * self.variance
            wanted = [1 + more * each for each in _shape(self.looks, memory)]
            size = math.fsum(map(operator.mul, numbers, map(math.log, wanted)))
            fit = -(size + math.fsum(map(operator.truediv, powers, wanted))) / 2
            if stepless is not None:
                beside = -(size + math.fsum(map(operator.truediv, stepless, wanted))) / 2
                fit = logarithms.total((fit, _STEP + beside))
            found.append(fit)
        return found


def spectrum(units: Sequence[Unit], *, with_step: bool) -> Spectrum:
    """Return the spectrum of looks that have a variance each, in the order of time."""
    variance = math.fsum(unit.variance for unit in units) / len(units)
    stepless = None
    if with_step and len(units) >= _FEWEST:
        at = _step(units)
        stepless = _powers([*_rest(units[:at]), *_rest(units[at:])], variance)
    return Spectrum(len(units), variance, _powers(_rest(units), variance), stepless)


def _rest(units: Sequence[Unit]) -> list[float]:
    """Return what is left of the excesses without an effect that stays the same."""
    effect = math.fsum(unit.excess for unit in units) / math.fsum(unit.variance for unit in units)
    return [unit.excess - effect * unit.variance for unit in units]


def _step(units: Sequence[Unit]) -> int:
    """Return before which look the level changes, where it does: both parts differ most there."""
    excesses = list(itertools.accumulate(unit.excess for unit in units))
    variances = list(itertools.accumulate(unit.variance for unit in units))

    def apart(at: int) -> float:
        before, one = excesses[at - 1], variances[at - 1]
        after, other = excesses[-1] - before, variances[-1] - one
        return (before * other - after * one) ** 2 / (one * other)

    return max(range(_BEFORE, len(units)), key=apart)


def _powers(rest: Sequence[float], variance: float) -> list[float]:
    looks = len(rest)
    waves = [2 / looks * sum(map(operator.mul, rest, wave)) ** 2 for wave in _waves(looks)]
    powers = [wave / variance for wave in waves]
    if looks - 1 > _FREQUENCIES:
        left = math.fsum(map(operator.mul, rest, rest)) - math.fsum(waves)
        powers.append(max(0.0, left) / variance / (looks - 1 - _FREQUENCIES))
    return powers


@functools.lru_cache(maxsize=128)
def _waves(looks: int) -> list[list[float]]:
    return [
        [math.cos(math.pi * number * (at + 0.5) / looks) for at in range(looks)]
        for number in range(1, min(looks - 1, _FREQUENCIES) + 1)
    ]


@functools.lru_cache(maxsize=128)
def _numbers(looks: int) -> list[float]:
    """Return how many frequencies each power is of."""
    own = min(looks - 1, _FREQUENCIES)
    return [1.0] * own + [float(looks - 1 - own)] * (looks - 1 > own)


@functools.lru_cache(maxsize=512)
def _shape(looks: int, memory: float) -> list[float]:
    """Return how the power of weather is spread over the frequencies; without a memory: evenly."""
    every = [
        (1 - memory**2) / (1 - 2 * memory * math.cos(math.pi * number / looks) + memory**2)
        for number in range(1, looks)
    ]
    own, others = every[:_FREQUENCIES], every[_FREQUENCIES:]
    return [*own, math.fsum(others) / len(others)] if others else own


@functools.lru_cache(maxsize=512)
def correlation(looks: int, memory: float) -> float:
    """Return the mean correlation of any two of the looks, each with itself among them."""
    others = math.fsum((1 - apart / looks) * memory**apart for apart in range(1, looks))
    return (1 + 2 * others) / looks
