"""Recreate: all old pods go before the first new one comes."""

from collections.abc import Sequence

from kube_sandbox import json
from kube_sandbox.controllers import objects, plan
from kube_sandbox.controllers.deployments import replicasets


def stop_old(deployment: json.JsonObject, found: replicasets.Family) -> list[plan.Write]:
    """Scale every old ReplicaSet to nothing."""
    return [write for each in found.active_old for write in replicasets.resize(deployment, each, 0)]


def has_old_pods(found: replicasets.Family, pods: Sequence[json.JsonObject]) -> bool:
    """Tell whether old pods still run; `pods` are those of all the ReplicaSets, dying ones too."""
    if any(objects.count(each, "replicas") > 0 for each in found.old):
        return True
    new = objects.uid(found.new) if found.new is not None else ""
    return any(_owner(each) != new and _is_unfinished(each) for each in pods)


def start_new(deployment: json.JsonObject, found: replicasets.Family) -> list[plan.Write]:
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
