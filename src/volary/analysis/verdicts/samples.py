"""From measurements to looks: what was seen at one moment, side by side.

A look has a *cell* per cluster with the samples of both sides. A cell that cannot be judged
keeps the reason in words instead: no answer, no samples, NaN. Nothing is dropped silently.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import TYPE_CHECKING

from volary.analysis.statistics import counts
from volary.analysis.verdicts import histories
from volary.model import analysis

if TYPE_CHECKING:
    from volary.analysis.verdicts import conditions

#: A counter that is extrapolated may come out a little above what it is counted in.
_EXTRAPOLATED = 1.05
#: Beyond it floats no longer tell one event from none.
_MOST = 2.0**53
_UNCOUNTED = counts.Count(0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Sample:
    """What one side showed at one look."""

    values: tuple[float, ...] = ()
    #: For proportions and rates.
    count: counts.Count = _UNCOUNTED
    variant: str = ""
    #: What else was said of the values, in words.
    note: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cluster at one look."""

    target: str
    judged: Sample = Sample()
    #: Only for a rule that compares.
    reference: Sample = Sample()
    #: Only where both are held against a third side.
    control: Sample = Sample()
    #: Why this cannot be judged; empty: it can.
    problem: str = ""
    #: The problem is that whoever was asked did not answer, or not readably.
    is_error: bool = False
    #: What the conditions of a rule say that has some.
    condition: "conditions.Outcome | None" = None
    #: The range on this cluster, where its history makes one.
    expected: analysis.Range | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """All clusters at one look."""

    time: datetime
    cells: tuple[Cell, ...]

    @property
    def usable(self) -> tuple[Cell, ...]:
        """The cells that can be judged."""
        return tuple(cell for cell in self.cells if not cell.problem)

    @property
    def problem(self) -> str:
        """Why there is nothing to judge; empty: there is."""
        if self.usable:
            return ""
        return next((cell.problem for cell in self.cells), "nothing was measured")

    @property
    def is_error(self) -> bool:
        """Whether there is nothing to judge because somebody did not answer."""
        return not self.usable and any(cell.is_error for cell in self.cells)


def gather(rule: analysis.Rule, series: Sequence[analysis.Series]) -> Sequence[Look]:
    """Return the looks after the warm-up, in their order, over one cluster or many."""
    return merge(
        rule, [(cluster_series, at_cluster(rule, cluster_series)) for cluster_series in series]
    )


def at_cluster(
    rule: analysis.Rule, series: analysis.Series, now: datetime | None = None
) -> tuple[Look, ...]:
    """Return the looks at one cluster after the warm-up, up to `now`, in their order."""
    rule = histories.resolved(rule, [series])
    gap = histories.gap(rule, series)
    # A look is about an interval before it, no part of which may be warm-up.
    begin = series.started + (rule.unjudged + rule.interval if rule.unjudged else rule.unjudged)
    moments: dict[datetime, list[analysis.Measurement]] = {}
    for measurement in series.measurements:
        if measurement.time >= begin and (now is None or measurement.time <= now):
            moments.setdefault(measurement.time, []).append(measurement)
    return tuple(
        Look(
            time,
            (
                Cell(series.target, problem=gap)
                if gap
                else cell(rule, moments[time], target=series.target),
            ),
        )
        for time in sorted(moments)
    )


def merge(
    rule: analysis.Rule, gathered: Sequence[tuple[analysis.Series, Sequence[Look]]]
) -> Sequence[Look]:
    """Make looks at several clusters one.

    They need not look at the same moment: those of the same interval, counted from the
    beginning of each cluster's analysis, are one look.
    """
    if len(gathered) == 1:
        return gathered[0][1]
    looks_by_number: dict[int, list[Look]] = {}
    for series, seen in gathered:
        for look in seen:
            number = round((look.time - series.started) / rule.interval)
            looks_by_number.setdefault(number, []).append(look)
    return tuple(
        Look(
            max(cluster_look.time for cluster_look in same),
            tuple(cell for cluster_look in same for cell in cluster_look.cells),
        )
        for _, same in sorted(looks_by_number.items())
    )


