"""Taint eviction: pods leave nodes whose ``NoExecute`` taints they do not tolerate.

A toleration with ``tolerationSeconds`` puts it off for so long.
"""

from collections.abc import Sequence

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects, times
from kube_sandbox.controllers import scheduler
from kube_sandbox.controllers.framework import actions, pods, view

COMPONENT = "taint-eviction-controller"
NO_EXECUTE = "NoExecute"


def taints_of(node: json.JsonObject | None) -> list[json.JsonObject]:
    """Return the node's taints that evict."""
    taints = objects.spec(node or {}).get("taints") or ()
    return [taint for taint in taints if taint.get("effect") == NO_EXECUTE]


def tolerated_for(pod: json.JsonObject, taints: Sequence[json.JsonObject]) -> float | None:
    """Return the seconds the pod may stay in spite of the taints; None for ever."""
    limits: list[float] = []
    for taint in taints:
        used = next(
            (
                toleration
                for toleration in objects.spec(pod).get("tolerations") or ()
                if scheduler.tolerates(toleration, taint)
            ),
            None,
        )
        if used is None:
            return 0.0
        if used.get("tolerationSeconds") is not None:
            limits.append(max(0.0, float(used["tolerationSeconds"])))
    return min(limits, default=None)


class TaintEviction:
    """Evicts pods; remembers since when each pod is only tolerated for a time."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def forget(self, pod: json.JsonObject) -> None:
        """Drop what is remembered about a pod that is gone."""
        self._since.pop(objects.uid(pod), None)

    def reconcile(self, cluster: view.View, key: view.Key, at: times.Instant) -> actions.Result:
        """Return the eviction of the pod at `key` if its node's taints ask for it now."""
        pod = cluster.get("Pod", key.namespace, key.name)
        if pod is None or objects.is_deleting(pod):
            return actions.NOTHING
        node = cluster.get("Node", "", str(objects.spec(pod).get("nodeName") or ""))
        limit = tolerated_for(pod, taints_of(node))
        if limit is None:
            self.forget(pod)
            return actions.NOTHING
        since = self._since.setdefault(objects.uid(pod), at.seconds)
        if (left := since + limit - at.seconds) > 0:
            return actions.Result(requeue_after=left)
        title = f"{objects.namespace(pod)}/{objects.name(pod)}"
        message = f"Marking for deletion Pod {title}"
        reason = "Taint manager: deleting due to NoExecute taint"
        return actions.Result(
            (
                actions.Emit(pod, "Normal", "TaintManagerEviction", message, COMPONENT),
                actions.UpdateStatus(pods.disrupted(pod, "DeletionByTaintManager", reason, at)),
                actions.Delete(pod),
            )
        )
