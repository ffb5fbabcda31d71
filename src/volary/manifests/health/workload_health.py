"""Health of Deployment, StatefulSet, DaemonSet and ReplicaSet, and their counts of ready pods."""

from volary.manifests import objects
from volary.manifests.health import conditions
from volary.manifests.workloads import workloads
from volary.model import json
from volary.model.objects import object_health

_ON_DELETE = "OnDelete"


def deployment(body: json.JsonObject) -> object_health.Health:
    """Judge a Deployment as ``kubectl rollout status`` does."""
    if objects.value(body, "spec", "paused") is True:
        return conditions.suspended("paused, pods are not updated until it is resumed")
    if waiting := unobserved(body):
        return waiting
    deadline = conditions.find(body, "Progressing")
    if deadline and deadline.reason == "ProgressDeadlineExceeded":
        return conditions.degraded(deadline.explain(), permanent=True)
    if failure := conditions.find_true(body, "ReplicaFailure"):
        return conditions.degraded(failure.explain())
    return replica_counts(body)


def replica_set(body: json.JsonObject) -> object_health.Health:
    """Judge a ReplicaSet."""
    if waiting := unobserved(body):
        return waiting
    if failure := conditions.find_true(body, "ReplicaFailure"):
        return conditions.degraded(failure.explain())
    total = objects.number(body, "status", "replicas")
    available = objects.number(body, "status", "availableReplicas")
    wanted = workloads.replicas(body)
    return _counts(wanted=wanted, updated=total, total=total, available=available)


def stateful_set(body: json.JsonObject) -> object_health.Health:
    """Judge a StatefulSet, with a partition or without."""
    if waiting := unobserved(body):
        return waiting
    wanted = workloads.replicas(body)
    ready = objects.number(body, "status", "readyReplicas")
    # Older API servers do not count available pods.
    available = objects.number(body, "status", "availableReplicas", default=ready)
    updated = objects.number(body, "status", "updatedReplicas")
    if objects.text(body, "spec", "updateStrategy", "type") == _ON_DELETE:
        return _on_delete(wanted, updated, min(ready, available))
    partition = objects.number(body, "spec", "updateStrategy", "rollingUpdate", "partition")
    if waiting := _not_updated(body, wanted, updated, partition):
        return waiting
    if min(ready, available) < wanted:
        return conditions.progressing(f"{min(ready, available)} of {wanted} pods ready")
    if not partition and _has_two_revisions(body):
        return conditions.progressing("the new revision is not current yet")
    return conditions.healthy(f"{ready} of {wanted} pods ready")


def _not_updated(
    body: json.JsonObject, wanted: int, updated: int, partition: int
) -> object_health.Health | None:
    expected = max(wanted - partition, 0)
    if updated < expected:
        behind = f", {partition} are held back by the partition" if partition else ""
        return conditions.progressing(f"{updated} of {expected} pods updated{behind}")
    total = objects.number(body, "status", "replicas")
    if total > wanted:
        return terminating(total - wanted, "surplus")
    return None


def daemon_set(body: json.JsonObject, partition: int = 0) -> object_health.Health:
    """Judge a DaemonSet; a partition, which OpenKruise's have, holds pods back."""
    if waiting := unobserved(body):
        return waiting
    wanted = objects.number(body, "status", "desiredNumberScheduled")
    updated = objects.number(body, "status", "updatedNumberScheduled")
    available = objects.number(body, "status", "numberAvailable")
    if objects.text(body, "spec", "updateStrategy", "type") == _ON_DELETE:
        return _on_delete(wanted, updated, available)
    if updated < wanted - partition:
        return conditions.progressing(f"{updated} of {wanted - partition} pods updated")
    if available < wanted:
        return conditions.progressing(f"{available} of {wanted} pods available")
    if misplaced := objects.number(body, "status", "numberMisscheduled"):
        return terminating(misplaced, "misplaced")
    return conditions.healthy(f"{available} of {wanted} pods available")


def terminating(count: int, what: str) -> object_health.Health:
    """Return "progressing" while pods that are old, surplus or misplaced are there."""
    pods = "pod" if count == 1 else "pods"
    return conditions.progressing(f"waiting for {count} {what} {pods} to terminate")


def unobserved(body: json.JsonObject) -> object_health.Health | None:
    """Return "progressing" until the newest generation was seen, also without any status yet."""
    if not objects.number(body, "status", "observedGeneration"):
        return conditions.progressing("not observed by its controller yet")
    return conditions.unobserved(body)


def replica_counts(body: json.JsonObject) -> object_health.Health:
    """Judge by the numbers of a Deployment's status, which others write too."""
    return _counts(
        wanted=workloads.replicas(body),
        updated=objects.number(body, "status", "updatedReplicas"),
        total=objects.number(body, "status", "replicas"),
        available=objects.number(body, "status", "availableReplicas"),
    )


def _counts(*, wanted: int, updated: int, total: int, available: int) -> object_health.Health:
    """Judge by how many pods there are of the new revision, of all, and can be used."""
    if updated < wanted:
        return conditions.progressing(f"{updated} of {wanted} pods updated")
    if total > updated:
        return terminating(total - updated, "old")
    if total > wanted:
        return terminating(total - wanted, "surplus")
    if available < wanted:
        return conditions.progressing(f"{available} of {wanted} pods available")
    return conditions.healthy(f"{available} of {wanted} pods available")


def _on_delete(wanted: int, updated: int, ready: int) -> object_health.Health:
    """Pods are replaced only when somebody deletes them: old ones are no fault."""
    if ready < wanted:
        return conditions.progressing(f"{ready} of {wanted} pods ready")
    old = f", {wanted - updated} still of the old revision (OnDelete)" if updated < wanted else ""
    return conditions.healthy(f"{ready} of {wanted} pods ready{old}")


def _has_two_revisions(body: json.JsonObject) -> bool:
    current = objects.text(body, "status", "currentRevision")
    new = objects.text(body, "status", "updateRevision")
    return bool(current and new) and current != new


def pod_counts(body: json.JsonObject) -> tuple[int, int]:
    """Return how many pods of the newest revision are ready, and how many are wanted.

    0 are ready as long as the newest generation is not observed; 0 of 0 for other kinds.
    """
    state = objects.mapping(body, "status")
    observed = conditions.observed_generation(body) or 0
    current = observed >= objects.number(body, "metadata", "generation")
    match body.get("kind"):
        case "Deployment" | "Rollout" | "CloneSet":
            wanted = workloads.replicas(body)
            names = ("updatedReplicas", "availableReplicas")
        case "StatefulSet":
            wanted = workloads.replicas(body)
            names = ("updatedReplicas", "readyReplicas")
        case "ReplicaSet":
            wanted = workloads.replicas(body)
            names = ("readyReplicas", "availableReplicas")
        case "DaemonSet":
            wanted = objects.number(state, "desiredNumberScheduled")
            names = ("updatedNumberScheduled", "numberAvailable")
        case _:
            return 0, 0
    ready = min(objects.number(state, name) for name in names) if current else 0
    return min(ready, wanted), wanted
