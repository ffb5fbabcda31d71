"""How many more pods of a kind fit into a cluster, from its nodes and pods. Pure.

Source of the rules: Karmada's accurate scheduler estimator. A node counts when it is ready and
the pod may go there: cordons, taints, node selector and required node affinity are heeded.
Of each resource that the pod requests, what the node's other pods request is taken; the number
of pods that the node allows counts like a resource. Affinity between pods, spreading over zones,
quotas and volumes are not looked at, so that the answer is an upper bound.
"""

import functools
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from volary.manifests import objects
from volary.manifests.workloads import quantities
from volary.model import json

_PODS = "pods"
_ENDED = ("Succeeded", "Failed")
_TAINT_EFFECTS = ("NoSchedule", "NoExecute")
_CORDONED: json.JsonObject = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}

Amounts = Mapping[str, Decimal]


@dataclass(frozen=True, slots=True)
class Node:
    """What a node has left."""

    name: str
    free: Amounts
    labels: Mapping[str, str] = field(default_factory=dict)
    #: As Kubernetes writes them; a cordon is one of them.
    taints: tuple[json.JsonObject, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterCapacity:
    """What a cluster had left when it was looked at."""

    nodes: tuple[Node, ...]
    read_at: datetime


def cluster_capacity(
    nodes: Iterable[json.JsonObject], pods: Iterable[json.JsonObject], read_at: datetime
) -> ClusterCapacity:
    """Return what is left on the ready nodes of a cluster; pods that have ended take nothing."""
    taken: dict[str, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for pod in pods:
        name = objects.text(pod, "spec", "nodeName")
        if not name or objects.text(pod, "status", "phase") in _ENDED:
            continue
        taken[name][_PODS] += 1
        for resource, amount in requests(objects.mapping(pod, "spec")).items():
            taken[name][resource] += amount
    return ClusterCapacity(tuple(_node(node, taken) for node in nodes if is_ready(node)), read_at)


def pods_that_fit(left: ClusterCapacity, pod: json.JsonObject) -> int:
    """Return how many more pods with the specification `pod` fit into a cluster."""
    wanted = requests(pod)
    return sum(_on_node(node, wanted) for node in left.nodes if _accepts(node, pod))


def requests(pod: json.JsonObject) -> dict[str, Decimal]:
    """Return what a pod requests in all.

    The sum of its containers and sidecars, or what the largest init container needs while the
    sidecars before it run; what the pod itself says counts instead of that; and its overhead. A
    limit without a request is the request (Kubernetes' defaults).
    """
    sidecars: dict[str, Decimal] = {}
    largest: dict[str, Decimal] = {}
    for container in objects.mappings(pod, "initContainers"):
        own = _requests(container)
        if container.get("restartPolicy") == "Always":
            sidecars = _sum(sidecars, own)
            own = {}
        largest = _maximum(largest, _sum(sidecars, own))
    running = sidecars
    for container in objects.mappings(pod, "containers"):
        running = _sum(running, _requests(container))
    requested = {**_maximum(running, largest), **_requests(pod)}
    return _sum(requested, _amounts(objects.mapping(pod, "overhead")))


def _node(body: json.JsonObject, taken: Mapping[str, Amounts]) -> Node:
    name = objects.text(body, "metadata", "name")
    used = taken.get(name, {})
    allocatable = _amounts(objects.mapping(body, "status", "allocatable"))
    taints = list(objects.mappings(body, "spec", "taints"))
    if objects.value(body, "spec", "unschedulable") is True:
        taints.append(_CORDONED)
    return Node(
        name,
        {
            resource: amount - used.get(resource, Decimal())
            for resource, amount in allocatable.items()
        },
        objects.mapping(body, "metadata", "labels"),
        tuple(taints),
    )


def is_ready(node: json.JsonObject) -> bool:
    """Say whether a node takes pods, as it says itself."""
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in objects.mappings(node, "status", "conditions")
    )


def _on_node(node: Node, wanted: Amounts) -> int:
    needed = {
        **{resource: amount for resource, amount in wanted.items() if amount > 0},
        _PODS: Decimal(1),
    }
    return max(
        0, min(int(node.free.get(resource, Decimal()) // needed[resource]) for resource in needed)
    )


def _accepts(node: Node, pod: json.JsonObject) -> bool:
    wanted = objects.mapping(pod, "nodeSelector")
    if any(node.labels.get(key) != value for key, value in wanted.items()):
        return False
    required = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = list(objects.mappings(pod, *required, "nodeSelectorTerms"))
    if terms and not any(_matches_term(node, term) for term in terms):
        return False
    tolerations = list(objects.mappings(pod, "tolerations"))
    return all(
        taint.get("effect") not in _TAINT_EFFECTS
        or any(_tolerates(toleration, taint) for toleration in tolerations)
        for taint in node.taints
    )


def _tolerates(toleration: json.JsonObject, taint: json.JsonObject) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    exists = toleration.get("operator") == "Exists"
    if not toleration.get("key"):
        return exists
    same = (toleration.get("value") or "") == (taint.get("value") or "")
    return toleration["key"] == taint.get("key") and (exists or same)


def _matches_term(node: Node, term: json.JsonObject) -> bool:
    conditions = [
        *((expression, node.labels) for expression in objects.mappings(term, "matchExpressions")),
        *(
            (expression, {"metadata.name": node.name})
            for expression in objects.mappings(term, "matchFields")
        ),
    ]
    return bool(conditions) and all(
        _matches_expression(condition, values) for condition, values in conditions
    )


def _matches_expression(condition: json.JsonObject, labels: Mapping[str, str]) -> bool:
    key, listed = str(condition.get("key")), objects.sequence(condition, "values")
    value = labels.get(key)
    match condition.get("operator"):
        case "In":
            return value in listed
        case "NotIn":
            return value not in listed
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            return _compares(operator, value, listed)
    return False


def _compares(operator: str, value: str | None, listed: Sequence[object]) -> bool:
    try:
        here, there = int(value or ""), int(str(listed[0]))
    except (ValueError, IndexError):
        return False
    return here > there if operator == "Gt" else here < there


def _requests(body: json.JsonObject) -> dict[str, Decimal]:
    limits = objects.mapping(body, "resources", "limits")
    return _amounts({**limits, **objects.mapping(body, "resources", "requests")})


def _amounts(written: Mapping[str, object]) -> dict[str, Decimal]:
    parsed = ((name, quantities.parse(value)) for name, value in written.items())
    return {name: amount for name, amount in parsed if amount is not None}


def _combined(
    how: Callable[[Decimal, Decimal], Decimal], one: Amounts, other: Amounts
) -> dict[str, Decimal]:
    nothing = Decimal()
    return {
        resource: how(one.get(resource, nothing), other.get(resource, nothing))
        for resource in {*one, *other}
    }


_sum = functools.partial(_combined, operator.add)
_maximum = functools.partial(_combined, max)
