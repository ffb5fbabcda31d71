"""How much more looks scatter than independent events would: the scale of their variance.

Errors come in bursts, and the next minute is like this one. A test that believes each request is
a draw of its own condemns such traffic for its weather. So the rate of each side is taken to go up
and down around its mean, by some part and with some memory from look to look (`_PARTS`,
`_MEMORIES`). Each pair of these says how many times its variance a sum of looks has, the more of
them the more where there is a memory; and how likely each is, after the looks so far, says which to
believe. That is the mean over all of them: a variance that few looks tell is no known one.

What both sides have in common (an outage behind both) cancels out where they are compared, and
no test has to be scaled for it. Each side by itself tells more than their difference, most of
all where one has hardly an event, but only where the two go up and down independently. So both
are thought possible (`_INDEPENDENT`).

While looks are few, what is assumed decides: mostly that there is no weather. Where there is
little traffic, weather is less than what chance does anyway, and it is not in the way; where there
is much, it takes some looks to believe what they show.
"""

import dataclasses
import functools
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from volary.analysis.statistics import logarithms, spectra

#: Variances of the logarithm of the ratio of both sides that are thought possible, and how likely
#: each is before any look; a single side has half of it.
_PARTS = {0.0: 27.0, 0.1: 0.5, 0.3: 0.8, 1.0: 1.2, 3.0: 2.0, 10.0: 1.5, 40.0: 0.05}
#: Correlations of neighbouring looks, and how likely each is: slow weather does the most harm.
#: The last one wanders as slowly as an analysis is long.
_MEMORIES = {0.0: 1.0, 0.5: 1.0, 0.95: 4.0}
_SLOW = 0.95
#: The same against a limit. What stays above one for as long as the analysis is above it, so only
#: weather that passes is an excuse.
_LIMITED_PARTS = {0.0: 10.0, 0.1: 3.0, 0.3: 3.0, 1.0: 1.0, 3.0: 0.3, 10.0: 0.1, 40.0: 0.01}
_LIMITED_MEMORIES = {0.0: 1.0, 0.4: 1.0}
#: How likely it is that both sides have weather of their own, and none in common.
_INDEPENDENT = 0.6
#: More looks than this are taken together in pairs.
_LOOKS = 128
#: So many fits are kept: of each cluster one for each side, for both and for their comparison.
_KEPT = 1024


@dataclass(frozen=True, slots=True)
class Sides:
    """One look at the sides, each with its excess over the mean of that side."""

    first: spectra.Unit
    second: spectra.Unit
    #: A third side that is measured too; it is in no test, and tells of the weather.
    third: spectra.Unit | None = None

    @property
    def each(self) -> tuple[spectra.Unit, ...]:
        """All of them."""
        both = (self.first, self.second)
        return both if self.third is None else (*both, self.third)


@dataclass(frozen=True, slots=True)
class Series:
    """The looks at one cluster, in the order of time."""

    #: What a test adds up: of a comparison, or of the one side that is held to a limit.
    units: Sequence[spectra.Unit]
    #: The variance that a look has where there is no difference.
    usual: float
    #: Where events are compared; of values only the comparison is known.
    sides: Sequence[Sides] = ()
    #: How much of the variance of the logarithm of a ratio its weather has.
    part: float = 1.0
    #: It is held to a limit, not compared.
    is_limited: bool = False


@dataclass(frozen=True, slots=True)
class Weather:
    """How looks scatter."""

    #: How many times its variance the sum of the excesses has; at least 1.
    scale: float = 1.0
    #: How likely it is that what was measured wanders as slowly as the analysis is long.
    slowness: float = 0.0


@dataclass(frozen=True, slots=True)
class _Model:
    """Weather that is thought possible."""

    part: float
    memory: float
    #: The logarithm of how likely it is before any look.
    prior: float


def _models(parts: Mapping[float, float], memories: Mapping[float, float]) -> list[_Model]:
    """Return what is thought possible; without weather there is nothing to remember."""
    every, all_memories = sum(parts.values()), sum(memories.values())
    return [_Model(0.0, 0.0, math.log(parts[0.0] / every))] + [
        _Model(part, memory, math.log(likely / every * among / all_memories))
        for part, likely in parts.items()
        for memory, among in memories.items()
        if part
    ]


_MODELS = _models(_PARTS, _MEMORIES)
_LIMITED_MODELS = _models(_LIMITED_PARTS, _LIMITED_MEMORIES)


