"""Health of clusters: how each one is, since when, and its taints."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Literal

from volary.model import options
from volary.model.fleet import taints as marks
from volary.model.placement import rollouts


class ClusterState(StrEnum):
    """How a cluster is."""

    #: Not looked at long enough to say.
    UNKNOWN = "unknown"
    #: It answers, and says that it is ready.
    READY = "ready"
    #: It answers, and says that it is not; or it does not let us ask.
    NOT_READY = "notReady"
    #: It does not answer.
    UNREACHABLE = "unreachable"
    #: The fleet file says that it is left out; it is not looked at.
    SUSPENDED = "suspended"


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What one look at a cluster found."""

    state: ClusterState
    #: Why, one sentence; empty when it is ready.
    reason: str = ""
    #: What tells this cluster from one that was built in its place; empty: it was not asked.
    identity: str = ""


@dataclass(frozen=True, slots=True)
class PendingChange:
    """A state that was seen, but not for long enough to count."""

    state: ClusterState
    since: datetime
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ClusterHealth:
    """One cluster as the controller knows it."""

    cluster: str
    state: ClusterState = ClusterState.UNKNOWN
    #: When it came into this state; None: it was never looked at.
    since: datetime | None = None
    #: Why it is in this state, one sentence.
    reason: str = ""
    #: By hand and by rules; those of the fleet file are with the cluster itself.
    taints: tuple[marks.Taint, ...] = ()
    first_seen: datetime | None = None
    #: When it left the fleet; None: it is there.
    left: datetime | None = None
    #: Of the cluster that answers under this name; another one: it was built anew.
    identity: str = ""
    #: The rest lives only as long as the process. When it was looked at last; None: not yet.
    observed: datetime | None = None
    #: Since when every look found it in its state, without a gap.
    steady: datetime | None = None
    pending: PendingChange | None = None
    #: Whether the last probe found it ready, or a request since then was answered.
    answers: bool = False

    @property
    def cordon(self) -> marks.Taint | None:
        """Who keeps new work away by hand, and why."""
        return self._taint(marks.CORDONED)

    @property
    def drain(self) -> marks.Taint | None:
        """Who asked to move away what runs there, and why."""
        return self._taint(marks.DRAINED)

    def _taint(self, key: str) -> marks.Taint | None:
        return next((taint for taint in self.taints if taint.key == key), None)


@dataclass(frozen=True, slots=True)
class FleetHealth:
    """All clusters of the fleet at one moment, after every one was looked at."""

    at: datetime
    clusters: tuple[ClusterHealth, ...] = ()
    #: Why this moment is no evidence of anything that fails: this process was asleep, or its
    #: clock was changed; empty: it is.
    doubt: str = ""

    @property
    def failing(self) -> tuple[ClusterHealth, ...]:
        """Clusters that are not ready or do not answer, and those that are about to count so."""
        bad = (ClusterState.NOT_READY, ClusterState.UNREACHABLE)
        return tuple(
            cluster
            for cluster in self.clusters
            if cluster.state in bad
            or (cluster.pending is not None and cluster.pending.state in bad)
        )


@dataclass(frozen=True, slots=True)
class TaintRule:
    """A taint for clusters that stay in a state; it goes when the state goes.

    Karmada's ClusterTaintPolicy, but for that.
    """

    states: Annotated[
        tuple[Literal[ClusterState.NOT_READY, ClusterState.UNREACHABLE], ...],
        options.Option("The states, any of them.", least=1),
    ]
    key: Annotated[
        options.LabelKey,
        options.Form.NOT_EMPTY,
        options.Option("Key of the taint, such as `volary.dev/unreachable`."),
    ]
    effect: Annotated[marks.Effect, options.Option("`NoSchedule` or `NoExecute`.")]
    value: options.LabelValue = options.option("Its value.", "")
    after: timedelta = options.option("How long the state has to last.", timedelta())
    targets: rollouts.ClusterSelector = options.option(
        "Which clusters; nothing given: every one.", rollouts.ClusterSelector()
    )


#: What holds in any case (Karmada: taint-cluster-by-condition). Nothing is moved by itself:
#: To get that, write a rule with ``NoExecute``.
BUILT_IN_TAINT_RULES = (
    TaintRule((ClusterState.NOT_READY,), marks.NOT_READY, marks.Effect.NO_SCHEDULE),
    TaintRule((ClusterState.UNREACHABLE,), marks.UNREACHABLE, marks.Effect.NO_SCHEDULE),
)


@dataclass(frozen=True, slots=True)
class HealthRules:
    """How clusters are watched (defaults: Karmada's)."""

    interval: timedelta = options.option(
        "Between two probes of a cluster, give or take a tenth.", timedelta(seconds=10)
    )
    timeout: timedelta = options.option(
        "How long a cluster may take to answer a look.", timedelta(seconds=5)
    )
    failure_threshold: timedelta = options.option(
        "How long it has to fail without a break until it counts as failing.", timedelta(seconds=30)
    )
    success_threshold: timedelta = options.option(
        "How long it has to answer without a break until it counts as ready again.",
        timedelta(seconds=30),
    )
    taints: tuple[TaintRule, ...] = options.option(
        "Taints for clusters that stay not ready or unreachable, besides "
        "`volary.dev/not-ready:NoSchedule` and `volary.dev/unreachable:NoSchedule`, which are "
        "always made. Without a rule with `NoExecute` nothing is moved because of a cluster's "
        "state.",
        (),
    )

    @property
    def longest_gap(self) -> timedelta:
        """How far two looks may be apart and still be one observation.

        What is later was late for a reason of our own: a stalled process, a changed clock.
        """
        return 3 * self.interval + self.timeout
