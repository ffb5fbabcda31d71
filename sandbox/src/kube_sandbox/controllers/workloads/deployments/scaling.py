"""A Deployment's size has changed, or it is paused: spread the size over its ReplicaSets."""

from collections.abc import Sequence

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.controllers.framework import actions
from kube_sandbox.controllers.workloads.deployments import replicasets, sizes


def is_due(deployment: json.JsonObject, found: replicasets.Family) -> bool:
    """Tell whether an active ReplicaSet was sized for another number of pods."""
    wanted = str(objects.replicas(deployment))
    annotated = (
        objects.annotations(each).get(sizes.DESIRED) for each in replicasets.active(found.all)
    )
    return any(each is not None and each != wanted for each in annotated)


def spread(deployment: json.JsonObject, found: replicasets.Family) -> list[actions.Write]:
    """Return the resizes (Kubernetes: scale).

    A single active ReplicaSet takes the whole size; a complete rollout empties the
    old ones; in the middle of a rolling update all of them share proportionally.
    """
    wanted = objects.replicas(deployment)
    single = _active_or_latest(found)
    if single is not None:
        if objects.replicas(single) == wanted:
            return []
        return list(replicasets.resize(deployment, single, wanted))
    if _is_saturated(deployment, found.new):
        return [
            write for each in found.active_old for write in replicasets.resize(deployment, each, 0)
        ]
    if not sizes.is_rolling(deployment):
        return []
    return _share(deployment, replicasets.active(found.all))


def _active_or_latest(found: replicasets.Family) -> json.JsonObject | None:
    active = replicasets.active(found.all)
    if len(active) == 1:
        return active[0]
    if active:
        return None
    if found.new is not None:
        return found.new
    return found.old[-1] if found.old else None


def _is_saturated(deployment: json.JsonObject, new: json.JsonObject | None) -> bool:
    if new is None:
        return False
    wanted = objects.replicas(deployment)
    return (
        objects.replicas(new) == wanted
        and objects.annotations(new).get(sizes.DESIRED) == str(wanted)
        and objects.count(new, "availableReplicas") == wanted
    )


def _share(deployment: json.JsonObject, active: Sequence[json.JsonObject]) -> list[actions.Write]:
    wanted = objects.replicas(deployment)
    allowed = wanted + sizes.max_surge(deployment) if wanted > 0 else 0
    to_add = allowed - sizes.total(active)
    # Bigger ones first; among equals the newer grow first and the older shrink first.
    by_age = list(reversed(active)) if to_add > 0 else list(active)
    ordered = sorted(by_age, key=objects.replicas, reverse=True)
    targets, added = [], 0
    for each in ordered:
        part = sizes.proportion(deployment, each, to_add=to_add, added=added)
        targets.append(objects.replicas(each) + part)
        added += part
    if ordered and to_add:
        targets[0] = max(0, targets[0] + to_add - added)
    return [
        write
        for each, size in zip(ordered, targets, strict=True)
        for write in replicasets.resize(deployment, each, size)
    ]
