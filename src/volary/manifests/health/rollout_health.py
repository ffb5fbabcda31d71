"""Health of what runs pods under controllers of others: Argo Rollouts, OpenKruise, Flagger."""

from volary.manifests import objects
from volary.manifests.health import conditions, workload_health
from volary.manifests.workloads import workloads
from volary.model import json
from volary.model.objects import object_health

_WORKLOAD_GENERATION = "rollout.argoproj.io/workload-generation"


def rollout(body: json.JsonObject) -> object_health.Health:
    """Judge a Rollout (Argo CD: argoproj.io/Rollout); one that waits to go on is not healthy."""
    if waiting := _rollout_unobserved(body):
        return waiting
    if invalid := conditions.find_true(body, "InvalidSpec"):
        return conditions.degraded(invalid.explain(), permanent=True)
    message = conditions.shorten(objects.text(body, "status", "message"))
    phase = objects.text(body, "status", "phase")
    if phase == "Paused":
        return conditions.suspended(f"paused: {message}" if message else "paused")
    if phase == "Healthy":
        # Paused by its specification it takes no new version, whatever it was when it was judged.
        is_paused = objects.value(body, "spec", "paused") is True
        return conditions.suspended("paused") if is_paused else workload_health.replica_counts(body)
    return _unfinished(body, phase, message)


def _unfinished(body: json.JsonObject, phase: str, message: str) -> object_health.Health:
    if phase == "Degraded":
        return conditions.degraded(message or "degraded")
    if phase == "Progressing":
        return conditions.progressing(message or workload_health.replica_counts(body).reason)
    return _without_phase(body)


def _rollout_unobserved(body: json.JsonObject) -> object_health.Health | None:
    """Return "progressing" until the newest generation was seen.

    It is written as text; a hash, or a number above the generation, is an old controller's.
    """
    written = objects.value(body, "status", "observedGeneration")
    if written in (None, ""):
        return conditions.progressing("not observed by its controller yet")
    if waiting := conditions.unobserved(body):
        return waiting
    wanted = objects.text(body, "metadata", "annotations", _WORKLOAD_GENERATION)
    seen = objects.text(body, "status", "workloadObservedGeneration")
    if objects.mapping(body, "spec", "workloadRef") and wanted != seen:
        return conditions.progressing("the newest workload is not observed yet")
    return None


def _without_phase(body: json.JsonObject) -> object_health.Health:
    """Judge what a controller older than 1.1 writes."""
    deadline = conditions.find(body, "Progressing")
    if deadline and deadline.reason in ("ProgressDeadlineExceeded", "RolloutAborted"):
        return conditions.degraded(deadline.explain())
    paused = objects.sequence(body, "status", "pauseConditions")
    if paused or objects.value(body, "spec", "paused") is True:
        return conditions.suspended("paused")
    return workload_health.replica_counts(body)


def clone_set(body: json.JsonObject) -> object_health.Health:
    """Judge a CloneSet (OpenKruise), with a partition or without."""
    if objects.value(body, "spec", "updateStrategy", "paused") is True:
        return conditions.suspended("paused, pods are not updated until it is resumed")
    if waiting := workload_health.unobserved(body):
        return waiting
    wanted = workloads.replicas(body)
    total = objects.number(body, "status", "replicas")
    updated = objects.number(body, "status", "updatedReplicas")
    expected = objects.number(body, "status", "expectedUpdatedReplicas", default=-1)
    if expected < 0:
        expected = wanted - _held_back(body, wanted)
    available = objects.number(body, "status", "availableReplicas")
    held = f", {wanted - expected} held back by the partition" if expected < wanted else ""
    if updated < expected:
        return conditions.progressing(f"{updated} of {expected} pods updated{held}")
    if total > wanted:
        return workload_health.terminating(total - wanted, "surplus")
    if available < wanted:
        return conditions.progressing(f"{available} of {wanted} pods available")
    return conditions.healthy(f"{available} of {wanted} pods available{held}")


def _held_back(body: json.JsonObject, wanted: int) -> int:
    """Return how many pods the partition keeps at the old revision; rounded up."""
    partition = objects.value(body, "spec", "updateStrategy", "partition")
    if isinstance(partition, str) and partition.removesuffix("%").isdecimal():
        percent = min(int(partition.removesuffix("%")[:3]), 100)
        return -(-wanted * percent // 100) if partition.endswith("%") else min(percent, wanted)
    return min(partition, wanted) if isinstance(partition, int) else 0


def stateful_set(body: json.JsonObject) -> object_health.Health:
    """Judge an Advanced StatefulSet (OpenKruise)."""
    return _unless_paused(body) or workload_health.stateful_set(body)


def daemon_set(body: json.JsonObject) -> object_health.Health:
    """Judge an Advanced DaemonSet (OpenKruise); its partition holds pods back as well."""
    partition = objects.number(body, "spec", "updateStrategy", "rollingUpdate", "partition")
    return _unless_paused(body) or workload_health.daemon_set(body, partition)


def _unless_paused(body: json.JsonObject) -> object_health.Health | None:
    if objects.value(body, "spec", "updateStrategy", "rollingUpdate", "paused") is True:
        return conditions.suspended("paused, pods are not updated until it is resumed")
    return None


def canary(body: json.JsonObject) -> object_health.Health:
    """Judge a Canary (Flagger) by its phase."""
    phase = objects.text(body, "status", "phase")
    promoted = conditions.find(body, "Promoted")
    said = promoted.explain() if promoted else phase.lower()
    match phase:
        case "Initialized" | "Succeeded":
            return conditions.healthy(phase.lower())
        case "Failed":
            return conditions.degraded(said)
        case "Waiting" | "WaitingPromotion":
            return conditions.suspended(said)
        case _:
            return conditions.progressing(said or "not observed by its controller yet")
