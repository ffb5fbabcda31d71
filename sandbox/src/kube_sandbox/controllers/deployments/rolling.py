"""RollingUpdate: grow the new ReplicaSet into the surge, shrink the old ones as far as it goes."""

from collections.abc import Sequence

from kube_sandbox import json
from kube_sandbox.controllers import objects, plan
from kube_sandbox.controllers.deployments import replicasets, sizes


def step(deployment: json.JsonObject, found: replicasets.Family) -> list[plan.Write]:
    """Return the next resizes: first up, and only when there is nothing to grow, down."""
    assert found.new is not None
    return _grow(deployment, found) or _shrink(deployment, found)


def _grow(deployment: json.JsonObject, found: replicasets.Family) -> list[plan.Write]:
    assert found.new is not None
    wanted, current = objects.replicas(deployment), objects.replicas(found.new)
    if current == wanted:
        return []
    size = wanted if current > wanted else sizes.new_size(deployment, found.new, found.old)
    return [] if size == current else list(replicasets.resize(deployment, found.new, size))


def _shrink(deployment: json.JsonObject, found: replicasets.Family) -> list[plan.Write]:
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
