"""A Deployment's status: counters and the conditions Available, Progressing, ReplicaFailure.

Reasons and messages are those of Kubernetes (deploymentutil), because people and
programs (`kubectl rollout status` among them) read them.
"""

from typing import Any

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import conditions, objects, times
from kube_sandbox.controllers.workloads.deployments import replicasets, sizes

CREATED = "NewReplicaSetCreated"
FOUND = "FoundNewReplicaSet"
UPDATED = "ReplicaSetUpdated"
COMPLETE = "NewReplicaSetAvailable"
TIMED_OUT = "ProgressDeadlineExceeded"
PAUSED = "DeploymentPaused"
RESUMED = "DeploymentResumed"
#: ``math.MaxInt32`` stands for "no deadline".
_NEVER = 2**31 - 1


def condition(
    kind: str, status: str, *, reason: str, message: str, at: times.Instant
) -> json.JsonObject:
    """Build a Deployment condition."""
    return {
        "type": kind,
        "status": status,
        "lastUpdateTime": at.stamp,
        "lastTransitionTime": at.stamp,
        "reason": reason,
        "message": message,
    }


def deadline(deployment: json.JsonObject) -> int | None:
    """``progressDeadlineSeconds`` if there is one."""
    value = objects.spec(deployment).get("progressDeadlineSeconds")
    return None if value is None or int(value) == _NEVER else int(value)


def has_reason(deployment: json.JsonObject, reason: str) -> bool:
    """Tell whether the Progressing condition has that reason."""
    found = conditions.find(_conditions(deployment), "Progressing")
    return found is not None and found.get("reason") == reason


def with_revision(
    deployment: json.JsonObject, new: json.JsonObject, *, made: bool, at: times.Instant
) -> json.JsonObject | None:
    """Return the Deployment with the new ReplicaSet's revision noted; None if it was.

    The annotation is written together with the status, as Kubernetes does it.
    """
    changed = deployment
    number = objects.annotations(new).get(replicasets.REVISION, "")
    if objects.annotations(deployment).get(replicasets.REVISION) != number:
        changed = objects.changed(
            changed, ("metadata", "annotations", replicasets.REVISION), number
        )
    current = conditions.find(_conditions(deployment), "Progressing")
    if deadline(deployment) is not None and (made or current is None):
        reason, verb = (CREATED, "Created") if made else (FOUND, "Found")
        message = f'{verb} new replica set "{objects.name(new)}"'
        note = condition("Progressing", "True", reason=reason, message=message, at=at)
        changed = objects.changed(
            changed, ("status", "conditions"), conditions.put(_conditions(deployment), note)
        )
    return None if changed is deployment else changed


def with_pause_noted(deployment: json.JsonObject, at: times.Instant) -> json.JsonObject | None:
    """Return the Deployment with its pausing or resuming noted as a condition; None if it is."""
    if deadline(deployment) is None or has_reason(deployment, TIMED_OUT):
        return None
    paused, noted = bool(objects.spec(deployment).get("paused")), has_reason(deployment, PAUSED)
    if paused == noted:
        return None
    reason, message = (
        (PAUSED, "Deployment is paused") if paused else (RESUMED, "Deployment is resumed")
    )
    note = condition("Progressing", "Unknown", reason=reason, message=message, at=at)
    return objects.changed(
        deployment, ("status", "conditions"), conditions.put(_conditions(deployment), note)
    )


def counted(
    deployment: json.JsonObject, found: replicasets.Family, at: times.Instant
) -> json.JsonObject:
    """Compute counters and the Available condition; Progressing stays as it is."""
    available = _sum(found, "availableReplicas")
    wanted = objects.replicas(deployment)
    new = found.new
    enough = available >= wanted - sizes.max_unavailable(deployment)
    if enough:
        status, reason = "True", "MinimumReplicasAvailable"
        message = "Deployment has minimum availability."
    else:
        status, reason = "False", "MinimumReplicasUnavailable"
        message = "Deployment does not have minimum availability."
    note = condition("Available", status, reason=reason, message=message, at=at)
    counters: dict[str, Any] = {
        "observedGeneration": objects.generation(deployment),
        "replicas": _sum(found, "replicas"),
        "updatedReplicas": objects.count(new, "replicas") if new is not None else 0,
        "readyReplicas": _sum(found, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, sizes.total(found.all) - available),
        "terminatingReplicas": _sum(found, "terminatingReplicas"),
        "conditions": conditions.put(_conditions(deployment), note),
        "collisionCount": objects.status(deployment).get("collisionCount"),
    }
    return objects.without_empty(counters, keep=("terminatingReplicas",))


