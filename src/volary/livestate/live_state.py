"""What all applications have in all clusters now; one per process, and it only reads.

`keep_following` has a follower for each cluster of the fleet. What followers hear is put together
a moment later, once for many changes, so that a storm in the clusters is a breeze here: whoever
looks at a tree hears of it, and whoever compares applied objects (`live_objects`).
"""

import asyncio
import random
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from volary.clusters.client import fleet_clients
from volary.concurrency import work_threads
from volary.livestate import (
    cluster_follower,
    cluster_objects,
    entries,
    live_objects,
    live_trees,
    secret_digests,
    views,
    watch_budget,
)
from volary.model import clocks, json
from volary.model.objects import manifest, object_health, ownership
from volary.model.statuses import HealthStatus

#: Seconds between a change and the moment that it is told, together with others.
COALESCED = 0.15
#: Seconds between two looks at which clusters there are.
_TICK = 1.0
#: A cluster is not followed by this process.
_NOT_FOLLOWED = cluster_follower.ClusterStatus("it is not followed")
#: Nothing is known, so nothing is missing.
_UNREAD = object_health.Health(HealthStatus.UNKNOWN, "nothing of it has been read")
#: Versions of a process begin at its start in microseconds: fewer changes than that happen, so no
#: other process has counted to where it is. Exact in JavaScript, too.
_PER_SECOND = 1_000_000


@dataclass(slots=True)
class _Cluster:
    known: cluster_objects.ClusterObjects
    follower: cluster_follower.ClusterFollower
    task: "asyncio.Task[None]"
    #: As it was told last.
    status: cluster_follower.ClusterStatus = field(default_factory=cluster_follower.ClusterStatus)
    #: By owner: how an application is there, until something changes.
    healths: dict[str, HealthStatus] = field(default_factory=dict)


