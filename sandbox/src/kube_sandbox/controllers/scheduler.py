"""The scheduler: gives each pod a node, the least crowded of those that take it."""

from collections.abc import Sequence

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import conditions, objects, selectors, times
from kube_sandbox.controllers.framework import actions, view

COMPONENT = "default-scheduler"
_TOLERATED = ("NoSchedule", "NoExecute")


def reconcile(cluster: view.View, key: view.Key, at: times.Instant) -> actions.Result:
    """Return the binding of the pod at `key`, or the event that says why there is none."""
    pod = cluster.get("Pod", key.namespace, key.name)
    if pod is None or objects.spec(pod).get("nodeName") or objects.is_deleting(pod):
        return actions.NOTHING
    nodes = cluster.list("Node")
    fitting = [each for each in nodes if fits(pod, each)]
    if not fitting:
        return actions.Result(_unschedulable(pod, len(nodes), at))
    crowd = _crowd(cluster)
    node = min(fitting, key=lambda each: (crowd.get(objects.name(each), 0), objects.name(each)))
    title = f"{objects.namespace(pod)}/{objects.name(pod)}"
    message = f"Successfully assigned {title} to {objects.name(node)}"
    return actions.Result(
        (
            actions.Bind(pod, objects.name(node)),
            actions.Emit(pod, "Normal", "Scheduled", message, COMPONENT),
        )
    )


def fits(pod: json.JsonObject, node: json.JsonObject) -> bool:
    """Tell whether the node takes the pod: selector, required affinity, cordon, taints."""
    return selects(pod, node) and _is_tolerated(pod, node, _TOLERATED)


def keeps(pod: json.JsonObject, node: json.JsonObject) -> bool:
    """Tell whether the pod may stay on the node: of taints, only ``NoExecute`` counts."""
    return selects(pod, node) and _is_tolerated(pod, node, ("NoExecute",))


def selects(pod: json.JsonObject, node: json.JsonObject) -> bool:
    """Tell whether the pod's selector and required affinity take the node."""
    wanted = objects.spec(pod).get("nodeSelector") or {}
    labels = objects.labels(node)
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return _has_affinity(pod, node)


def _is_tolerated(pod: json.JsonObject, node: json.JsonObject, effects: Sequence[str]) -> bool:
    tolerations = objects.spec(pod).get("tolerations") or ()
    taints = list(objects.spec(node).get("taints") or ())
    if objects.spec(node).get("unschedulable"):
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    return all(
        each.get("effect") not in effects or any(tolerates(one, each) for one in tolerations)
        for each in taints
    )


def _has_affinity(pod: json.JsonObject, node: json.JsonObject) -> bool:
    affinity = (objects.spec(pod).get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = required.get("nodeSelectorTerms")
    return not terms or any(_term_matches(each, node) for each in terms)


def _term_matches(term: json.JsonObject, node: json.JsonObject) -> bool:
    by_label = {"matchExpressions": term.get("matchExpressions") or []}
    by_field = {"matchExpressions": term.get("matchFields") or []}
    fields = {"metadata.name": objects.name(node)}
    return selectors.matches(by_label, objects.labels(node)) and selectors.matches(by_field, fields)


def tolerates(toleration: json.JsonObject, taint: json.JsonObject) -> bool:
    """Tell whether the toleration accepts the taint."""
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if not toleration.get("key"):
        return toleration.get("operator") == "Exists"
    if toleration["key"] != taint.get("key"):
        return False
    exists = toleration.get("operator") == "Exists"
    return exists or (toleration.get("value") or "") == (taint.get("value") or "")


def _crowd(cluster: view.View) -> dict[str, int]:
    crowd: dict[str, int] = {}
    for pod in cluster.list("Pod"):
        node = str(objects.spec(pod).get("nodeName") or "")
        crowd[node] = crowd.get(node, 0) + 1
    return crowd


def _unschedulable(
    pod: json.JsonObject, nodes: int, at: times.Instant
) -> tuple[actions.Write, ...]:
    message = f"0/{nodes} nodes are available: none takes the pod."
    noted = {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": at.stamp,
        "reason": "Unschedulable",
        "message": message,
    }
    before = objects.status(pod).get("conditions") or []
    known = conditions.find(before, "PodScheduled")
    if known is not None and known.get("message") == message:
        return ()
    listed = [*conditions.without(before, "PodScheduled"), noted]
    return (
        actions.UpdateStatus(objects.changed(pod, ("status", "conditions"), listed)),
        actions.Emit(pod, "Warning", "FailedScheduling", message, COMPONENT),
    )
