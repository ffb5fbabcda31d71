"""What is expected by what was usual: the same hour of earlier days or weeks. Pure.

The level of each time before is the middle of its values, or its share or rate of events; what is
usual is the middle of those, so one bad week among several moves nothing. It is taken for known:
how much weeks differ is for the rule's tolerance.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from volary.analysis.verdicts import bucket_bounds, clauses
from volary.model import analysis, phrases
from volary.model.analysis import Deviation, Kind, Range, Reading, Role

#: Added to what was counted: none so far does not mean never.
_HALF_AN_EVENT = 0.5


def resolved(rule: analysis.Rule, series: Sequence[analysis.Series]) -> analysis.Rule:
    """Return a rule with the range that its history makes on these clusters; others as they are.

    Without a range nothing is known of the times before.
    """
    rule = bucket_bounds.resolved(rule, series)
    if rule.history is None:
        return rule
    levels = [level for one in series if (level := usual(rule, rule.history, one)) is not None]
    if not levels:
        return replace(rule, expected=None)
    return replace(rule, expected=_range(rule, rule.history, median(levels)))


def usual(rule: analysis.Rule, history: analysis.History, series: analysis.Series) -> float | None:
    """Return what was usual on a cluster; None: nobody knows."""
    levels = list(_levels(rule, history, series))
    return median(levels) if levels else None


def gap(rule: analysis.Rule, series: analysis.Series) -> str:
    """Say that nothing is known of the times before; empty: something is, or need not be."""
    history = rule.history
    if history is None or usual(rule, history, series) is not None:
        return ""
    before = [one for one in series.measurements if one.role is Role.HISTORY]
    why = before[-1].message or "the answer says nothing" if before else "nobody was asked"
    return f"what was usual is not known: {why}"


def words(rule: analysis.Rule, series: Sequence[analysis.Series]) -> str:
    """Say what the range of a rule is made of; empty: it has no history, or nothing is known."""
    history = rule.history
    if history is None or rule.expected is None:
        return ""
    levels = [level for one in series if (level := usual(rule, history, one)) is not None]
    known = sum(len(list(_levels(rule, history, one))) for one in series)
    times = f"{known} of {phrases.count(history.count * len(series), 'time')}"
    return (
        f"; {clauses.amount(rule, median(levels))} is usual, by {times} "
        f"{clauses.span(history.offset)} apart"
    )


def _levels(
    rule: analysis.Rule, history: analysis.History, series: analysis.Series
) -> Iterator[float]:
    for measurement in series.measurements:
        if measurement.role is not Role.HISTORY or not _is_known(rule, measurement):
            continue
        events = sum(measurement.values)
        match rule.kind:
            case Kind.VALUE:
                yield median(measurement.values)
            case Kind.PROPORTION:
                yield min(1.0, (events + _HALF_AN_EVENT) / (sum(measurement.totals) + 1))
            case Kind.RATE:
                yield (events + _HALF_AN_EVENT) / history.window.total_seconds()


def _is_known(rule: analysis.Rule, measurement: analysis.Measurement) -> bool:
    """Whether it says something: what is no measurement now was none then."""
    numbers = (*measurement.values, *measurement.totals)
    if measurement.reading is not Reading.VALUES or not measurement.values:
        return False
    if not all(map(math.isfinite, numbers)):
        return False
    if rule.kind is Kind.VALUE:
        return True
    return min(numbers) >= 0 and (rule.kind is Kind.RATE or sum(measurement.totals) > 0)


def _range(rule: analysis.Rule, history: analysis.History, level: float) -> Range:
    part = history.tolerance * abs(level)
    low = None if rule.deviation is Deviation.HIGH else level - part
    high = None if rule.deviation is Deviation.LOW else level + part
    if rule.kind is Kind.PROPORTION and high is not None:
        high = min(1.0, high)
    return Range(low, high)
