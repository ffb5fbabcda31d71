"""The shared loop of a cluster's controllers.

One task per cluster takes looks from one queue, in which each look stands at most
once, and sleeps when it is empty: an idle cluster uses no processor. Looks that
want to come again later wait in a heap with a single timer.
"""

import asyncio
import heapq
from collections.abc import Callable
from dataclasses import dataclass

from kube_sandbox.apimachinery.meta import api_errors, objects, times
from kube_sandbox.apiserver.registry import registry
from kube_sandbox.apiserver.registry.admission import quotas
from kube_sandbox.apiserver.storage import storage
from kube_sandbox.controllers import (
    cluster_roles,
    disruptions,
    endpoints,
    garbage,
    gateways,
    namespaces,
    node_loss,
    scheduler,
    taint_eviction,
)
from kube_sandbox.controllers.framework import actions, view
from kube_sandbox.controllers.kubelet import lifecycle, node
from kube_sandbox.controllers.manager import cache, event_handlers, writer
from kube_sandbox.controllers.workloads import daemonsets, jobs, replicasets, statefulsets
from kube_sandbox.controllers.workloads.deployments import reconcile as deployments

Reconcile = Callable[[view.View, view.Key, times.Instant], actions.Result]

_MANAGER = "kube-controller-manager"
#: Looks taken before others on the event loop get their turn.
_BATCH = 16
#: Real seconds before a refused look is taken again, doubled with each refusal.
_RETRY, _RETRY_LIMIT = 0.01, 5.0
#: Real seconds a look waits at least: a rest of rounding would have it come again at once.
_RESOLUTION = 0.001
#: Sandbox seconds until a namespace that is deleted is emptied, a few on real clusters.
_LEAVE = 2.0
#: After so many refusals the look waits for the next change of the object.
_RETRIES = 20


@dataclass(frozen=True, slots=True)
class Settings:
    """How a cluster's controllers work."""

    nodes: lifecycle.Setting
    #: Sandbox seconds per real second.
    speed: float = 1.0
    #: Sets the range of the pods' addresses.
    cluster_number: int = 0
    #: The CA in PEM, for ``kube-root-ca.crt``.
    certificate: str = ""
    #: Gives a new pod its address; None for one that nothing answers on.
    pod_address: Callable[[], str] | None = None
    #: Whether requests to the pod of a uid are under way: it ends after them.
    is_busy: Callable[[str], bool] = lambda _: False


