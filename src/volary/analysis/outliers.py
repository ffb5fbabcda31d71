"""Which clusters differ from the others more than chance explains.

Each cluster's effect (not its level, which regions differ in anyway) is held against that of all
the others together. The chance of naming any cluster of a fleet that is alike is about one in a
hundred per look; naming decides nothing by itself.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from statistics import NormalDist

from volary.analysis import checks, counts, evidence, looks, ranks
from volary.model import analysis
from volary.model.analysis import Deviation, Kind, Result

_CHANCE = 0.01
_NORMAL = NormalDist()

Cells = list[looks.Cell]


def find(rule: analysis.Rule, series: Sequence[analysis.Series], now: datetime) -> tuple[str, ...]:
    """Return the targets that stand out, in the order of `series`."""
    found = {each.target: _usable(rule, each, now) for each in series}
    measured = {target: cells for target, cells in found.items() if cells}
    if len(measured) < 2:
        return ()
    if not rule.strategy.compares and rule.kind is Kind.VALUE:
        return _mostly_outside(rule, measured, now)
    differs = _differs(rule)
    level = _CHANCE / len(measured)
    return tuple(
        target
        for target in measured
        if differs(measured[target], _others(measured, target)) < level
    )


def _usable(rule: analysis.Rule, series: analysis.Series, now: datetime) -> Cells:
    seen = looks.gather(rule, [series])
    return [cell for look in seen if look.time <= now for cell in look.usable]


def _others(measured: Mapping[str, Cells], target: str) -> Cells:
    return [cell for other, cells in measured.items() if other != target for cell in cells]


def _mostly_outside(
    rule: analysis.Rule, measured: Mapping[str, Cells], now: datetime
) -> tuple[str, ...]:
    """Name those that mostly fail where most of the others mostly do not."""
    failing = tuple(target for target, cells in measured.items() if _fails_mostly(rule, cells, now))
    return failing if 2 * len(failing) < len(measured) else ()


def _fails_mostly(rule: analysis.Rule, cells: Cells, now: datetime) -> bool:
    results = [checks.of_look(rule, looks.Look(now, (cell,))).result for cell in cells]
    return 2 * results.count(Result.FAIL) > len(results)


def _differs(rule: analysis.Rule) -> Callable[[Cells, Cells], float]:
    """Return the test whose p-value says how well a cluster fits the others."""
    if not rule.strategy.compares:
        return _count_against_others
    if rule.kind is Kind.VALUE:
        return lambda cells, others: _superiority_against_others(rule, cells, others)
    return _ratio_against_others


def _count_against_others(cells: Cells, others: Cells) -> float:
    pair = counts.Pair(
        counts.total([cell.judged.count for cell in cells]),
        counts.total([cell.judged.count for cell in others]),
    )
    return counts.proportion_tails([pair]).p_value(Deviation.EITHER)


def _superiority_against_others(rule: analysis.Rule, cells: Cells, others: Cells) -> float:
    own = ranks.estimate(evidence.ranked(rule, [cells])[0])
    rest = ranks.estimate(evidence.ranked(rule, [others])[0])
    return _p_value(own.value - rest.value, own.variance + rest.variance)


def _ratio_against_others(cells: Cells, others: Cells) -> float:
    """Compare the logarithms of both ratios; half an event more keeps them finite."""
    (value, variance), (rest, rest_variance) = map(_log_ratio, (cells, others))
    return _p_value(value - rest, variance + rest_variance)


def _log_ratio(cells: Cells) -> tuple[float, float]:
    pairs = evidence.paired([cells])[0]
    return counts.log_ratio(pairs)


def _p_value(difference: float, variance: float) -> float:
    if variance <= 0:
        return 1.0 if difference == 0 else 0.0
    return 2 * _NORMAL.cdf(-abs(difference) / math.sqrt(variance))
