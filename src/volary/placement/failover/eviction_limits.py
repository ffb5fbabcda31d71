"""How much of the fleet is unreachable, and how many applications may be moved now. Pure.

Source of the rules: the node lifecycle controller of Kubernetes, which evicts slowly when many
nodes are unhealthy, and not at all when all are: then it is more likely that the observer is
cut off.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from volary.model import phrases
from volary.model.fleet import cluster_health
from volary.model.placement import failover_rules
from volary.placement import health_states

_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class FleetAssessment:
    """The fleet in one moment."""

    #: Clusters that are watched: not suspended, and not gone.
    total: int
    #: Those that do not look well.
    lost: tuple[str, ...]
    #: Those that this process has not looked at just now.
    unseen: tuple[str, ...] = ()
    #: Why this process was no good observer just now; empty: it was.
    doubt: str = ""
    #: Where teams share the server, who reads of an application may not know every cluster.
    names_clusters: bool = True

    @property
    def percent(self) -> int:
        """The share that looks lost, rounded up."""
        return self._percent(len(self.lost))

    @property
    def unsure_percent(self) -> int:
        """The share that looks lost or was not looked at, rounded up."""
        return self._percent(len(self.lost) + len(self.unseen))

    def _percent(self, count: int) -> int:
        return -(-100 * count // self.total) if self.total else 100

    @property
    def counted(self) -> str:
        """How many look lost, without their names."""
        return f"{len(self.lost)} of {self.total} clusters look unreachable"

    @property
    def told(self) -> str:
        """How many look lost, and which where everybody may know that."""
        return str(self) if self.names_clusters else self.counted

    def __str__(self) -> str:
        named = f": {phrases.first_of(self.lost)}" if self.lost else ""
        return f"{self.counted}{named}"


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many moves may begin now."""

    moves: int
    #: Why no more than these, in a clause.
    reason: str
    #: So little of the fleet can be seen that nothing at all is moved.
    is_closed: bool = False
    #: Not empty: so much looks lost that it is us; somebody has to be told.
    alarm: str = ""


def assess(
    known: Mapping[str, cluster_health.ClusterHealth],
    now: datetime,
    rules: cluster_health.HealthRules,
    doubt: str = "",
) -> FleetAssessment:
    """Return how much of the fleet looks lost.

    A look that failed counts at once, long before the cluster counts as lost: when many are
    lost together, the first of them shall not be moved before the others are noticed.
    """
    watched = [
        health
        for health in known.values()
        if health.left is None and health.state is not cluster_health.ClusterState.SUSPENDED
    ]
    lost = tuple(health.cluster for health in watched if _is_lost(health))
    unseen = tuple(
        health.cluster
        for health in watched
        if not _is_lost(health) and not health_states.is_fresh(health, now, rules)
    )
    return FleetAssessment(len(watched), lost, unseen, doubt)


def _is_lost(health: cluster_health.ClusterHealth) -> bool:
    pending = health.pending.state if health.pending else None
    return health.state in health_states.FAILING or pending in health_states.FAILING


def allowance(
    view: FleetAssessment,
    recent: Iterable[datetime],
    limits: failover_rules.FailoverLimits,
    now: datetime,
) -> Allowance:
    """Return how many moves may begin now.

    Moves of all applications began at `recent`; those in the future count as just now.
    """
    if view.doubt:
        return Allowance(0, f"nothing is moved now: {view.doubt}", is_closed=True)
    if view.percent >= limits.stop_at_percent:
        why = (
            f"failover suppressed: at least {limits.stop_at_percent} % unreachable,"
            " so the controller's own network is suspected"
        )
        return Allowance(0, f"{view.told}; {why}", is_closed=True, alarm=f"{view}; {why}")
    if view.unsure_percent >= limits.stop_at_percent:
        seen = view.total - len(view.lost) - len(view.unseen)
        reason = f"only {seen} of {view.total} clusters were seen well just now"
        return Allowance(0, reason, is_closed=True)
    most, why = limits.moves_per_minute, "in a minute"
    if view.percent >= limits.slow_at_percent:
        most = min(most, limits.slow_moves_per_minute)
        why = f"in a minute while {view.told}"
    begun = sum(now - moment < _MINUTE for moment in recent)
    return Allowance(max(0, most - begun), f"{begun} of {most} moves {why}")