def weather(series: Iterable[Series]) -> Weather:
    """Return how the looks at some clusters scatter, each of which has weather of its own."""
    known = [one for one in map(_condensed, series) if one.units]
    if not known:
        return Weather()
    models = _LIMITED_MODELS if known[0].is_limited else _MODELS
    likelihoods = _log_likelihoods(known, models)
    every = logarithms.total(likelihoods)
    chances = [math.exp(likelihood - every) for likelihood in likelihoods]
    return Weather(
        math.fsum(
            chance * _scale(known, model) for chance, model in zip(chances, models, strict=True)
        ),
        math.fsum(
            chance for chance, model in zip(chances, models, strict=True) if model.memory >= _SLOW
        ),
    )


def _condensed(series: Series) -> Series:
    """Leave out looks in which nothing could happen, and take many looks together."""
    kept = [at for at, unit in enumerate(series.units) if unit.variance > 0]
    units = [series.units[at] for at in kept]
    sides = [series.sides[at] for at in kept] if series.sides else []
    usual = series.usual
    while len(units) > _LOOKS:
        units = [sum_of(both) for both in zip(units[::2], units[1::2], strict=False)]
        sides = [
            Sides(*map(sum_of, zip(one.each, other.each, strict=True)))
            for one, other in zip(sides[::2], sides[1::2], strict=False)
        ]
        usual *= 2
    return dataclasses.replace(series, units=units, usual=usual, sides=sides)


def sum_of(units: Iterable[spectra.Unit]) -> spectra.Unit:
    """Return what some looks, or some sides, have together."""
    each = list(units)
    return spectra.Unit(
        math.fsum(unit.excess for unit in each), math.fsum(unit.variance for unit in each)
    )


def difference(one: spectra.Unit, other: spectra.Unit) -> spectra.Unit:
    """Return what the one has more, where both weigh as they do when they are compared."""
    total = one.variance + other.variance
    more = one.excess * other.variance - other.excess * one.variance
    return spectra.Unit(more / total, one.variance * other.variance / total)


def _scale(series: Sequence[Series], model: _Model) -> float:
    """Return how many times its variance the sum over all looks has in such weather."""
    variance = more = 0.0
    for one in series:
        looks = len(one.units)
        own = looks * one.usual
        variance += own
        more += own * own * one.part * model.part * spectra.correlation(looks, model.memory)
    return 1 + more / variance if variance else 1.0


def _log_likelihoods(series: Sequence[Series], models: Sequence[_Model]) -> list[float]:
    """Return how likely each model is after what was measured, as a logarithm."""
    priors = [model.prior for model in models]
    fit = functools.partial(_fit, models)
    compared = fit([one.units for one in series], part=series[0].part)
    if not all(one.sides for one in series):
        return _added(priors, compared)
    sides = [one.sides for one in series]
    # A release changes its own side.
    own = _added(
        fit([[each.first for each in one] for one in sides], part=0.5),
        fit([[each.second for each in one] for one in sides], part=0.5, with_step=False),
    )
    thirds = [[each.third for each in one if each.third] for one in sides]
    if all(thirds):
        own = _added(own, fit(thirds, part=0.5, with_step=False))
        beside = [[_beside(each) for each in one] for one in sides]
        # Of the ratio of one side to the mean of two.
        compared = _added(compared, fit(beside, part=0.75))
    both = fit([[sum_of(each.each) for each in one] for one in sides], part=0.5)
    common = math.log(1 - _INDEPENDENT) + logarithms.total(_added(priors, both))
    alone = math.log(_INDEPENDENT)
    return [
        prior + logarithms.total((alone + each, common + apart))
        for prior, each, apart in zip(priors, own, compared, strict=True)
    ]


def _beside(sides: Sides) -> spectra.Unit:
    assert sides.third is not None
    return difference(sum_of((sides.first, sides.second)), sides.third)


def _added(some: Iterable[float], others: Iterable[float]) -> list[float]:
    return list(map(operator.add, some, others))


def _fit(
    models: Sequence[_Model],
    series: Sequence[Sequence[spectra.Unit]],
    *,
    part: float,
    with_step: bool = True,
) -> list[float]:
    """Return how well the looks of all clusters fit each model, which has `part` of its part."""
    weathers = tuple((part * model.part, model.memory) for model in models)
    found = [_fits(tuple(units), weathers, with_step=with_step) for units in series]
    return [math.fsum(column) for column in zip(*found, strict=True)]


@functools.lru_cache(maxsize=_KEPT)
def _fits(
    units: tuple[spectra.Unit, ...], weathers: tuple[tuple[float, float], ...], *, with_step: bool
) -> list[float]:
    """Return how well the looks of one cluster fit each weather: a variance and a memory.

    Each cluster is judged by itself and with the others, and asked what would have been found.
    """
    return spectra.spectrum(units, with_step=with_step).log_likelihoods(weathers)
