"""What people see of clusters and ask for: the part of the service that is about the fleet.

Taints are stored by the leader; what is requested here goes there as a request, and
is noted in the audit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from volary.clusters.observe import cluster_facts
from volary.controller import refusals
from volary.controller.api import representations
from volary.controller.api.commands import command_client
from volary.controller.fleet import cluster_registry, taint_commands
from volary.model import errors, json
from volary.model.fleet import cluster_health, fleets, selectors, taints


class ClusterTaint(representations.Representation, frozen=True):
    """A taint: it keeps applications away from a cluster."""

    key: str
    value: str
    #: ``NoSchedule`` or ``NoExecute``.
    effect: str
    since: datetime | None
    #: A person, ``volary`` for a rule, or ``fleet file``.
    by: str
    reason: str


class Resources(representations.Representation, frozen=True):
    """An amount of what pods take."""

    pods: int
    #: In cores.
    cpu: float
    #: In bytes.
    memory: int


class ClusterFacts(representations.Representation, frozen=True):
    """What a cluster is made of, as it was read last."""

    read_at: datetime
    #: Of Kubernetes, such as ``v1.36.0``; empty: it did not say.
    version: str
    #: None: they may not be read.
    nodes: int | None
    ready_nodes: int | None
    #: Of the nodes that are ready; none: it is not known.
    capacity: Resources | None
    #: What the requests of their pods leave; none: it is not known.
    free: Resources | None
    #: Why something of it is not known; empty: all of it is.
    problem: str


class Cluster(representations.Representation, frozen=True):
    """A registered cluster."""

    name: str
    labels: Mapping[str, str]
    #: Where it is, as the fleet says it or its labels of the same names.
    provider: str
    region: str
    zones: tuple[str, ...]
    suspended: bool
    #: Whether it is reached through its agent.
    agent: bool
    namespaces: tuple[str, ...]
    #: ``ready``, ``notReady``, ``unreachable``, ``suspended`` or ``unknown``.
    status: str
    reason: str
    #: Since when it is so.
    since: datetime | None
    #: What is seen, but not for long enough to count; empty: nothing else.
    changing: str
    #: Whether anything new begins there without tolerating a taint.
    schedulable: bool
    taints: tuple[ClusterTaint, ...]
    #: None: this server did not read it.
    facts: ClusterFacts | None
    #: Why there are no facts; empty: there are.
    facts_missing: str
    #: How many applications are there, of those that whoever asks may see; none: not counted here.
    applications: int | None = None


class ClusterApplication(representations.Representation, frozen=True):
    """An application on a cluster."""

    name: str
    project: str
    #: Of the application as a whole.
    status: str
    reason: str
    #: The commit that it is on there, also where its run under way has brought it; empty: nobody
    #: knows.
    commit: str
    #: The last completed release; another one: the cluster has not got it.
    completed: str
    #: Why the cluster has not got it; empty: it has, or nothing was said.
    missing: str
    #: Why it is leaving the cluster; empty: it is not.
    leaving: str
    #: Its run under way, or the last one.
    run: str


@dataclass(slots=True)
class ClusterService:
    """See the module."""

    register: cluster_registry.ClusterRegistry
    asker: command_client.CommandClient
    audit_trail: command_client.AuditLog

    async def list(self) -> tuple[Cluster, ...]:
        """Return the fleet and how each cluster is, in the fleet's order."""
        if not self.register.is_leader:
            await self.register.load()
        return tuple(self._view(cluster) for cluster in self.register.members.clusters)

    async def get(self, name: str) -> Cluster:
        """Return one cluster.

        Raises:
            refusals.NotFound: There is none of that name.
        """
        members = {cluster.name: cluster for cluster in await self.list()}
        return refusals.required(members.get(name), "cluster", name)

    async def ask(
        self, action: str, name: str, asker: representations.Actor, **options: str
    ) -> Cluster:
        """Ask for something about a cluster: ``cordon``, ``drain``, ``uncordon`` or ``taint``.

        A taint has ``key``, ``value`` and ``effect``; one of the same key and effect is replaced.

        Raises:
            refusals.NotFound: There is no such cluster.
            refusals.Conflict: It is so already.
        """
        before = await self.get(name)
        document: json.JsonObject = {"action": action, "cluster": name, **options}
        async with self.audit_trail.noting(
            asker, f"cluster.{action}", document={"cluster": name, **options}
        ) as change:
            change.before = _state(before)
            await self.asker.ask(taint_commands.KIND, asker.by, document=document, key=asker.key)
            after = await self.get(name)
            change.after = _state(after)
        return after

    async def untaint(
        self, name: str, asker: representations.Actor, *, key: str, effect: str, reason: str
    ) -> Cluster:
        """Take a mark away that was made by hand; an empty `effect` means every one of the key.

        Raises:
            refusals.NotFound: There is no such cluster.
            refusals.Conflict: There is no such mark, or it was not made by hand.
            errors.UserError: There is no such effect.
        """
        if effect not in ("", *taints.Effect):
            raise errors.user_error(f"{effect} is no effect", hint="NoSchedule or NoExecute")
        return await self.ask("untaint", name, asker, key=key, effect=effect, reason=reason)

    def _view(self, member: fleets.Cluster) -> Cluster:
        known = self.register.of(member.name)
        facts = self.register.facts.get(member.name)
        marks = taints.merge(member.taints, known.taints)
        suspended = member.suspended
        state = cluster_health.ClusterState.SUSPENDED if suspended else known.state
        return representations.build(
            Cluster,
            member,
            provider=_place(member, "provider"),
            region=_place(member, "region"),
            zones=member.zones or tuple(sorted(selectors.field_values(member, "zone"))),
            status=state.value,
            reason="suspended in the fleet" if suspended else known.reason or _unseen(known),
            since=known.since,
            changing=_changing(known, self.register.rules),
            schedulable=not suspended and not marks,
            taints=tuple(map(_taint, marks)),
            facts=_facts(facts),
            facts_missing="" if facts else self._why_unread(),
            applications=None,
        )

    def _why_unread(self) -> str:
        if self.register.is_leader:
            return "version and capacity are read once the cluster has answered"
        return "version and capacity are known to the leader only, and this server is on standby"


