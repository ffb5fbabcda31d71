"""What is remembered of where an application is, and what is seen of one moment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from volary.model import applications, statuses
from volary.model.fleet import cluster_health, fleets
from volary.model.placement import failover_rules, overrides
from volary.placement import health_states
from volary.placement.failover import observed_durations

_READY = cluster_health.ClusterState.READY


class Cause(StrEnum):
    """Why an application leaves a cluster."""

    CLUSTER = "cluster"
    APPLICATION = "application"
    DRAIN = "drain"
    REBALANCE = "rebalance"


@dataclass(frozen=True, slots=True)
class Eviction:
    """An application on its way off a cluster (Karmada: a graceful eviction task)."""

    cluster: str
    cause: Cause
    #: The evidence, one sentence.
    reason: str
    since: datetime
    purge: failover_rules.Purge = failover_rules.Purge.GRACEFULLY
    #: How long a healthy replacement is waited for; None: as long as it takes.
    grace: timedelta | None = None
    #: Where its replicas go: clusters that are new, or grow.
    replacements: tuple[str, ...] = ()
    #: The replacements were seen healthy.
    replaced: bool = False
    #: The old copy is gone.
    removed: bool = False
    #: Clusters it was on before.
    before: tuple[str, ...] = ()
    #: It could not be reached at some time since: nothing goes without a healthy replacement.
    lost: bool = False
    #: For how long the replacements are waited for.
    waited: observed_durations.ObservedDuration | None = None
    #: When it was tried last, and how often.
    tried: datetime | None = None
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class PlacementState:
    """What is remembered of where an application is; kept with it."""

    #: Clusters it is on; empty: it was never decided.
    chosen: tuple[str, ...] = ()
    #: Clusters that it left, with the reason: they are not chosen again until a rebalance.
    away: Mapping[str, str] = field(default_factory=dict)
    leaving: tuple[Eviction, ...] = ()
    #: By what goes on, such as ``eu/volary.dev/unreachable``.
    timers: Mapping[str, observed_durations.ObservedDuration] = field(default_factory=dict)
    #: Why nothing moves although there is a reason, by cluster, one sentence each.
    waiting: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything that is looked at, of one moment."""

    application: applications.Application
    #: The clusters its selector takes, in the order of the fleet, with all their taints.
    targets: Sequence[fleets.Cluster]
    #: Every cluster of the fleet.
    known: Mapping[str, cluster_health.ClusterHealth]
    placement: PlacementState
    now: datetime
    rules: cluster_health.HealthRules = field(default_factory=cluster_health.HealthRules)
    #: What the external probe said of the clusters it was asked about; None: it did not answer.
    served: Mapping[str, bool | None] = field(default_factory=dict)
    #: How the application is, of the clusters where that could be seen.
    health: Mapping[str, statuses.HealthStatus] = field(default_factory=dict)
    #: Why the external probe was not asked about a cluster, in a clause; such a one is not in
    #: `served`.
    unasked: Mapping[str, str] = field(default_factory=dict)
    #: False: replicas are to be divided, but nothing is (autoscalers scale all of it).
    has_shares: bool = True

    @property
    def is_divided(self) -> bool:
        """Whether the clusters share the replicas, so that others can have those of one."""
        divided = overrides.Division.DIVIDED
        return self.has_shares and self.application.differences.replicas.division is divided

    def is_well(self, name: str) -> bool:
        """Say whether a cluster answers, seen just now."""
        health = self.known.get(name)
        if health is None or health.state is not _READY:
            return False
        return health_states.is_fresh(health, self.now, self.rules)
