"""The ReplicaSet controller: keep as many pods as wanted, count them honestly.

A ReplicationController is the older form of the same thing: only its selector is plain labels.
"""

from collections.abc import Sequence

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import conditions, objects, selectors, times
from kube_sandbox.controllers.framework import actions, pods, view

#: By kind, the component that speaks in events.
_COMPONENTS = {
    "ReplicaSet": "replicaset-controller",
    "ReplicationController": "replication-controller",
}
#: Pods made or deleted in one go (Kubernetes: BurstReplicas).
_BURST = 500
_FAILURE = "ReplicaFailure"


def reconcile(cluster: view.View, key: view.Key, at: times.Instant) -> actions.Result:
    """Return the next writes for the ReplicaSet or ReplicationController at `key`.

    The status tells what was there *before* this look's pods are made or deleted, as
    Kubernetes does; their appearance brings the ReplicaSet back.
    """
    replica_set = cluster.get(key.kind, key.namespace, key.name)
    if replica_set is None:
        return actions.NOTHING
    mine, claims = pods.claim(cluster, replica_set)
    running = [each for each in mine if pods.is_active(each)]
    status, again = _counted(cluster, replica_set, mine, at)
    writes: list[actions.Write] = list(claims)
    if not objects.is_deleting(replica_set):
        writes.extend(_sized(cluster, replica_set, running, status, at))
    if status != objects.status(replica_set):
        writes.append(actions.UpdateStatus({**replica_set, "status": status}))
    return actions.Result(tuple(writes), requeue_after=again)


def _sized(
    cluster: view.View,
    replica_set: json.JsonObject,
    running: Sequence[json.JsonObject],
    status: json.JsonObject,
    at: times.Instant,
) -> list[actions.Write]:
    missing = objects.replicas(replica_set) - len(running)
    if missing >= 0:
        return [_creation(replica_set, status, at)] * min(missing, _BURST)
    doomed = pods.next_to_go(cluster, running, at)[: min(-missing, _BURST)]
    return [write for each in doomed for write in stopped(replica_set, each)]


def _creation(
    replica_set: json.JsonObject, status: json.JsonObject, at: times.Instant
) -> actions.Create:
    """Make a pod; if it is refused, the status says so as well."""
    template = objects.spec(replica_set).get("template") or {}
    component = _COMPONENTS[objects.kind(replica_set)]
    wanted = pods.creation(pods.make(replica_set, template), replica_set, component)

    def refused(message: str) -> tuple[actions.Write, ...]:
        note = {
            "type": _FAILURE,
            "status": "True",
            "lastTransitionTime": at.stamp,
            "reason": "FailedCreate",
            "message": message,
        }
        before = objects.status(replica_set).get("conditions") or ()
        failed = {**status, "conditions": conditions.put(before, note)}
        told = tuple(wanted.refused(message)) if wanted.refused else ()
        return (*told, actions.UpdateStatus({**replica_set, "status": failed}))

    return actions.Create(wanted.body, wanted.announce, refused)


def stopped(owner: json.JsonObject, pod: json.JsonObject) -> tuple[actions.Write, ...]:
    """Delete a pod and say so, as the ReplicaSet controller does."""
    message = f"Deleted pod: {objects.name(pod)}"
    return (
        actions.Delete(pod),
        actions.Emit(
            owner, "Normal", "SuccessfulDelete", message, _COMPONENTS[objects.kind(owner)]
        ),
    )


def _counted(
    cluster: view.View,
    replica_set: json.JsonObject,
    mine: Sequence[json.JsonObject],
    at: times.Instant,
) -> tuple[json.JsonObject, float | None]:
    running = [each for each in mine if pods.is_active(each)]
    minimum = int(objects.spec(replica_set).get("minReadySeconds") or 0)
    waits = [pods.available_after(cluster, each, minimum=minimum, at=at) for each in running]
    labelled = {"matchLabels": _template_labels(replica_set)}
    counters = {
        "replicas": len(running),
        "fullyLabeledReplicas": sum(
            selectors.matches(labelled, objects.labels(each)) for each in running
        ),
        "readyReplicas": sum(wait is not None for wait in waits),
        "availableReplicas": sum(wait == 0 for wait in waits),
        "terminatingReplicas": sum(pods.is_terminating(each) for each in mine),
        "observedGeneration": objects.generation(replica_set),
        "conditions": conditions.without(
            objects.status(replica_set).get("conditions") or (), _FAILURE
        ),
    }
    if objects.kind(replica_set) == "ReplicationController":
        del counters["terminatingReplicas"]
    pending = [wait for wait in waits if wait]
    status = objects.without_empty(counters, keep=("replicas", "terminatingReplicas"))
    return status, min(pending) if pending else None


def _template_labels(replica_set: json.JsonObject) -> dict[str, str]:
    template = objects.spec(replica_set).get("template") or {}
    return dict((template.get("metadata") or {}).get("labels") or {})