def _place(member: fleets.Cluster, key: str) -> str:
    """Return a field of a cluster; its label of the same name counts when it is not set."""
    return next(iter(selectors.field_values(member, key)), "")


def _facts(known: cluster_facts.ClusterFacts | None) -> ClusterFacts | None:
    if known is None:
        return None
    return representations.build(
        ClusterFacts,
        known,
        capacity=_resources(known.capacity),
        free=_resources(known.free),
    )


def _resources(amount: cluster_facts.Resources | None) -> Resources | None:
    return None if amount is None else representations.build(Resources, amount)


def _state(cluster: Cluster) -> json.JsonObject:
    """Return what the audit compares: what keeps new work away."""
    marks = [f"{taint.key}={taint.value}:{taint.effect}" for taint in cluster.taints]
    return {"schedulable": cluster.schedulable, "taints": marks}


def _unseen(known: cluster_health.ClusterHealth) -> str:
    return "not probed yet" if known.state is cluster_health.ClusterState.UNKNOWN else ""


def _changing(known: cluster_health.ClusterHealth, rules: cluster_health.HealthRules) -> str:
    """Say what is seen but does not count yet."""
    pending = known.pending
    if pending is None or known.observed is None:
        return ""
    ready = pending.state is cluster_health.ClusterState.READY
    threshold = rules.success_threshold if ready else rules.failure_threshold
    lasted = (known.observed - pending.since).total_seconds()
    reason = f": {pending.reason}" if pending.reason else ""
    return (
        f"{pending.state.value} for {lasted:.0f} s, counts after"
        f" {threshold.total_seconds():g} s{reason}"
    )


def _taint(taint: taints.Taint) -> ClusterTaint:
    return representations.build(ClusterTaint, taint, by=taint.by or "fleet file")