class LiveState:
    """See the module; a `live_objects.LiveObjects`."""

    def __init__(
        self,
        clusters: fleet_clients.FleetClients,
        clock: clocks.Clock,
        *,
        behalf: cluster_follower.Behalf | None = None,
        bounds: cluster_objects.Bounds | None = None,
        most_watches: int | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Make one for a fleet.

        Args:
            clusters: Its clients, of the server itself.
            clock: Tells when something was seen.
            behalf: On whose behalf namespaces are read singly; None: the server's own.
            bounds: What is kept of one cluster.
            most_watches: Of all clusters; None: as the file descriptors of this process allow.
            chance: Spreads what would happen in the same moment.
        """
        self._clusters = clusters
        self._clock = clock
        self._behalf = behalf or cluster_follower.OwnBehalf(clusters)
        self._bounds = bounds or cluster_objects.Bounds()
        self._totals = cluster_objects.Totals()
        self._watches = watch_budget.WatchBudget(most_watches)
        self._chance = chance
        self._digest_key = secrets.token_bytes(32)
        self._followed: dict[str, _Cluster] = {}
        #: Of health, by the id of the owner, where an application has its own.
        self._own_rules: dict[str, tuple[object_health.Rule, ...]] = {}
        self._listeners: set[live_objects.Listener] = set()
        first = int(clock.now().timestamp() * _PER_SECOND)
        self._views = views.Views(self._build, first)
        self._dirty = asyncio.Event()
        self._changed = asyncio.Event()

    # Following.

    async def keep_following(self) -> None:
        """Follow every cluster of the fleet until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._keep_telling(), name="telling of live state")
                while True:
                    self._choose(group)
                    await asyncio.sleep(_TICK)
        finally:
            for left in self._followed.values():
                left.known.clear()
            self._followed.clear()

    def _choose(self, group: asyncio.TaskGroup) -> None:
        names = self._clusters.fleet.names
        for name in [name for name in self._followed if name not in names]:
            left = self._followed.pop(name)
            left.task.cancel()
            left.known.clear()
            self._dirty.set()
        for name in names:
            if name not in self._followed:
                self._follow(name, group)

    def _follow(self, name: str, group: asyncio.TaskGroup) -> None:
        known = cluster_objects.ClusterObjects(self._bounds, self._totals)
        reading = self._reading
        around = cluster_follower.Surroundings(
            clusters=self._clusters,
            behalf=self._behalf,
            clock=self._clock,
            reading=reading,
            on_change=self._dirty.set,
            watches=self._watches,
            chance=self._chance,
        )
        follower = cluster_follower.ClusterFollower(name, known, around)
        task = group.create_task(follower.follow(), name=f"following {name}")
        self._followed[name] = _Cluster(known, follower, task)

    async def _keep_telling(self) -> None:
        """Put together what has changed, and tell it, as often as it is worth it."""
        while True:
            await self._dirty.wait()
            await asyncio.sleep(COALESCED)
            self._dirty.clear()
            await self.tell()

    async def tell(self) -> None:
        """Tell everybody what has changed since the last time."""
        self._views.forget_unasked(_now())
        changed: set[views.Key] = set()
        applied: set[live_objects.Change] = set()
        for name, cluster in self._followed.items():
            taken = cluster.known.take_changes()
            changed |= {(name, owner) for owner in taken.trees}
            for owner in taken.trees:
                cluster.healths.pop(owner, None)
            applied |= {(name, owner) for owner in taken.applied}
            if cluster.status != cluster.follower.status:
                cluster.status = cluster.follower.status
                cluster.healths.clear()
                changed |= {key for key in self._views.keys if key[0] == name}
        changed |= {key for key in self._views.keys if key[0] not in self._followed}
        for listener in tuple(self._listeners):
            listener.add(applied)
        has_changed = False
        for number, key in enumerate(sorted(changed & set(self._views.keys))):
            has_changed = self._views.refresh(key) or has_changed
            if number % 16 == 15:
                # Others have their turn between two of many.
                await asyncio.sleep(0)
        if has_changed:
            self._wake()

    # Trees.

    @property
    def version(self) -> int:
        """The newest version of all trees that somebody looks at."""
        return self._views.version

    def tree(self, cluster: str, owner: ownership.Owner) -> views.View:
        """Return an application's tree in a cluster, as it is now."""
        return self._views.whole(cluster, owner.id, _now())

    def health(self, cluster: str, owner: ownership.Owner) -> HealthStatus:
        """Return how an application is in a cluster; it is unknown where that may be old.

        Put together once until something changes there: lists ask for many.
        """
        known = self._followed.get(cluster)
        if known is None or known.follower.status.stale_reason:
            return HealthStatus.UNKNOWN
        healths = known.healths
        if owner.id not in healths:
            healths[owner.id] = self._build(cluster, owner.id)[0].health.status
        return healths[owner.id]

    def changes(self, cluster: str, owner: ownership.Owner, after: int) -> views.View | None:
        """Return what changed in a tree after a version; None: nothing did.

        Where that is not known any more it is the whole tree: `is_known` tells.
        """
        return self._views.since(cluster, owner.id, after, _now())

    def is_known(self, cluster: str, owner: ownership.Owner, after: int) -> bool:
        """Say whether the differences since a version are known."""
        return self._views.is_known(cluster, owner.id, after)

    async def changed(self, seconds: float) -> None:
        """Return when a tree that somebody looks at has changed, at the latest after `seconds`."""
        waited = self._changed
        try:
            async with asyncio.timeout(seconds):
                await waited.wait()
        except TimeoutError:
            return

    def mark(
        self,
        cluster: str,
        owner: ownership.Owner,
        objects: Collection[manifest.ResourceKey] | None = None,
    ) -> None:
        """Have objects of a tree told anew: what is said of them elsewhere, as drift, changed.

        None: all of them.
        """
        if self._views.mark((cluster, owner.id), objects):
            self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def observed(self, cluster: str) -> datetime | None:
        """Return when a cluster was followed last; None: never."""
        known = self._followed.get(cluster)
        return known.follower.observed if known else None

    def find(
        self, cluster: str, owner: ownership.Owner, key: manifest.ResourceKey
    ) -> json.JsonObject | None:
        """Return one applied object, as it is kept; None: it is not there."""
        known = self._followed.get(cluster)
        return known.known.find_body(owner.id, key) if known else None

    def _build(
        self, cluster: str, owner: str
    ) -> tuple[live_trees.LiveTree, cluster_follower.ClusterStatus]:
        known = self._followed.get(cluster)
        if known is None:
            return live_trees.LiveTree(health=_UNREAD), _NOT_FOLLOWED
        tree = known.known.tree(owner, known.follower.once_listed)
        if not tree.nodes and not known.follower.once_listed:
            tree = replace(tree, health=_UNREAD)
        return tree, known.follower.status

    @property
    def _reading(self) -> entries.Reading:
        return entries.Reading(self._clusters.fleet.health, self._own_rules, self.masked)

    async def use_rules(
        self, owners: Iterable[ownership.Owner], rules: Sequence[object_health.Rule]
    ) -> None:
        """Have an application's own rules of health count, before those of the fleet.

        What is there is judged anew when they are others than before.
        """
        for owner in {owner.id for owner in owners}:
            before = self._own_rules.get(owner, ())
            if before == tuple(rules):
                continue
            if rules:
                self._own_rules[owner] = tuple(rules)
            else:
                del self._own_rules[owner]
            kinds = {(rule.group, rule.kind) for rule in (*before, *rules)}
            for cluster in tuple(self._followed.values()):
                await self._judge_anew(cluster.known, owner, kinds)

    async def _judge_anew(
        self, known: cluster_objects.ClusterObjects, owner: str, kinds: set[tuple[str, str]]
    ) -> None:
        applied, reading = known.applied_of_kinds(owner, kinds), self._reading
        if not applied:
            return
        judged = await work_threads.run(
            "judging the health of applied objects",
            lambda: [entries.assessed_anew(one, reading) for one in applied],
        )
        for before, after in zip(applied, judged, strict=True):
            known.exchange(before, after)
        self._dirty.set()

    # Applied objects.

    def known_objects(
        self, cluster: str, owner: ownership.Owner
    ) -> live_objects.KnownObjects | None:
        """Return the objects that were applied for an owner; None: the cluster is not current."""
        followed = self._followed.get(cluster)
        if followed is None or followed.follower.status.stale_reason:
            return None
        listed = frozenset(followed.follower.listed)
        kinds = followed.known.kinds_of(owner.id)
        return live_objects.KnownObjects(
            followed.known.stamp(owner.id),
            kinds is not None and kinds <= listed,
            self.masked,
            followed.known.applied(owner.id),
            listed,
        )

    def masked(self, body: json.JsonObject) -> json.JsonObject:
        """Return an object as it is kept: a Secret with digests for its values."""
        return secret_digests.with_digests(body, self._digest_key)

    def is_current(self, cluster: str) -> bool:
        """Say whether a cluster is followed now, and everything wanted was listed once."""
        return not self.why_stale(cluster)

    def why_stale(self, cluster: str) -> str:
        """Return why what is known of a cluster may be old; empty: it is current."""
        known = self._followed.get(cluster)
        return (known.follower.status if known else _NOT_FOLLOWED).stale_reason

    def warnings(self, cluster: str) -> Sequence[str]:
        """Return what of a cluster cannot be read."""
        known = self._followed.get(cluster)
        return known.follower.status.warnings if known else ()

    def listen(self) -> live_objects.Listener:
        """Return a new listener; it hears of what changes from now on."""
        return live_objects.Listener(self._listeners)


def _now() -> float:
    return asyncio.get_running_loop().time()
