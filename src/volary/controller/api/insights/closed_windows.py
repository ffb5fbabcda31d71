"""When nothing of an application begins on which of its clusters, over some days. Pure.

A cluster is closed while a window denies it, and while it is outside of all windows that allow
it. Those of an application and those of its project are looked at apart: each has to let it be.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from volary.controller.api import insight_representations
from volary.engine.runs import policies
from volary.model import errors, phrases
from volary.model.fleet import fleets
from volary.model.placement import rollouts
from volary.placement import windows
from volary.placement.waves import planned_waves

#: Times that one window is followed.
_MOST_PERIODS = 500

_Period = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class ApplicationWindows:
    """The windows of an application, as its file and its project's say."""

    application: str
    clusters: tuple[fleets.Cluster, ...]
    waves: rollouts.Waves
    rules: tuple[policies.WindowRule, ...]


def closed(
    known: ApplicationWindows, since: datetime, until: datetime
) -> Iterator[insight_representations.ClosedWindow]:
    """Yield when nothing begins where, in no order."""
    waves = _waves(known)
    every = tuple(cluster.name for cluster in known.clusters)

    def window(
        targets: Sequence[str], period: _Period, reason: str
    ) -> insight_representations.ClosedWindow:
        starts, ends = period
        return insight_representations.ClosedWindow(
            known.application,
            waves.get(frozenset(targets), ""),
            () if set(targets) == set(every) else tuple(targets),
            starts,
            ends if ends < until else None,
            reason,
        )

    for rule in known.rules:
        if rule.deny:
            for period in _merged(_periods(rule.window, since, until)[0]):
                yield window(rule.targets, period, f"denied by {rule.window.name}")
    for targets, allowing in _allowing(known.rules, every):
        names = phrases.first_of([each.name for each in allowing], 3, " or ")
        for period in _outside(allowing, since, until):
            yield window(targets, period, f"outside {names}")


def _waves(known: ApplicationWindows) -> dict[frozenset[str], str]:
    """Return the names of the waves by their clusters."""
    if not known.waves.waves:
        return {}
    try:
        division = planned_waves.divide(known.waves, known.clusters)
    except errors.UserError:
        return {}  # which a run is refused for; its windows are what they are
    return {frozenset(wave.targets): wave.wave.name for wave in division.waves}


def _allowing(
    rules: Iterable[policies.WindowRule], every: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], tuple[rollouts.Window, ...]]]:
    """Yield clusters that the same windows allow, of the application and of its project."""
    allow = [rule for rule in rules if not rule.deny]
    for _, of_one in itertools.groupby(
        sorted(allow, key=lambda rule: rule.project), key=lambda rule: rule.project
    ):
        listed = tuple(of_one)
        alike: dict[tuple[rollouts.Window, ...], list[str]] = {}
        for name in every:
            allowing = tuple(rule.window for rule in listed if name in rule.targets)
            if allowing:
                alike.setdefault(allowing, []).append(name)
        for allowing, names in alike.items():
            yield tuple(names), allowing


def _periods(
    window: rollouts.Window, since: datetime, until: datetime
) -> tuple[list[_Period], datetime]:
    """Return when a window lasts, and until when that is all."""
    found = list(itertools.islice(windows.periods(window, since, until), _MOST_PERIODS + 1))
    if len(found) > _MOST_PERIODS:
        return found[:-1], found[-1][0]
    return found, until


def _merged(periods: Iterable[_Period]) -> list[_Period]:
    """Return periods as those that neither touch nor overlap, in order."""
    merged: list[_Period] = []
    for starts, ends in sorted(periods):
        if merged and starts <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(ends, merged[-1][1]))
        else:
            merged.append((starts, ends))
    return merged


def _outside(
    allowing: Iterable[rollouts.Window], since: datetime, until: datetime
) -> Iterator[_Period]:
    """Yield the times outside of all windows, as far as all of them were followed."""
    found = [_periods(window, since, until) for window in allowing]
    last = min((known_until for _, known_until in found), default=until)
    begins = since
    for starts, ends in _merged(period for periods, _ in found for period in periods):
        if starts >= last:
            break
        if starts > begins:
            yield begins, starts
        begins = max(begins, ends)
    if begins < last:
        yield begins, last
