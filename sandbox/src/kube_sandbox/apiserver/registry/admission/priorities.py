"""Priorities of pods, from the PriorityClass they name or the cluster's default one."""

from collections.abc import Sequence

from kube_sandbox import json
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.registry.admission import request
from kube_sandbox.apiserver.storage import cluster_state

_HIGHEST = 2_000_000_000


def _class(name: str, value: int, description: str) -> json.JsonObject:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "description": description,
    }


#: The classes every cluster has.
DEFAULTS: Sequence[json.JsonObject] = (
    _class("system-cluster-critical", _HIGHEST, "For pods the cluster cannot do without."),
    _class("system-node-critical", _HIGHEST + 1000, "For pods a node cannot do without."),
)


def complete(
    state: cluster_state.ClusterState, asked: request.Request, pod: json.JsonObject
) -> json.JsonObject:
    """Return a new pod with its priority.

    Raises:
        api_errors.StatusError: 403, there is no such class.
    """
    spec = pod["spec"]
    name = spec.get("priorityClassName", "")
    found = state.find(kinds.PRIORITY_CLASS, "", name) if name else _default(state)
    if found is None:
        if name:
            raise asked.refuse(f"no PriorityClass with name {name} was found")
        return pod
    completed = {
        **spec,
        "priorityClassName": found["metadata"]["name"],
        "priority": found.get("value", 0),
    }
    completed.setdefault("preemptionPolicy", found.get("preemptionPolicy", "PreemptLowerPriority"))
    return {**pod, "spec": completed}


def _default(state: cluster_state.ClusterState) -> json.JsonObject | None:
    items = state.storage.list(kinds.PRIORITY_CLASS.bucket)
    defaults = [item.body for item in items if item.body.get("globalDefault")]
    return min(defaults, key=lambda found: int(found.get("value", 0)), default=None)
