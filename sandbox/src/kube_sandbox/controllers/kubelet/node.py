"""The nodes' part in the shared loop: keeps the pods' lives and reports them."""

import ipaddress
from collections.abc import Callable
from dataclasses import replace

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects, times
from kube_sandbox.controllers.framework import actions, view
from kube_sandbox.controllers.kubelet import containers, events, lifecycle, references, report

#: Pods get addresses from here, one range per cluster in step with its number.
_POD_RANGE = ipaddress.ip_network("10.0.0.0/8")
_PODS_PER_CLUSTER = 65_536
#: Sandbox seconds between two looks at a pod that has still to answer somebody.
_BUSY = 0.1


class Nodes:
    """All nodes of one cluster.

    Remembers pods as real nodes do: an address, and per container the stage it is in,
    because dates in a status are too coarse to measure by.
    """

    def __init__(
        self,
        setting: lifecycle.Setting,
        *,
        cluster_number: int,
        address: Callable[[], str] | None = None,
        is_busy: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.setting = setting
        #: Gives a new pod its address; None for made-up ones.
        self._address = address or self._invent
        #: Whether requests to the pod of a uid are under way.
        self._is_busy = is_busy
        self._lives: dict[str, lifecycle.Life] = {}
        self._next_address = int(_POD_RANGE[0]) + (cluster_number + 1) * _PODS_PER_CLUSTER + 2

    def reconcile(self, cluster: view.View, key: view.Key, at: times.Instant) -> actions.Result:
        """Return what the pod's node wants written now."""
        pod = cluster.get("Pod", key.namespace, key.name)
        node = str(objects.spec(pod or {}).get("nodeName") or "")
        if pod is None or not node or cluster.get("Node", "", node) is None:
            return actions.NOTHING
        life = self._lives.get(objects.uid(pod)) or self._welcome(at)
        if objects.is_deleting(pod):
            return self._stop(pod, life, at)
        if not life.is_mounted:
            if life.mount_at > at.seconds:
                return actions.Result(requeue_after=life.mount_at - at.seconds)
            if problem := references.missing_volume(cluster, pod):
                return self._unmounted(cluster, pod, life, problem, at)
            life = replace(life, is_mounted=True)

        def problem_of(container: json.JsonObject) -> str:
            return references.missing_environment(cluster, pod, container)

        progress = lifecycle.advance(pod, life, self.setting, at, problem_of)
        self._lives[objects.uid(pod)] = progress.life
        return self._tell(cluster, pod, progress, at)

    def forget(self, pod: json.JsonObject) -> None:
        """Drop what is remembered about a pod that is gone."""
        self._lives.pop(objects.uid(pod), None)

    def _tell(
        self,
        cluster: view.View,
        pod: json.JsonObject,
        progress: lifecycle.Progress,
        at: times.Instant,
    ) -> actions.Result:
        node = str(objects.spec(pod)["nodeName"])
        writes: list[actions.Write] = []
        for step in progress.steps:
            writes.extend(events.of(pod, step, node=node))
            if step.after.stage is containers.Stage.RUNNING and self._is_unhealthy(pod, step):
                writes.append(events.unhealthy(pod, step.container, node=node))
        told = report.status(
            pod, progress.life, self.setting, host=address_of(cluster, node), at=at
        )
        if told != objects.status(pod):
            writes.append(actions.UpdateStatus({**pod, "status": told}))
        again = progress.next_at
        return actions.Result(
            tuple(writes), requeue_after=None if again is None else max(0.0, again - at.seconds)
        )

    def _unmounted(
        self,
        cluster: view.View,
        pod: json.JsonObject,
        life: lifecycle.Life,
        problem: str,
        at: times.Instant,
    ) -> actions.Result:
        life = lifecycle.unmounted(life, self.setting, at)
        self._lives[objects.uid(pod)] = life
        told = self._tell(cluster, pod, lifecycle.Progress(life, (), life.mount_at), at)
        node = str(objects.spec(pod)["nodeName"])
        return replace(told, writes=(events.unmounted(pod, problem, node=node), *told.writes))

    def _is_unhealthy(self, pod: json.JsonObject, step: lifecycle.Step) -> bool:
        for each in lifecycle.main_containers(pod):
            if each["name"] == step.container:
                own = lifecycle.nature(pod, each, self.setting, is_init=False)
                return own.behaviour.never_ready and own.behaviour.crash_after is None
        return False

    def _stop(
        self, pod: json.JsonObject, life: lifecycle.Life, at: times.Instant
    ) -> actions.Result:
        if objects.metadata(pod).get("deletionGracePeriodSeconds") == 0:
            return actions.NOTHING  # only finalizers hold it now
        node = str(objects.spec(pod)["nodeName"])
        writes: list[actions.Write] = []
        if life.stopping_since is None:
            life = replace(life, stopping_since=at.seconds)
            self._lives[objects.uid(pod)] = life
            writes = events.killing(pod, node=node)
        assert life.stopping_since is not None
        soonest, latest = (
            life.stopping_since + each - at.seconds
            for each in lifecycle.stop_window(pod, self.setting)
        )
        if soonest > 0:
            return actions.Result(tuple(writes), requeue_after=soonest)
        if latest > 0 and self._is_busy(objects.uid(pod)):
            return actions.Result(tuple(writes), requeue_after=min(_BUSY, latest))
        return actions.Result((*writes, actions.Delete(pod, grace_seconds=0)))

    def _welcome(self, at: times.Instant) -> lifecycle.Life:
        return lifecycle.Life(self._address(), at.stamp)

    def _invent(self) -> str:
        address = str(ipaddress.ip_address(self._next_address))
        self._next_address += 1
        return address


def address_of(cluster: view.View, node: str) -> str:
    """The internal address of a node; empty when there is no such node."""
    found = cluster.get("Node", "", node)
    for each in objects.status(found or {}).get("addresses") or ():
        if each.get("type") == "InternalIP":
            return str(each.get("address"))
    return ""
