"""How much more looks scatter than independent events would: the scale of their variance.

Errors come in bursts, and the next minute is like this one. A test that believes each request is
a draw of its own condemns such traffic for its weather. Looks are *units*: how far they are
apart tells the variance there is, of single looks and of runs of two, four, eight, which
grow apart where looks remember those before. Of runs the middle one tells, so that a release that
turns bad late does not hide behind the jump it makes.

Until there are enough looks it is assumed that ratios scatter a little (`_PRIOR`), which matters
where there is much traffic only: few events scatter more by themselves.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

#: The assumed standard deviation of the logarithm of a ratio from look to look, and how many
#: looks the assumption is worth.
_PRIOR, _WORTH = 0.3, 4.0
#: Fewest runs whose distances tell anything.
_FEWEST = 6
#: The middle square of a standard normal variable.
_MIDDLE = 0.455


@dataclass(frozen=True, slots=True)
class Unit:
    """One look at one cluster: an excess, and the variance that it should have."""

    excess: float
    variance: float


def scale(series: Sequence[Sequence[Unit]]) -> float:
    """Return how many times its variance the sum of the excesses has; at least 1.

    Each of the series is that of one cluster, in the order of time.
    """
    runs = [[unit for unit in units if unit.variance > 0] for units in series]
    looks = sum(map(len, runs))
    if not looks:
        return 1.0
    found = _of_looks(runs)
    while True:
        runs = [_in_pairs(units) for units in runs]
        if max(map(len, runs)) < _FEWEST:
            return found
        found = max(found, _of_runs(runs))


def _of_looks(series: Sequence[Sequence[Unit]]) -> float:
    """Return the scale of single looks: the great ones count most, as they do in the test."""
    variance = math.fsum(unit.variance for units in series for unit in units)
    each = variance / sum(map(len, series))
    free = sum(len(units) - 1 for units in series if units)
    squares = 0.0
    for units in series:
        if len(units) > 1:
            effect = math.fsum(unit.excess for unit in units) / math.fsum(
                unit.variance for unit in units
            )
            squares += math.fsum((unit.excess - effect * unit.variance) ** 2 for unit in units)
    assumed = 1 + _PRIOR**2 * each
    return max(1.0, (_WORTH * assumed + squares / each) / (_WORTH + free))


def _of_runs(series: Sequence[Sequence[Unit]]) -> float:
    """Return the scale of runs of looks, by their middle: one that turned bad is no weather."""
    squares = []
    for units in series:
        if len(units) >= _FEWEST:
            effect = statistics.median(unit.excess / unit.variance for unit in units)
            squares += [
                (unit.excess - effect * unit.variance) ** 2 / unit.variance for unit in units
            ]
    return statistics.median(squares) / _MIDDLE if squares else 1.0


def _in_pairs(units: Sequence[Unit]) -> list[Unit]:
    return [
        Unit(one.excess + other.excess, one.variance + other.variance)
        for one, other in zip(units[::2], units[1::2], strict=False)
    ]