class Loop:
    """Keeps one cluster alive; hears of changes from its making on."""

    def __init__(self, cluster: registry.Registry, time: times.Clock, settings: Settings) -> None:
        self._cluster = cluster
        self._time = time
        self._settings = settings
        self._known = cache.Cache(cluster)
        self._carrier = writer.Writer(cluster)
        self._nodes = node.Nodes(
            settings.nodes,
            cluster_number=settings.cluster_number,
            address=settings.pod_address,
            is_busy=settings.is_busy,
        )
        self._pod_collector = node_loss.PodCollector()
        self._taint_eviction = taint_eviction.TaintEviction()
        self._queue: dict[event_handlers.Task, None] = {}
        self._later: list[tuple[float, int, event_handlers.Task]] = []
        self._wanted: dict[event_handlers.Task, float] = {}
        self._number = 0
        self._refusals: dict[event_handlers.Task, int] = {}
        self._wake = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._events = asyncio.get_running_loop()
        #: When namespaces were first seen on their way out, by uid.
        self._leaving: dict[str, float] = {}
        self._reconcilers = self._table()
        self._unsubscribe = cluster.subscribe(self._hear)

    @property
    def seen(self) -> cache.Cache:
        """What the controllers see."""
        return self._known

    @property
    def is_idle(self) -> bool:
        """Nothing is to be done now (something may be later)."""
        return not self._queue

    async def run(self) -> None:
        """Take looks until cancelled."""
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                await self._drain()
        finally:
            self._unsubscribe()
            if self._timer is not None:
                self._timer.cancel()

    async def _drain(self) -> None:
        taken = 0
        while self._queue:
            task = next(iter(self._queue))
            del self._queue[task]
            self._take(task)
            taken += 1
            if taken % _BATCH == 0:
                await asyncio.sleep(0)

    def _take(self, task: event_handlers.Task) -> None:
        at = self._moment()
        manager, reconcile = self._reconcilers[task.role]
        wanted = reconcile(self._known, task.key, at)
        try:
            self._carrier.carry_out(wanted, manager, at)
        except api_errors.StatusError:
            self._refused(task)
            return
        self._refusals.pop(task, None)
        if wanted.requeue_after is not None:
            self._postpone(task, wanted.requeue_after / self._settings.speed)

    def _refused(self, task: event_handlers.Task) -> None:
        """Look again a little later: what refused it has usually changed by then."""
        count = self._refusals.get(task, 0)
        if count >= _RETRIES:
            self._refusals.pop(task, None)
            return
        self._refusals[task] = count + 1
        self._postpone(task, min(_RETRY * 2**count, _RETRY_LIMIT))

    def _hear(self, change: storage.Change) -> None:
        at = self._seconds()
        self._known.note(change, at)
        if change.event is storage.Event.DELETED:
            self._leaving.pop(objects.uid(change.item.body), None)
            if change.bucket == "pods":
                self._nodes.forget(change.item.body)
                self._taint_eviction.forget(change.item.body)
        elif change.bucket == "nodes":
            self._pod_collector.note_node(change.item.body)
        for task in event_handlers.affected(self._known, change):
            self._add(task)

    def _add(self, task: event_handlers.Task) -> None:
        self._queue[task] = None
        self._wake.set()

    def _postpone(self, task: event_handlers.Task, delay: float) -> None:
        when = self._events.time() + max(delay, _RESOLUTION)
        if self._wanted.get(task, when + 1) <= when:
            return
        self._wanted[task] = when
        self._number += 1
        heapq.heappush(self._later, (when, self._number, task))
        self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._later:
            self._timer = self._events.call_at(self._later[0][0], self._ring)

    def _ring(self) -> None:
        now = self._events.time()
        while self._later and self._later[0][0] <= now + 1e-6:
            when, _, task = heapq.heappop(self._later)
            if self._wanted.get(task) == when:
                del self._wanted[task]
                self._add(task)
        self._timer = None
        self._set_timer()

    def _seconds(self) -> float:
        return self._events.time() * self._settings.speed

    def _moment(self) -> times.Instant:
        return times.Instant(self._time.now(), self._seconds(), self._settings.speed)

    def _table(self) -> dict[event_handlers.Role, tuple[str, Reconcile]]:
        role = event_handlers.Role
        return {
            role.DEPLOYMENT: (_MANAGER, deployments.reconcile),
            role.REPLICA_SET: (_MANAGER, replicasets.reconcile),
            role.REPLICATION_CONTROLLER: (_MANAGER, replicasets.reconcile),
            role.STATEFUL_SET: (_MANAGER, statefulsets.reconcile),
            role.DAEMON_SET: (_MANAGER, daemonsets.reconcile),
            role.JOB: (_MANAGER, jobs.reconcile),
            role.SCHEDULER: ("kube-scheduler", scheduler.reconcile),
            role.KUBELET: ("kubelet", self._nodes.reconcile),
            role.POD_COLLECTOR: (_MANAGER, self._pod_collector.reconcile),
            role.TAINT_EVICTION: (_MANAGER, self._taint_eviction.reconcile),
            role.ENDPOINTS: (_MANAGER, endpoints.reconcile),
            role.DISRUPTION: (_MANAGER, disruptions.reconcile),
            role.QUOTA: (_MANAGER, self._quota),
            role.CLUSTER_ROLE: (_MANAGER, cluster_roles.reconcile),
            role.GATEWAY: ("kube-sandbox-gateway", gateways.reconcile),
            role.NAMESPACE: (_MANAGER, self._namespace),
            role.GARBAGE_OWNER: (_MANAGER, garbage.reconcile_owner),
            role.GARBAGE_DEPENDENT: (_MANAGER, garbage.reconcile_dependent),
        }

    def _quota(self, cluster: view.View, key: view.Key, at: times.Instant) -> actions.Result:
        """Count again what is used of a quota, since something is gone."""
        quota = cluster.get("ResourceQuota", key.namespace, key.name)
        if quota is None:
            return actions.NOTHING
        status = quotas.status(self._cluster.cluster, quota)
        if status == objects.status(quota):
            return actions.NOTHING
        return actions.Result((actions.UpdateStatus({**quota, "status": status}),))

    def _namespace(self, cluster: view.View, key: view.Key, at: times.Instant) -> actions.Result:
        found = cluster.get("Namespace", "", key.name)
        if found is None:
            return actions.NOTHING
        if objects.is_deleting(found):
            since = self._leaving.setdefault(objects.uid(found), at.seconds)
            if (left := since + _LEAVE - at.seconds) > 0:
                return actions.Result(requeue_after=left)
        buckets = set(self._cluster.storage.buckets)
        held = [
            view.designation(each.api_version, each.name)
            for each in self._cluster.served
            if each.namespaced and each.bucket in buckets and "list" in each.verbs
        ]
        certificate = self._settings.certificate
        return namespaces.reconcile(cluster, key, at, kinds=held, certificate=certificate)