def judged(
    deployment: json.JsonObject,
    found: replicasets.Family,
    status: json.JsonObject,
    *,
    waited: float,
    at: times.Instant,
) -> json.JsonObject:
    """Add what is to be said about progress (Kubernetes: syncRolloutStatus).

    `waited` is how many sandbox seconds ago the rollout last moved.
    """
    current = conditions.find(_conditions(deployment), "Progressing")
    listed = status["conditions"]
    limit = deadline(deployment)
    if limit is None:
        listed = conditions.without(listed, "Progressing")
    elif not _was_complete(status, current):
        listed = _progressing(deployment, found, status, waited=waited, at=at)
    return {**status, "conditions": _with_failure(listed, found)}


def time_left(deployment: json.JsonObject, *, waited: float) -> float | None:
    """Sandbox seconds until the deadline must be looked at again; None if it needs not."""
    limit = deadline(deployment)
    current = conditions.find(_conditions(deployment), "Progressing")
    if limit is None or current is None or current.get("reason") in (COMPLETE, TIMED_OUT):
        return None
    return max(0.0, limit - waited)


def is_complete(deployment: json.JsonObject, status: json.JsonObject) -> bool:
    """Tell whether every pod is of the new template and available."""
    wanted = objects.replicas(deployment)
    return all(
        status.get(field, 0) == wanted
        for field in ("updatedReplicas", "replicas", "availableReplicas")
    ) and status.get("observedGeneration", 0) >= objects.generation(deployment)


def _was_complete(status: json.JsonObject, current: json.JsonObject | None) -> bool:
    return (
        status.get("replicas", 0) == status.get("updatedReplicas", 0)
        and current is not None
        and current.get("reason") == COMPLETE
    )


def _progressing(
    deployment: json.JsonObject,
    found: replicasets.Family,
    status: json.JsonObject,
    *,
    waited: float,
    at: times.Instant,
) -> list[json.JsonObject]:
    subject = _subject(deployment, found)
    listed = status["conditions"]
    current = conditions.find(listed, "Progressing")
    if is_complete(deployment, status):
        message = f"{subject} has successfully progressed."
        note = condition("Progressing", "True", reason=COMPLETE, message=message, at=at)
        return conditions.put(listed, note)
    if _moved(objects.status(deployment), status):
        message = f"{subject} is progressing."
        note = condition("Progressing", "True", reason=UPDATED, message=message, at=at)
        if current is not None and current.get("status") == "True":
            note["lastTransitionTime"] = current.get("lastTransitionTime")
        # Removed first, so that the update time moves even if nothing else does.
        return [*conditions.without(listed, "Progressing"), note]
    if _is_timed_out(deployment, current, waited):
        message = f"{subject} has timed out progressing."
        note = condition("Progressing", "False", reason=TIMED_OUT, message=message, at=at)
        return conditions.put(listed, note)
    return list(listed)


def _is_timed_out(
    deployment: json.JsonObject, current: json.JsonObject | None, waited: float
) -> bool:
    limit = deadline(deployment)
    if limit is None or current is None or current.get("reason") == COMPLETE:
        return False
    return current.get("reason") == TIMED_OUT or waited >= limit


def _moved(before: json.JsonObject, after: json.JsonObject) -> bool:
    """Compare as Kubernetes does: more updated, fewer old, more ready, more available."""

    def old(status: json.JsonObject) -> int:
        return int(status.get("replicas", 0)) - int(status.get("updatedReplicas", 0))

    grew = any(
        after.get(field, 0) > before.get(field, 0)
        for field in ("updatedReplicas", "readyReplicas", "availableReplicas")
    )
    return grew or old(after) < old(before)


def _with_failure(
    listed: list[json.JsonObject], found: replicasets.Family
) -> list[json.JsonObject]:
    failing = [
        each
        for replica_set in ([found.new] if found.new is not None else []) + list(found.old)
        for each in objects.status(replica_set).get("conditions") or ()
        if each.get("type") == "ReplicaFailure" and each.get("status") == "True"
    ]
    if not failing:
        return conditions.without(listed, "ReplicaFailure")
    note = {"lastUpdateTime": failing[0].get("lastTransitionTime"), **failing[0]}
    return conditions.put(listed, note)


def _subject(deployment: json.JsonObject, found: replicasets.Family) -> str:
    if found.new is not None:
        return f'ReplicaSet "{objects.name(found.new)}"'
    return f'Deployment "{objects.name(deployment)}"'


def _sum(found: replicasets.Family, field: str) -> int:
    return sum(objects.count(each, field) for each in found.all)


def _conditions(deployment: json.JsonObject) -> list[json.JsonObject]:
    return list(objects.status(deployment).get("conditions") or ())
