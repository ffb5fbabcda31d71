"""How fast an error budget burns: an SLO's multi-window bounds over the looks so far. Pure.

A burn rate of 1 uses up the budget in exactly the SLO's window. As in Google's SRE workbook a
bound is exceeded when the rate is above it over a long window and over a short one: the first
says that it matters, the second that it goes on. Both are those of the looks that were measured,
so in addition it must not be chance: all looks so far are tested against the bound, in a way that
may be repeated at every look.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from volary.analysis.statistics import counts
from volary.analysis.verdicts import clauses, evidence, samples
from volary.model import analysis, phrases


@dataclass(frozen=True, slots=True)
class Window:
    """How fast the budget burnt in the last looks."""

    #: What was measured of it.
    length: timedelta
    rate: float

    def __str__(self) -> str:
        return f"{clauses.number(self.rate)} over {phrases.duration(self.length)}"


@dataclass(frozen=True, slots=True)
class Burn:
    """How the looks so far stand to one bound."""

    bound: analysis.BurnRate
    long: Window
    short: Window
    #: That the true rate is not above the bound; of all looks, valid after any number of them.
    p_value: float

    @property
    def part(self) -> float:
        """How much of the bound is reached; above 1: it is exceeded in both windows."""
        return min(self.long.rate, self.short.rate) / self.bound.rate

    @property
    def is_exceeded(self) -> bool:
        """Whether both windows are above the bound."""
        return self.part > 1

    def is_proven(self, significance: float) -> bool:
        """Whether they are, and that is no chance."""
        return self.is_exceeded and self.p_value <= significance


@dataclass(frozen=True, slots=True)
class Finding:
    """What an SLO says of the looks so far."""

    #: Both windows of a bound are above it.
    is_exceeded: bool
    #: And that is no chance.
    is_proven: bool
    sentence: str
    numbers: analysis.Numbers


def find(
    rule: analysis.Rule,
    slo: analysis.Slo,
    looks: Sequence[samples.Look],
    series: Sequence[analysis.Series],
) -> Finding:
    """Hold the looks so far, of which there has to be one, to the bounds of an SLO.

    Args:
        rule: Counts bad events among all; its significance is shared by the bounds.
        slo: What is promised.
        looks: Those that can be judged, in their order, over one cluster or many.
        series: Of these clusters: windows that are longer than they are scaled down to them.
    """
    length = max(cluster_series.ends - cluster_series.started for cluster_series in series)
    blocks = [look.usable for look in looks]
    bounds = slo.bounds(length)
    burns = [
        Burn(
            bound,
            _window(rule, slo, looks, bound.long),
            _window(rule, slo, looks, bound.short),
            min(1.0, len(bounds) * evidence.p_value_so_far(_limited(rule, slo, bound), blocks)),
        )
        for bound in bounds
    ]
    worst = max(
        burns,
        key=lambda burn: (
            burn.is_proven(rule.significance),
            burn.part,
            burn.long.rate / burn.bound.rate,
        ),
    )
    numbers = evidence.limit_numbers(rule, blocks, worst.p_value)
    sentence = (
        f"burn rate {_windows(worst)}, {worst.bound.rate:g} is allowed by {slo.objective:g} % in "
        f"{clauses.span(slo.window)}; {clauses.share(numbers.value)} of {numbers.samples} requests "
        f"failed, {clauses.chance(worst.p_value)} after {phrases.count(len(looks), 'look')}; "
        f"{_left(slo, _window(rule, slo, looks, length), looks, _before(rule, series))}"
    )
    return Finding(worst.is_exceeded, worst.is_proven(rule.significance), sentence, numbers)


def lowest_bound(rule: analysis.Rule) -> analysis.Rule:
    """Return the rule that tests the lowest bound of an SLO; one without an SLO as it is."""
    if rule.slo is None:
        return rule
    return replace(rule, significance=rule.significance / len(rule.slo.bounds(rule.slo.window)))


def _limited(rule: analysis.Rule, slo: analysis.Slo, bound: analysis.BurnRate) -> analysis.Rule:
    return replace(rule, expected=analysis.Range(maximum=min(1.0, bound.rate * slo.budget)))


def _window(
    rule: analysis.Rule, slo: analysis.Slo, looks: Sequence[samples.Look], length: timedelta
) -> Window:
    """Return the rate of the last looks; a look is about the interval before it."""
    # Looks are not quite an interval apart, and the newest one always counts.
    since = looks[-1].time - max(length, rule.interval) + rule.interval / 2
    taken = [look for look in looks if look.time > since]
    cells = evidence.all_cells([look.usable for look in taken])
    share = counts.total([cell.judged.count for cell in cells]).rate
    return Window(len(taken) * rule.interval, share / slo.budget)


def _windows(burn: Burn) -> str:
    if burn.long.length == burn.short.length:
        return str(burn.long)
    return f"{burn.long} and {burn.short}"


def _before(rule: analysis.Rule, series: Sequence[analysis.Series]) -> counts.Count | None:
    """Return what was counted over the SLO's window before; None: not everywhere."""
    counted = [
        counts.Count(sum(measurement.values), sum(measurement.totals))
        for cluster_series in series
        for measurement in cluster_series.measurements
        if measurement.role is analysis.Role.BUDGET and not samples.problem_of(rule, measurement)
    ]
    return counts.total(counted) if len(counted) == len(series) else None


def _left(
    slo: analysis.Slo,
    whole: Window,
    looks: Sequence[samples.Look],
    before: counts.Count | None,
) -> str:
    """Say what the analysis leaves of the budget, or of a whole one where nobody knows."""
    window = clauses.span(slo.window)
    if before is None:
        left = 1 - min(1.0, whole.rate * (whole.length / slo.window))
        said = f"of a budget that was whole {clauses.share(left)} is left"
    else:
        cells = evidence.all_cells([look.usable for look in looks])
        bad = counts.total([cell.judged.count for cell in cells]).events
        bads = before.exposure * slo.budget
        left = 1 - (before.events + bad) / bads
        if left <= 0:
            return f"of the budget of {window} nothing is left"
        was = clauses.share(1 - before.events / bads)
        said = f"of the budget of {window} {clauses.share(left)} is left, {was} before"
    if whole.rate <= 1:
        return said
    lasts = clauses.span(slo.window * (left / whole.rate))
    return f"{said}, for {lasts} if all requests burn it at {clauses.number(whole.rate)}"
