"""Moving an application away from a cluster that is lost, or where it is unhealthy.

Nothing is moved unless the application's file says so. Source of the words: Karmada's
failover behaviour.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Annotated

from volary.model import options


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

    toleration: timedelta = options.option(
        "How long the reason has to last. For a cluster: how long taints with `NoExecute` are "
        "tolerated that none of `placement.tolerations` is about.",
        timedelta(minutes=5),
    )
    purge: Purge = options.option(
        "What becomes of the old copy. `Gracefully`: it goes when the replacement is healthy; "
        "`Directly`: it goes first; `Never`: it stays until a rebalance.",
        Purge.GRACEFULLY,
    )
    grace_period: timedelta = options.option(
        "How long `Gracefully` waits for a healthy replacement.", timedelta(minutes=10)
    )


@dataclass(frozen=True, slots=True)
class ExternalProbe:
    """An address that tells whether users of a cluster are still served, asked with GET."""

    url: Annotated[
        options.Text,
        options.Option(
            "A status below 400 says that users are served, a higher one that they are not; no"
            " answer says nothing. So name something outside of the cluster: a load balancer, a"
            " monitor. May hold `${cluster.name}`, `${cluster.region}`, `${cluster.labels.KEY}`."
        ),
    ]
    timeout: timedelta = options.option("Longest wait; at most 30s.", timedelta(seconds=5))


@dataclass(frozen=True, slots=True)
class Failover:
    """When the application is moved away from a cluster; without it: never by itself."""

    cluster: Behaviour | None = options.option("When a cluster has a taint with `NoExecute`.", None)
    application: Behaviour | None = options.option(
        "When the application is unhealthy all the time on a cluster that answers.", None
    )
    witness: ExternalProbe | None = options.option(
        "The second evidence for a cluster that does not answer: without it such a cluster is "
        "left only when a person taints it.",
        None,
    )
    patience: timedelta = options.option(
        "How long a run under way is waited for before it is interrupted; a paused one is never "
        "interrupted.",
        timedelta(minutes=5),
    )


@dataclass(frozen=True, slots=True)
class FailoverLimits:
    """How much is moved away from lost clusters, of all applications together."""

    #: Kubernetes: the unhealthy zone threshold.
    stop_at_percent: int = options.option(
        "From this share of the fleet that looks lost on, the controller's own network is "
        "suspected: nothing is moved, and an alarm is raised.",
        55,
        least=1,
        most=100,
    )
    #: Karmada: 0.5 per second.
    moves_per_minute: int = options.option(
        "One application off one cluster is one move; 0: none.", 30, least=0, most=10_000
    )
    slow_at_percent: int = options.option(
        "From this share of the fleet that looks lost on, it goes slower; left out: at most "
        "`stopAtPercent`.",
        25,
        least=1,
        most=100,
    )
    slow_moves_per_minute: int = options.option(
        "How many moves then; left out: at most `movesPerMinute`.", 6, least=0, most=10_000
    )
