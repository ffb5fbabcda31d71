"""Evictions: deletions of pods that ask their disruption budgets first."""

from kube_sandbox import cluster, deleting, json, kinds, status, verbs
from kube_sandbox.schemas import selectors

_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."


def evict(
    home: cluster.Cluster, namespace: str, name: str, deletion: verbs.Deletion
) -> verbs.Deleted:
    """Delete a pod, or refuse with 429 when a budget has nothing left.

    Raises:
        status.StatusError: 404, 409, 429, or 500 when two budgets cover the pod.
    """
    pod = home.find(kinds.POD, namespace, name)
    if pod is None:
        raise status.not_found("", "pods", name)
    if not _is_free(pod):
        _spend(home, pod, deletion)
    return deleting.delete(home, kinds.POD, namespace, name, deletion)


def _is_free(pod: json.JsonObject) -> bool:
    """Pods that do not run, or go anyway, cost no disruption."""
    phase = (pod.get("status") or {}).get("phase")
    gone = pod["metadata"].get("deletionTimestamp")
    return bool(gone) or phase in ("Succeeded", "Failed", "Pending")


def _spend(home: cluster.Cluster, pod: json.JsonObject, deletion: verbs.Deletion) -> None:
    budgets = _budgets(home, pod)
    if len(budgets) > 1:
        message = "This pod has more than one PodDisruptionBudget, which the eviction subresource"
        raise status.StatusError(500, f"{message} does not support.")
    if not budgets:
        return
    (budget,) = budgets
    told = budget.get("status") or {}
    if told.get("disruptionsAllowed", 0) <= 0:
        raise _refused(budget, told)
    if deletion.dry_run:
        return
    metadata = pod["metadata"]
    disrupted = {**(told.get("disruptedPods") or {}), metadata["name"]: home.stamp()}
    changed = {
        **told,
        "disruptionsAllowed": told["disruptionsAllowed"] - 1,
        "disruptedPods": disrupted,
    }
    bucket = kinds.POD_DISRUPTION_BUDGET.bucket
    name = budget["metadata"]["name"]
    home.storage.put(bucket, metadata["namespace"], name, {**budget, "status": changed})


def _budgets(home: cluster.Cluster, pod: json.JsonObject) -> list[json.JsonObject]:
    labels = pod["metadata"].get("labels") or {}
    items = home.storage.list(kinds.POD_DISRUPTION_BUDGET.bucket, pod["metadata"]["namespace"])
    return [
        item.body
        for item in items
        if selectors.from_object(item.body["spec"].get("selector")).matches(labels)
    ]


def _refused(budget: json.JsonObject, told: json.JsonObject) -> status.StatusError:
    name = budget["metadata"]["name"]
    needs, has = told.get("desiredHealthy", 0), told.get("currentHealthy", 0)
    cause = {
        "reason": "DisruptionBudget",
        "message": f"The disruption budget {name} needs {needs} healthy pods "
        f"and has {has} currently",
    }
    return status.StatusError(429, _REFUSED, details={"causes": [cause]})
