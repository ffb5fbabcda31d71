"""Divides the clusters of a run into its waves. Pure arithmetic, fixed at the run's start.

A cluster belongs to the first wave that takes it. Percentages of sizes are of all targets of
the run, those of concurrency and budgets of the wave's clusters; all are rounded down, and what
limits how many move at once is at least one (`rollouts.Share`).
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from volary.model import errors
from volary.model.fleet import fleets, selectors
from volary.model.placement import rollouts

#: Name of the wave of clusters that no other wave takes.
REST = "rest"


@dataclass(frozen=True, slots=True)
class PlannedWave:
    """A wave with its clusters, in the order in which they start."""

    wave: rollouts.Wave
    targets: tuple[str, ...]

    @property
    def concurrency(self) -> int:
        """How many are worked on at once; 0: all."""
        limit = self.wave.max_concurrency
        return 0 if limit is None else limit.of(len(self.targets), least=1)

    @property
    def failures(self) -> int:
        """How many may fail."""
        if self.wave.on_failure is rollouts.OnWaveFailure.CONTINUE:
            return len(self.targets)
        return self.wave.budget.failures.of(len(self.targets))

    @property
    def unreachable(self) -> int:
        """How many may be unreachable."""
        return self.wave.budget.unreachable.of(len(self.targets))


@dataclass(frozen=True, slots=True)
class Division:
    """The waves in order, and what somebody should know about them."""

    waves: tuple[PlannedWave, ...]
    warnings: tuple[str, ...] = ()


def divide(waves: rollouts.Waves, clusters: Sequence[fleets.Cluster]) -> Division:
    """Return the waves of a run over `clusters`.

    Raises:
        UserError: A cluster is in no wave, and the application says that this is refused.
    """
    left = list(clusters)
    planned = []
    for wave in waves.waves:
        taken = _members(wave, left, len(clusters))
        names = {cluster.name for cluster in taken}
        left = [cluster for cluster in left if cluster.name not in names]
        planned.append(PlannedWave(wave, tuple(cluster.name for cluster in taken)))
    if left:
        planned.append(_rest(waves, left))
    warnings = tuple(_warnings(planned, [cluster.name for cluster in left]))
    return Division(tuple(planned), warnings)


def rollback_order(division: Division) -> Division:
    """Return the same waves, the last one first, without what would hold them up."""
    freed = (
        replace(wave, wave=replace(wave.wave, soak=timedelta(), gate=rollouts.Gate()))
        for wave in reversed(division.waves)
    )
    return Division(tuple(freed), division.warnings)


def _members(
    wave: rollouts.Wave, left: Sequence[fleets.Cluster], of_all: int
) -> Sequence[fleets.Cluster]:
    chosen = [cluster for cluster in left if selectors.matches(wave.targets, cluster)]
    ordered = _ordered(wave, chosen)
    if wave.one_per:
        ordered = list(_one_per(wave.one_per, ordered))
    if wave.size is None:
        return ordered
    return ordered[: wave.size.of(of_all, least=1)]


def _ordered(wave: rollouts.Wave, clusters: Iterable[fleets.Cluster]) -> list[fleets.Cluster]:
    """Order by label, then by name; or by a hash that the seed alone decides."""
    if wave.shuffle:
        return sorted(clusters, key=lambda cluster: _seeded_rank(wave.shuffle, cluster.name))
    if wave.order_by:
        return sorted(clusters, key=lambda cluster: (_rank(cluster, wave.order_by), cluster.name))
    return list(clusters)


def _seeded_rank(seed: str, name: str) -> tuple[bytes, str]:
    return hashlib.sha256(f"{seed}/{name}".encode()).digest(), name


def _rank(cluster: fleets.Cluster, label: str) -> tuple[bool, bool, int | str]:
    """Return a key by which numbers come first, in their order; then texts; then nothing."""
    value = cluster.labels.get(label, "")
    is_number = value.lstrip("-").isdigit()
    return not is_number, not value, int(value) if is_number else value


def _one_per(label: str, clusters: Iterable[fleets.Cluster]) -> Iterator[fleets.Cluster]:
    """Yield the first cluster of each value; one without a value is not taken."""
    seen: set[str] = set()
    for cluster in clusters:
        values = (
            selectors.field_values(cluster, label)
            if label in selectors.FIELDS
            else {cluster.labels[label]}
            if cluster.labels.get(label)
            else set()
        )
        if values and not values <= seen:
            seen |= values
            yield cluster


def _rest(waves: rollouts.Waves, left: Sequence[fleets.Cluster]) -> PlannedWave:
    names = tuple(cluster.name for cluster in left)
    if waves.unmatched is rollouts.Unmatched.REFUSE:
        raise errors.user_error(
            f"{', '.join(names[:10])}{' and more' if len(names) > 10 else ''}"
            f" {'is' if len(names) == 1 else 'are'} in no wave",
            hint="add a last wave without targets, or write `unmatchedClusters: last`",
        )
    last = waves.waves[-1]
    return PlannedWave(replace(last, name=REST), names)


def _warnings(planned: Sequence[PlannedWave], left: Sequence[str]) -> Iterator[str]:
    if left:
        yield f"in no wave, so in a last one called {REST}: {', '.join(left)}"
    for planned_wave in planned:
        if not planned_wave.targets:
            yield f"no cluster is in wave {planned_wave.wave.name}; its gate holds all the same"
