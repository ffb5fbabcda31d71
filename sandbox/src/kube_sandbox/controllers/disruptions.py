"""PodDisruptionBudgets: how many pods may go right now."""

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import conditions, objects, selectors, times
from kube_sandbox.controllers.framework import actions, pods, view
from kube_sandbox.controllers.workloads.deployments import sizes

#: Kinds with a size that a percentage can refer to.
_SCALED = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")


def reconcile(cluster: view.View, key: view.Key, at: times.Instant) -> actions.Result:
    """Return the status of the budget at `key`."""
    budget = cluster.get("PodDisruptionBudget", key.namespace, key.name)
    if budget is None:
        return actions.NOTHING
    selector = objects.spec(budget).get("selector")
    covered = [
        each
        for each in cluster.list("Pod", key.namespace)
        if selectors.matches(selector, objects.labels(each)) and not pods.is_finished(each)
    ]
    expected = _expected(cluster, covered)
    healthy = sum(pods.is_ready(each) and not objects.is_deleting(each) for each in covered)
    desired = _desired(budget, expected)
    allowed = max(0, healthy - desired) if expected else 0
    status: json.JsonObject = {
        **objects.status(budget),
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "observedGeneration": objects.generation(budget),
        "conditions": _noted(budget, allowed, at),
    }
    if status == objects.status(budget):
        return actions.NOTHING
    return actions.Result((actions.UpdateStatus({**budget, "status": status}),))


def _desired(budget: json.JsonObject, expected: int) -> int:
    spec = objects.spec(budget)
    if spec.get("maxUnavailable") is not None:
        return max(0, expected - sizes.scaled(spec["maxUnavailable"], expected, up=True))
    return sizes.scaled(spec.get("minAvailable", 1), expected, up=True)


def _expected(cluster: view.View, covered: list[json.JsonObject]) -> int:
    """Pods their controllers ask for; pods without a sized controller count themselves."""
    owners: dict[str, int] = {}
    for pod in covered:
        owner = _sized_owner(cluster, pod)
        if owner is None:
            owners[objects.uid(pod)] = 1
        else:
            owners[objects.uid(owner)] = objects.replicas(owner)
    return sum(owners.values())


def _sized_owner(cluster: view.View, pod: json.JsonObject) -> json.JsonObject | None:
    found, owner = pod, None
    while (reference := objects.controller(found)) is not None:
        if reference["kind"] not in _SCALED:
            break
        above = cluster.get(reference["kind"], objects.namespace(pod), reference["name"])
        if above is None:
            break
        found = owner = above
    return owner


def _noted(budget: json.JsonObject, allowed: int, at: times.Instant) -> list[json.JsonObject]:
    wanted: json.JsonObject = {
        "type": "DisruptionAllowed",
        "status": "True" if allowed else "False",
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
        "observedGeneration": objects.generation(budget),
        "lastTransitionTime": at.stamp,
    }
    before = objects.status(budget).get("conditions") or []
    current = conditions.find(before, "DisruptionAllowed")
    if current is not None and current.get("status") == wanted["status"]:
        wanted["lastTransitionTime"] = current.get("lastTransitionTime")
    return [*conditions.without(before, "DisruptionAllowed"), wanted]
