"""Pod garbage collection: pods bound to a node that is no longer there are removed by force."""

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects, times
from kube_sandbox.controllers.framework import actions, pods, view

#: Sandbox seconds a node may be missing before its pods go (Kubernetes: quarantineTime).
_QUARANTINE = 40.0


class PodCollector:
    """Removes the pods of lost nodes; remembers since when a node is missing."""

    def __init__(self) -> None:
        self._missing_since: dict[str, float] = {}

    def note_node(self, node: json.JsonObject) -> None:
        """Take in that the node is there."""
        self._missing_since.pop(objects.name(node), None)

    def reconcile(self, cluster: view.View, key: view.Key, at: times.Instant) -> actions.Result:
        """Return the removal of the pod at `key` if its node has been missing long enough."""
        pod = cluster.get("Pod", key.namespace, key.name)
        node = str(objects.spec(pod or {}).get("nodeName") or "")
        if pod is None or not node or cluster.get("Node", "", node) is not None:
            return actions.NOTHING
        since = self._missing_since.setdefault(node, at.seconds)
        if (left := since + _QUARANTINE - at.seconds) > 0:
            return actions.Result(requeue_after=left)
        status = objects.status(
            pods.disrupted(pod, "DeletionByPodGC", "PodGC: node no longer exists", at)
        )
        if not pods.is_finished(pod):
            status = {**status, "phase": "Failed"}
        return actions.Result(
            (
                actions.UpdateStatus({**pod, "status": status}),
                actions.Delete(pod, grace_seconds=0),
            )
        )
