"""What each cluster has of an application. Pure.

The one place where it is kept: the release, the replica shares, and whether the application is on
the cluster, left it, or is leaving it. A release is *completed* once every stage is done on every
cluster that the run did not go on without, and those it went on without could not be reached, or
were cordoned. Whoever joins, comes back or was built anew gets it: never a release that stopped
half-way, and never simply what is in Git.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

import msgspec
from msgspec import structs

from volary.placement.failover import observed_durations, situations
from volary.placement.replicas import assignment

#: What tells a cluster from one built in its place; empty: not known.
Identity = Callable[[str], str]


class ReleaseState(StrEnum):
    """What a cluster has of the last completed release."""

    #: It never had it: it joined later, or nobody knows.
    NONE = "none"
    #: It got it; it may be on a part of a newer one by now.
    COVERED = "covered"
    #: The release went on, or began, without it, and it has not got it since.
    MISSED = "missed"


class ClusterRelease(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one cluster has of the application."""

    #: The commit that it is on; empty: nothing, or nobody knows.
    commit: str = ""
    state: ReleaseState = ReleaseState.NONE
    #: What told the cluster from one built in its place when it got the completed release.
    identity: str = ""
    #: Why it has not got the completed release yet, one sentence; empty: nothing was said.
    reason: str = ""
    #: What it has of all that is divided, since the last run that gave it something.
    shares: tuple[assignment.ClusterShare, ...] = ()
    #: What it had before the last release that succeeded: where a rollback goes.
    shares_before: tuple[assignment.ClusterShare, ...] = ()
    #: The application is on it. On no cluster at all: that was never decided.
    chosen: bool = False
    #: Why the application left it: it is not chosen again until a rebalance. Empty: it did not.
    away: str = ""
    #: How the application is leaving it; None: it is not.
    leaving: situations.Eviction | None = None
    #: Why nothing moves although there is a reason, one sentence; empty: there is none.
    staying: str = ""


_UNKNOWN = ClusterRelease()


@dataclass(frozen=True, slots=True)
class ClusterReleases:
    """What every cluster has of the application; kept with it."""

    #: The last completed release; empty: there is none, or nobody knows.
    completed: str = ""
    clusters: Mapping[str, ClusterRelease] = field(default_factory=dict)
    #: The last commit that succeeded, on clusters that are on no other one; empty: none did.
    running: str = ""

    def of(self, name: str) -> ClusterRelease:
        """Return what a cluster has."""
        return self.clusters.get(name, _UNKNOWN)

    @property
    def for_newcomers(self) -> str:
        """What a cluster gets that is new to the application; empty: nothing was released."""
        return self.completed or self.running

    @property
    def covered(self) -> tuple[str, ...]:
        """Clusters that got the completed release."""
        return self._in_state(ReleaseState.COVERED)

    @property
    def missed(self) -> tuple[str, ...]:
        """Clusters that the completed release went on without."""
        return self._in_state(ReleaseState.MISSED)

    def _in_state(self, wanted: ReleaseState) -> tuple[str, ...]:
        return tuple(name for name, one in self.clusters.items() if one.state is wanted)

    @property
    def waiting(self) -> dict[str, str]:
        """Why clusters have not got the completed release yet, where something was said."""
        return {name: one.reason for name, one in self.clusters.items() if one.reason}

    def exceptions(self, commit: str) -> dict[str, str]:
        """Return what clusters run that are on another commit than this one."""
        return {
            name: one.commit
            for name, one in self.clusters.items()
            if one.commit not in ("", commit)
        }

    @property
    def assigned(self) -> assignment.Assignment:
        """Who has how many replicas."""
        return assignment.of_clusters({name: one.shares for name, one in self.clusters.items()})

    @property
    def assigned_before(self) -> assignment.Assignment:
        """Who had how many replicas before the last release that succeeded."""
        had = {name: one.shares_before for name, one in self.clusters.items()}
        return assignment.of_clusters(had)

    @property
    def is_divided(self) -> bool:
        """Whether any cluster has a share of anything."""
        return any(one.shares for one in self.clusters.values())

    def placement(
        self, timers: Mapping[str, observed_durations.ObservedDuration]
    ) -> situations.PlacementState:
        """Return where the application is, and what is moving."""
        known = self.clusters
        return situations.PlacementState(
            tuple(name for name, one in known.items() if one.chosen),
            {name: one.away for name, one in known.items() if one.away},
            tuple(one.leaving for one in known.values() if one.leaving is not None),
            timers,
            {name: one.staying for name, one in known.items() if one.staying},
        )

    def with_placement(self, placed: situations.PlacementState) -> "ClusterReleases":
        """Return them with where the application is, and what is moving."""
        leaving = {eviction.cluster: eviction for eviction in placed.leaving}
        # The order of the chosen ones, and of those that leave, is kept.
        names = dict.fromkeys(
            (*placed.chosen, *leaving, *placed.away, *placed.waiting, *self.clusters)
        )
        chosen = frozenset(placed.chosen)
        clusters = {
            name: structs.replace(
                self.of(name),
                chosen=name in chosen,
                away=placed.away.get(name, ""),
                leaving=leaving.get(name),
                staying=placed.waiting.get(name, ""),
            )
            for name in names
        }
        return replace(self, clusters={}).with_changed(clusters)

    def with_shares(
        self, assigned: assignment.Assignment, names: Iterable[str]
    ) -> "ClusterReleases":
        """Return them with what an assignment gives to some clusters."""
        return self.with_changed(
            {name: structs.replace(self.of(name), shares=assigned.of(name)) for name in names}
        )

    def with_reasons(self, reasons: Mapping[str, str]) -> "ClusterReleases":
        """Return them with why clusters have not got the release; of the others nothing is said."""
        names = dict.fromkeys((*self.clusters, *reasons))
        return self.with_changed(
            {name: structs.replace(self.of(name), reason=reasons.get(name, "")) for name in names}
        )

    def with_changed(self, changed: Mapping[str, ClusterRelease]) -> "ClusterReleases":
        """Return them with some changed; of whom nothing is known nothing is kept."""
        both = {**self.clusters, **changed}
        return replace(self, clusters={name: one for name, one in both.items() if one != _UNKNOWN})


def missing_clusters(
    releases: ClusterReleases, names: Iterable[str], identity: Identity
) -> dict[str, str]:
    """Return the clusters among `names` that have not got the release, with the reason of each."""
    missing = {}
    for name in names:
        had, now = releases.of(name), identity(name)
        if had.state is ReleaseState.MISSED:
            missing[name] = "the release went on without it"
        elif had.state is ReleaseState.NONE:
            missing[name] = "it was not there"
        elif had.identity and now and had.identity != now:
            missing[name] = "it was built anew"
    return missing


def commit_before_backfill(releases: ClusterReleases, name: str) -> str:
    """Return what a cluster runs that misses the release; empty: nothing.

    One that had it misses it because it was built anew.
    """
    had = releases.of(name)
    return "" if had.state is ReleaseState.COVERED else had.commit


def missing_reasons(releases: ClusterReleases) -> dict[str, str]:
    """Return the clusters that have not got the release, and what each waits for."""
    missed = dict.fromkeys(releases.missed, "the release went on without it")
    return {**missed, **releases.waiting}
