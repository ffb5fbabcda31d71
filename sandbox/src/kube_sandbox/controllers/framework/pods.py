"""Pods as the workload controllers see them: making, counting, choosing the next to go."""

from collections.abc import Mapping, Sequence

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import conditions, objects, selectors, times
from kube_sandbox.controllers.framework import actions, view

_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def is_finished(pod: json.JsonObject) -> bool:
    """Tell whether the pod has run to its end."""
    return objects.status(pod).get("phase") in ("Succeeded", "Failed")


def is_active(pod: json.JsonObject) -> bool:
    """Tell whether the pod counts: it neither ended nor is it being deleted."""
    return not is_finished(pod) and not objects.is_deleting(pod)


def is_terminating(pod: json.JsonObject) -> bool:
    """Tell whether the pod is on its way out but still holds its place."""
    return objects.is_deleting(pod) and not is_finished(pod)


def is_ready(pod: json.JsonObject) -> bool:
    """Tell whether the pod's Ready condition is true."""
    return conditions.is_true(objects.status(pod).get("conditions") or (), "Ready")


def available_after(
    cluster: view.View, pod: json.JsonObject, *, minimum: int, at: times.Instant
) -> float | None:
    """Sandbox seconds until the pod is available, 0 when it is, None when it is not ready.

    `minimum` is ``minReadySeconds``.
    """
    if not is_ready(pod):
        return None
    since = cluster.ready_since(pod)
    elapsed = at.seconds - since if since is not None else 0.0
    return max(0.0, minimum - elapsed)


def make(
    owner: json.JsonObject,
    template: json.JsonObject,
    *,
    name: str = "",
    labels: Mapping[str, str] | None = None,
) -> json.JsonObject:
    """Build a pod of a template, named `name` or by the server after its owner."""
    wanted = template.get("metadata") or {}
    metadata: json.JsonObject = {
        "namespace": objects.namespace(owner),
        "labels": {**(wanted.get("labels") or {}), **(labels or {})},
        "ownerReferences": [objects.controller_reference(owner)],
    }
    if wanted.get("annotations"):
        metadata["annotations"] = dict(wanted["annotations"])
    if wanted.get("finalizers"):
        metadata["finalizers"] = list(wanted["finalizers"])
    if name:
        metadata["name"] = name
    else:
        metadata["generateName"] = f"{objects.name(owner)}-"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": dict(template.get("spec") or {}),
    }


def creation(pod: json.JsonObject, owner: json.JsonObject, component: str) -> actions.Create:
    """Create a pod for its owner and say so, or say why it was refused."""
    announce = actions.Emit(owner, "Normal", "SuccessfulCreate", "Created pod: {name}", component)

    def refused(message: str) -> tuple[actions.Write, ...]:
        text = f"Error creating: {message}"
        return (actions.Emit(owner, "Warning", "FailedCreate", text, component),)

    return actions.Create(pod, announce, refused)


def adopted(obj: json.JsonObject, owner: json.JsonObject) -> actions.Update:
    """Make `owner` the object's controller."""
    references = [
        *(objects.metadata(obj).get("ownerReferences") or ()),
        objects.controller_reference(owner),
    ]
    return actions.Update(objects.changed(obj, ("metadata", "ownerReferences"), references))


def released(obj: json.JsonObject, owner: json.JsonObject) -> actions.Update:
    """Give the object up: its labels no longer match."""
    references = [
        each
        for each in objects.metadata(obj).get("ownerReferences") or ()
        if each.get("uid") != objects.uid(owner)
    ]
    return actions.Update(objects.changed(obj, ("metadata", "ownerReferences"), references))


def claim(
    cluster: view.View, owner: json.JsonObject
) -> tuple[list[json.JsonObject], tuple[actions.Write, ...]]:
    """Return the pods `owner` controls, and the adoptions and releases that are due.

    Matching pods without a controller are adopted, owned ones that stopped to match
    are released (Kubernetes: PodControllerRefManager).
    """
    selector = objects.selector(owner)
    mine, writes = [], list[actions.Write]()
    for pod in cluster.owned(objects.uid(owner), "Pod"):
        if not objects.is_controlled_by(pod, owner):
            continue
        if selectors.matches(selector, objects.labels(pod)):
            mine.append(pod)
        elif not objects.is_deleting(owner):
            writes.append(released(pod, owner))
    if not objects.is_deleting(owner) and not selectors.is_empty(selector):
        writes.extend(
            adopted(pod, owner)
            for pod in cluster.orphans("Pod", objects.namespace(owner))
            if is_active(pod) and selectors.matches(selector, objects.labels(pod))
        )
    return mine, tuple(writes)


def disrupted(
    pod: json.JsonObject, reason: str, message: str, at: times.Instant
) -> json.JsonObject:
    """Return the pod with the condition that says who is about to delete it."""
    note = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": at.stamp,
        "reason": reason,
        "message": message,
    }
    before = objects.status(pod).get("conditions") or []
    return objects.changed(pod, ("status", "conditions"), conditions.put(before, note))


def next_to_go(
    cluster: view.View, running: Sequence[json.JsonObject], at: times.Instant
) -> list[json.JsonObject]:
    """Sort pods by how little harm their deletion does (Kubernetes: ActivePodsWithRanks).

    Unassigned before assigned, pending before running, not ready before ready, cheap
    before dear, from crowded nodes, the youngest first.
    """
    crowd: dict[str, int] = {}
    for pod in running:
        node = str(objects.spec(pod).get("nodeName") or "")
        crowd[node] = crowd.get(node, 0) + 1

    def rank(pod: json.JsonObject) -> tuple[int, int, bool, int, int, float, int]:
        node = str(objects.spec(pod).get("nodeName") or "")
        since = cluster.ready_since(pod)
        return (
            1 if node else 0,
            _PHASES.get(str(objects.status(pod).get("phase")), 0),
            is_ready(pod),
            _cost(pod),
            -crowd[node],
            at.seconds - since if since is not None else 0.0,
            -restarts(pod),
        )

    youngest_first = sorted(running, key=objects.created, reverse=True)
    return sorted(youngest_first, key=rank)


def restarts(pod: json.JsonObject) -> int:
    """Restarts of all containers together."""
    statuses = objects.status(pod).get("containerStatuses") or ()
    return sum(int(each.get("restartCount") or 0) for each in statuses)


def _cost(pod: json.JsonObject) -> int:
    try:
        return int(objects.annotations(pod).get(_COST, "0"))
    except ValueError:
        return 0
