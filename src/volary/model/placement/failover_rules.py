"""Words of moving an application away from a cluster that is lost, or where it is ill.

Nothing is moved unless the application's file says so. Source of the words: Karmada's
failover behaviour.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class Purge(StrEnum):
    """What becomes of the old copy."""

    #: It stays until the replacement is healthy, or the grace period is over.
    GRACEFULLY = "Gracefully"
    #: It goes first; the replacement begins only when it is gone, so there are never two.
    DIRECTLY = "Directly"
    #: It stays until somebody asks for a rebalance.
    NEVER = "Never"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What is done once there is a reason to move."""

    #: How long the reason has to last. For a cluster: how long marks with ``NoExecute`` are put
    #: up with that no toleration of the application is about.
    toleration: timedelta = timedelta(minutes=5)
    purge: Purge = Purge.GRACEFULLY
    #: How long `GRACEFULLY` waits for a healthy replacement.
    grace: timedelta = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class ExternalProbe:
    """An address that tells whether users of a cluster are still served; asked with GET.

    The second evidence for a cluster whose API server does not answer. A status below 400 says
    that its users are served, a higher one that they are not; no answer says nothing at all, so
    it has to be something outside of the cluster, such as a load balancer or a monitor.
    """

    #: May hold ``${cluster.name}``, ``${cluster.region}``, ``${cluster.labels.KEY}``.
    url: str
    timeout: timedelta = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Failover:
    """When an application is moved, and how; None: not for this reason."""

    #: For a cluster that carries a mark with ``NoExecute``.
    cluster: Behaviour | None = None
    #: For a cluster that can be reached, and where the application is ill without a break.
    application: Behaviour | None = None
    witness: ExternalProbe | None = None
    #: How long a run under way is waited for before it is interrupted.
    patience: timedelta = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class FailoverLimits:
    """How much may be moved; for the whole fleet and all applications together."""

    #: Percent of the fleet that looks lost; from this on nothing is moved (Kubernetes: the
    #: unhealthy zone threshold).
    stop_share: int = 55
    #: Moves in any minute: one application off one cluster (Karmada: 0.5 per second).
    per_minute: int = 30
    #: From this percent on, moves in any minute are fewer.
    slow_share: int = 25
    slow_per_minute: int = 6
