"""Which clusters differ from the others more than chance explains.

Each cluster's effect (not its level, which regions differ in anyway) is held against that of all
the others together. The chance of naming any cluster of a fleet that is alike is about one in a
hundred per look; naming decides nothing by itself.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import NormalDist

from volary.analysis import checks, counts, evidence, looks, ranks
from volary.model import analysis
from volary.model.analysis import Deviation, Kind, Result

_CHANCE = 0.01
_NORMAL = NormalDist()

Cells = list[looks.Cell]


@dataclass(frozen=True, slots=True)
class _Fit:
    """How well a cluster fits the others, and how far it is from no difference."""

    p_value: float
    strength: float


Test = Callable[[Cells, Cells], _Fit]


def find(rule: analysis.Rule, series: Sequence[analysis.Series], now: datetime) -> tuple[str, ...]:
    """Return the targets that stand out, in the order of `series`."""
    found = {each.target: _usable(rule, each, now) for each in series}
    measured = {target: cells for target, cells in found.items() if cells}
    if len(measured) < 2:
        return ()
    if not rule.strategy.compares and rule.kind is Kind.VALUE:
        return _mostly_outside(rule, measured, now)
    return _one_by_one(_test(rule), measured)


def _one_by_one(test: Test, measured: Mapping[str, Cells]) -> tuple[str, ...]:
    """Name the cluster that fits worst, and look again without it: it would hide the others.

    Of two that differ from each other the one that is further from "no difference" is named.
    """
    level = _CHANCE / len(measured)
    left = dict(measured)
    while len(left) > 1:
        fits = {target: test(cells, _others(left, target)) for target, cells in left.items()}
        worst = min(fits, key=lambda target: (fits[target].p_value, -fits[target].strength))
        if fits[worst].p_value >= level:
            break
        del left[worst]
    return tuple(target for target in measured if target not in left)


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


def _test(rule: analysis.Rule) -> Test:
    if not rule.strategy.compares:
        return _count_against_others
    if rule.kind is Kind.VALUE:
        return lambda cells, others: _superiority_against_others(rule, cells, others)
    return _ratio_against_others


def _count_against_others(cells: Cells, others: Cells) -> _Fit:
    pair = counts.Pair(
        counts.total([cell.judged.count for cell in cells]),
        counts.total([cell.judged.count for cell in others]),
    )
    p_value = counts.proportion_tails([pair]).p_value(Deviation.EITHER)
    return _Fit(p_value, pair.first.rate)


def _superiority_against_others(rule: analysis.Rule, cells: Cells, others: Cells) -> _Fit:
    own = ranks.estimate(evidence.ranked(rule, [cells])[0])
    rest = ranks.estimate(evidence.ranked(rule, [others])[0])
    p_value = _p_value(own.value - rest.value, own.variance + rest.variance)
    return _Fit(p_value, abs(own.value - 0.5))


def _ratio_against_others(cells: Cells, others: Cells) -> _Fit:
    """Compare the logarithms of both ratios; half an event more keeps them finite."""
    value, variance = counts.log_ratio(evidence.paired([cells])[0])
    rest, rest_variance = counts.log_ratio(evidence.paired([others])[0])
    return _Fit(_p_value(value - rest, variance + rest_variance), abs(value))


def _p_value(difference: float, variance: float) -> float:
    if variance <= 0:
        return 1.0 if difference == 0 else 0.0
    return 2 * _NORMAL.cdf(-abs(difference) / math.sqrt(variance))