def cell(rule: analysis.Rule, measurements: Iterable[analysis.Measurement], *, target: str) -> Cell:
    """Put the measurements of one look on one cluster side by side."""
    sides: dict[analysis.Role, list[analysis.Measurement]] = {}
    for measurement in measurements:
        sides.setdefault(measurement.role, []).append(measurement)
    if rule.history is not None and rule.expected is None:
        return Cell(target, problem="what was usual is not known")
    samples: dict[analysis.Role, Sample] = {}
    for role in _wanted(rule):
        measured = sides.get(role, [])
        if not measured:
            return Cell(target, problem=f"no measurement of the {role.value} side")
        for measurement in measured:
            if problem := problem_of(rule, measurement):
                is_error = measurement.reading is analysis.Reading.ERROR
                return Cell(target, problem=f"{measurement.variant}: {problem}", is_error=is_error)
        samples[role] = _sample(rule, measured)
    if rule.has_conditions:
        return _with_condition(rule, samples[analysis.Role.JUDGED], target=target)
    reference = samples.get(analysis.Role.REFERENCE, Sample())
    control = samples.get(analysis.Role.CONTROL, Sample())
    expected = rule.expected if rule.history is not None else None
    return Cell(target, samples[analysis.Role.JUDGED], reference, control, expected=expected)


def _wanted(rule: analysis.Rule) -> list[analysis.Role]:
    """Return the sides of a look."""
    wanted = [analysis.Role.JUDGED]
    if rule.strategy.compares:
        wanted.append(analysis.Role.REFERENCE)
    if rule.strategy.has_control:
        wanted.append(analysis.Role.CONTROL)
    return wanted


def _with_condition(rule: analysis.Rule, judged: Sample, *, target: str) -> Cell:
    # Few rules have conditions.
    from volary.analysis.verdicts import conditions
    from volary.config.text import expressions

    try:
        outcome = conditions.evaluate(rule, judged.values)
    except (expressions.EvaluationError, ValueError) as error:
        return Cell(target, problem=str(error), is_error=True)
    return Cell(target, judged, condition=outcome)


def problem_of(rule: analysis.Rule, measured: analysis.Measurement) -> str:
    """Return why this measurement cannot be judged; empty: it can."""
    match measured.reading:
        case analysis.Reading.ERROR:
            return f"the query failed: {measured.message or 'no reason was given'}"
        case analysis.Reading.NO_DATA:
            return measured.message or "the answer holds no data"
        case analysis.Reading.VALUES:
            pass
    if not measured.values:
        return "the answer holds no values"
    if rule.kind is not analysis.Kind.VALUE:
        return _count_problem(rule, measured)
    if rule.strategy.compares:
        return _value_problem(rule, measured.values)
    return _threshold_problem(rule, measured.values)


def _threshold_problem(rule: analysis.Rule, values: Sequence[float]) -> str:
    """Let a value out of range condemn the look, whatever the others are."""
    if rule.has_conditions:
        return _not_a_number(values)
    expected = rule.expected or analysis.Range()
    if any(not math.isnan(value) and value not in expected for value in values):
        return ""
    return _not_finite(values)


def _not_a_number(values: Iterable[float]) -> str:
    return _not_finite(value for value in values if math.isnan(value))


def _not_finite(values: Iterable[float]) -> str:
    for value in values:
        if not math.isfinite(value):
            return f"the answer holds {_named(value)}, which says nothing"
    return ""


def _named(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "+Inf" if value > 0 else "-Inf"


def _value_problem(rule: analysis.Rule, values: Sequence[float]) -> str:
    if problem := _not_finite(values):
        return problem
    if rule.ratio_limit is not None and min(values) < 0:
        return "a value below zero, of which no ratio can be taken"
    return ""


def _count_problem(rule: analysis.Rule, measured: analysis.Measurement) -> str:
    numbers = [*measured.values, *measured.totals]
    if problem := _not_finite(numbers):
        return problem
    if min(numbers) < 0:
        return "a count below zero"
    if max(numbers) > _MOST:
        return "a count so large that nothing counted it"
    return _total_problem(measured) if rule.kind is analysis.Kind.PROPORTION else ""


def _total_problem(measured: analysis.Measurement) -> str:
    events, total = sum(measured.values), sum(measured.totals)
    if total <= 0:
        return "the total is zero: nothing was counted"
    if events > total * _EXTRAPOLATED + 1:
        return f"{events:g} events of only {total:g}: the two queries do not fit together"
    return ""


def _sample(rule: analysis.Rule, measured: Sequence[analysis.Measurement]) -> Sample:
    variant = measured[0].variant
    values = tuple(value for measurement in measured for value in measurement.values)
    if rule.kind is analysis.Kind.VALUE:
        values = (median(values),) if rule.median_per_look else values
        return Sample(values, variant=variant, note=measured[0].message)
    events = sum(values)
    if rule.kind is analysis.Kind.RATE:
        return Sample(count=counts.Count(events, rule.interval.total_seconds()), variant=variant)
    total = sum(total for measurement in measured for total in measurement.totals)
    return Sample(count=counts.Count(min(events, total), total), variant=variant)
