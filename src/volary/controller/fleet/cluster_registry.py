"""The clusters as the controller knows them: stored before it counts, and known to the pool.

One per process. The leader writes it; a standby reads what was stored.
What the fleet file says and what is known are put together for the pool, so that whoever
chooses clusters sees their taints without asking here.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from volary.clusters.client import client_pool
from volary.clusters.observe import cluster_facts
from volary.controller.persistence import change_signal, retry
from volary.model import clocks, json
from volary.model.fleet import cluster_health, fleets, taints
from volary.model.runs import run_records
from volary.placement import health_states
from volary.store import records, stores

_LOG = logging.getLogger(__name__)

#: Called with clusters that answer.
OnReachable = Callable[[Collection[str]], None]
#: Who cordons a cluster that cannot be read; not who adds and removes taints by rules.
_BY_STORE = "the store"
#: What of a cluster outlives the process, besides name and state.
_KEPT = ("since", "reason", "taints", "first_seen", "left", "identity")
Change = Callable[[cluster_health.ClusterHealth], cluster_health.ClusterHealth]


@dataclass(slots=True)
class ClusterRegistry:
    """See the module."""

    store: stores.Store
    clusters: client_pool.ClientPool
    clock: clocks.Clock
    rules: cluster_health.HealthRules
    #: Signals whenever something was stored.
    kept: change_signal.ChangeSignal
    #: The fleet as its file says, without what is known besides.
    members: fleets.Fleet
    #: Whether this process writes it now.
    is_leader: bool = field(default=False, init=False)
    #: Called the moment a cluster answers again, before that counts for its state; and when one
    #: has left the fleet.
    on_reachable: OnReachable = field(default=lambda _: None, init=False)
    #: What clusters are made of, as this process read it last; only the leader reads it.
    facts: dict[str, cluster_facts.ClusterFacts] = field(default_factory=dict, init=False)
    _known: dict[str, cluster_health.ClusterHealth] = field(default_factory=dict, init=False)
    #: Clusters of which what is stored cannot be read: it is written over by people only.
    _unreadable: set[str] = field(default_factory=set, init=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    def __post_init__(self) -> None:
        self.clusters.on_outcome = self.observe_requests

    @property
    def known(self) -> Mapping[str, cluster_health.ClusterHealth]:
        """All clusters that are known, also those that left."""
        return self._known

    def of(self, cluster: str) -> cluster_health.ClusterHealth:
        """Return what is known of a cluster."""
        return self._known.get(cluster) or cluster_health.ClusterHealth(cluster)

    def identity(self, cluster: str) -> str:
        """Return what distinguishes a cluster from one built in its place; empty: not known."""
        return self.of(cluster).identity

    def observe_requests(self, cluster: str, trouble: str) -> None:
        """Take what requests say: why a cluster does not answer any more; nothing: it does."""
        before = self.of(cluster)
        if trouble:
            after = health_states.suspect(before, trouble, self.clock.now())
        else:
            after = health_states.answered(before)
        if after != before:
            self._known = {**self._known, cluster: after}
        if after.answers and not before.answers:
            self.on_reachable({cluster})

    async def load(self) -> None:
        """Read what was kept; what only this process saw stays where nothing else was kept."""
        stored = await retry.until_available(self.store.clusters.list, "reading clusters")
        known = {record.name: self._read(record) for record in stored}
        for name, health in known.items():
            mine = self._known.get(name)
            if mine is not None and health_states.is_stored_same(mine, health):
                known[name] = mine
        self._known = known
        self._update_pool()

    def replace(self, members: fleets.Fleet) -> None:
        """Take another fleet file; who joined and who left is stored with the next health probe."""
        self.members = members
        self._update_pool()

    async def enter(self, members: fleets.Fleet, *, fence: run_records.Fence | None) -> None:
        """Take the fleet as its file says now: who joined, left, is suspended or no more."""
        self.members = members
        now = self.clock.now()
        here = {cluster.name: cluster for cluster in members.clusters}
        async with self._lock:
            changed = [
                health_states.mark_removed(health, now)
                for name, health in self._known.items()
                if name not in here
            ]
            for name, cluster in here.items():
                known = self._known.get(name) or health_states.new_cluster(name, now)
                known = health_states.resume(known, now) if not cluster.suspended else known
                changed.append(health_states.suspend(known, now) if cluster.suspended else known)
            before = self._known
            await self._keep(changed, fence)
        for health in changed:
            _log_membership(before.get(health.cluster), health)
        left = {health.cluster for health in changed if _has_just_left(before, health)}
        if left:
            # Runs that wait for one of them look again now, and go on without it.
            self.on_reachable(left)

    async def take(
        self,
        observed: Sequence[cluster_health.ClusterHealth],
        *,
        fence: run_records.Fence | None,
    ) -> tuple[cluster_health.ClusterHealth, ...]:
        """Take what probes found; returns those whose state changed.

        Taints made by hand meanwhile stay; who has left or was suspended meanwhile stays so.
        """
        async with self._lock:
            before = self._known
            here = {cluster.name for cluster in self.members.clusters if not cluster.suspended}
            merged = [
                health_states.with_manual_taints(health, before.get(health.cluster, health))
                for health in observed
                if health.cluster in here
            ]
            changed = tuple(
                health
                for health in merged
                if (old := before.get(health.cluster)) is None or old.state is not health.state
            )
            await self._keep(merged, fence)
        for health in changed:
            _log_state(health)
        return changed

    async def change(
        self,
        cluster: str,
        change: Change,
        *,
        fence: run_records.Fence | None,
        answers: Sequence[run_records.RequestAnswer] = (),
    ) -> str:
        """Change what is known of a cluster of the fleet; returns why not, or nothing.

        The `answers` are kept with the change, where there is one.

        Raises:
            fencing.RequestAnswered: A request was answered before; nothing is changed.
        """
        async with self._lock:
            if cluster not in self.members.names:
                return f"there is no cluster {cluster} in the fleet"
            known = self._known.get(cluster) or health_states.new_cluster(cluster, self.clock.now())
            # Whoever changes it by hand has decided what is to be known of it.
            self._unreadable.discard(cluster)
            await self._keep([change(known)], fence, answers)
        return ""

    async def forget(self, names: Sequence[str], *, fence: run_records.Fence | None) -> None:
        """Remove clusters that left long ago."""
        async with self._lock:
            gone = [name for name in names if name not in self._unreadable]
            await retry.until_available(
                lambda: self.store.clusters.forget(gone, fence=fence), "forgetting clusters"
            )
            self._known = {
                name: health for name, health in self._known.items() if name not in set(gone)
            }

    def _read(self, stored: records.ClusterRecord) -> cluster_health.ClusterHealth:
        """Return what is known of a cluster.

        One of which that cannot be read is cordoned: whether somebody did so is not known.
        """
        why = stored.unreadable
        if not why:
            try:
                return _read(stored)
            except msgspec.ValidationError as error:
                why = f"its document is not as expected: {error}"
        if stored.name not in self._unreadable:
            self._unreadable.add(stored.name)
            _LOG.error(
                "what is stored of cluster %s cannot be read: %s; it is left as it is, and the"
                " cluster is cordoned until somebody uncordons it",
                stored.name,
                why,
            )
        now = self.clock.now()
        reason = f"what is stored of it cannot be read: {why}"
        cordon = taints.Taint(
            taints.CORDONED, "", taints.Effect.NO_SCHEDULE, now, _BY_STORE, reason
        )
        return health_states.taint(health_states.new_cluster(stored.name, now), [cordon])

    async def _keep(
        self,
        health: Sequence[cluster_health.ClusterHealth],
        fence: run_records.Fence | None,
        answers: Sequence[run_records.RequestAnswer] = (),
    ) -> None:
        now = self.clock.now()
        new = [
            health
            for health in health
            if health.cluster not in self._unreadable
            and (
                health.cluster not in self._known
                or not health_states.is_stored_same(health, self._known[health.cluster])
            )
        ]
        if new:
            written = [_write(health, now) for health in new]
            until = retry.until_known if answers else retry.until_available
            await until(
                lambda: self.store.clusters.keep(written, fence=fence, answers=answers),
                "keeping clusters",
            )
        self._known = {**self._known, **{health.cluster: health for health in health}}
        if new:
            self.kept.notify_all()
        self._update_pool()

    def _update_pool(self) -> None:
        marked = health_states.with_taints(self.members, self._known)
        marked = replace(marked, providers=self.clusters.fleet.providers)
        if marked != self.clusters.fleet:
            self.clusters.change(marked)


def _log_membership(
    before: cluster_health.ClusterHealth | None, now: cluster_health.ClusterHealth
) -> None:
    if before is None or (before.left is not None and now.left is None):
        _LOG.info("cluster %s joined the fleet", now.cluster)
    elif before.left is None and now.left is not None:
        _LOG.warning(
            "cluster %s left the fleet: runs under way there go on, and what runs there stays",
            now.cluster,
        )


def _has_just_left(
    before: Mapping[str, cluster_health.ClusterHealth], now: cluster_health.ClusterHealth
) -> bool:
    known = before.get(now.cluster)
    return known is not None and known.left is None and now.left is not None


def _log_state(now: cluster_health.ClusterHealth) -> None:
    level = logging.INFO if now.state is cluster_health.ClusterState.READY else logging.WARNING
    reason = f": {now.reason}" if now.reason else ""
    _LOG.log(level, "cluster %s is %s%s", now.cluster, now.state.value, reason)


def _write(known: cluster_health.ClusterHealth, now: datetime) -> records.ClusterRecord:
    document = {name: msgspec.to_builtins(getattr(known, name)) for name in _KEPT}
    return records.ClusterRecord(known.cluster, known.state.value, document, now)


def _read(stored: records.ClusterRecord) -> cluster_health.ClusterHealth:
    document = {**stored.document, "cluster": stored.name, "state": stored.state}
    return json.convert(document, cluster_health.ClusterHealth)
