"""The strategies of a Deployment: RollingUpdate grows the new ReplicaSet into the surge, Recreate
waits until all old pods are gone.
"""

from collections.abc import Sequence

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.controllers.framework import actions
from kube_sandbox.controllers.workloads.deployments import replicasets, sizes


def roll(deployment: json.JsonObject, found: replicasets.Family) -> list[actions.Write]:
    """Return the next resizes: first up, and only when there is nothing to grow, down."""
    assert found.new is not None
    return _grow(deployment, found) or _shrink(deployment, found)


def _grow(deployment: json.JsonObject, found: replicasets.Family) -> list[actions.Write]:
    assert found.new is not None
    wanted, current = objects.replicas(deployment), objects.replicas(found.new)
    if current == wanted:
        return []
    size = wanted if current > wanted else sizes.new_size(deployment, found.new, found.old)
    return [] if size == current else list(replicasets.resize(deployment, found.new, size))


def _shrink(deployment: json.JsonObject, found: replicasets.Family) -> list[actions.Write]:
    """Take pods from the old ReplicaSets, the sick first (Kubernetes: reconcileOldReplicaSets)."""
    assert found.new is not None
    old = found.active_old
    minimum = objects.replicas(deployment) - sizes.max_unavailable(deployment)
    unavailable = objects.replicas(found.new) - objects.count(found.new, "availableReplicas")
    room = sizes.total(old) + objects.replicas(found.new) - minimum - unavailable
    if not old or room <= 0:
        return []
    after_sick = _without_sick(old, room)
    # A ReplicaSet that was shrunk a moment ago still counts the pods it is about to stop.
    available = sum(
        min(objects.count(each, "availableReplicas"), objects.replicas(each)) for each in found.all
    )
    targets = _without_healthy(after_sick, max(0, available - minimum))
    return [
        write
        for each, size in zip(old, targets, strict=True)
        if size != objects.replicas(each)
        for write in replicasets.resize(deployment, each, size)
    ]


def _without_sick(old: Sequence[json.JsonObject], room: int) -> list[int]:
    targets = []
    for each in old:
        size = objects.replicas(each)
        sick = max(0, size - objects.count(each, "availableReplicas"))
        taken = min(room, sick)
        room -= taken
        targets.append(size - taken)
    return targets


def _without_healthy(sizes_now: Sequence[int], room: int) -> list[int]:
    targets = []
    for size in sizes_now:
        taken = min(size, room)
        room -= taken
        targets.append(size - taken)
    return targets


def stop_old(deployment: json.JsonObject, found: replicasets.Family) -> list[actions.Write]:
    """Scale every old ReplicaSet to nothing."""
    return [write for each in found.active_old for write in replicasets.resize(deployment, each, 0)]


def has_old_pods(found: replicasets.Family, pods: Sequence[json.JsonObject]) -> bool:
    """Tell whether old pods still run; `pods` are those of all the ReplicaSets, dying ones too."""
    if any(objects.count(each, "replicas") > 0 for each in found.old):
        return True
    new = objects.uid(found.new) if found.new is not None else ""
    return any(_owner(each) != new and _is_unfinished(each) for each in pods)


def start_new(deployment: json.JsonObject, found: replicasets.Family) -> list[actions.Write]:
    """Scale the new ReplicaSet to the wanted size."""
    assert found.new is not None
    wanted = objects.replicas(deployment)
    if objects.replicas(found.new) == wanted:
        return []
    return list(replicasets.resize(deployment, found.new, wanted))


def _owner(pod: json.JsonObject) -> str:
    return str((objects.controller(pod) or {}).get("uid", ""))


def _is_unfinished(pod: json.JsonObject) -> bool:
    return objects.status(pod).get("phase") not in ("Succeeded", "Failed")
