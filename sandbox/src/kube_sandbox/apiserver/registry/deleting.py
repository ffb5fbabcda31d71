"""Deleting objects: preconditions, finalizers, grace periods, dependents; evictions, which ask
budgets first.
"""

from datetime import UTC, timedelta

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors, selectors
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.registry import custom_resources, services
from kube_sandbox.apiserver.registry.admission import policies, request
from kube_sandbox.apiserver.storage import cluster_state, verbs

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_CLAIM = "kubernetes.io/pvc-protection"
_VOLUME = "kubernetes.io/pv-protection"
_DEFAULT_GRACE = 30
#: Kubernetes: the NamespaceLifecycle admission plugin.
_IMMORTAL = frozenset(("default", "kube-system", "kube-public"))
_FINISHED = ("Succeeded", "Failed")


def delete(
    state: cluster_state.ClusterState,
    kind: kinds.Kind,
    namespace: str,
    name: str,
    deletion: verbs.Deletion,
) -> verbs.Deleted:
    """Delete an object of a stored kind; see `registry.Registry.delete`."""
    live = state.find(kind, namespace, name)
    if live is None:
        raise api_errors.not_found(kind.group, kind.plural, name)
    _check(kind, live, deletion.preconditions)
    if kind is kinds.NAMESPACE and name in _IMMORTAL:
        raise api_errors.forbidden("", "namespaces", name, "this namespace may not be deleted")
    policies.check(
        state,
        request.Request(
            request.Operation.DELETE,
            kind,
            namespace,
            name,
            None,
            live,
            deletion.user,
            dry_run=deletion.dry_run,
        ),
    )
    marked = _marked(state, kind, live, deletion)
    due = is_due(kind, marked)
    if deletion.dry_run:
        return verbs.Deleted(marked, due)
    if due:
        return verbs.Deleted(remove(state, kind, namespace, name), gone=True)
    if marked is not live:
        marked = state.storage.put(kind.bucket, namespace, name, marked).body
    return verbs.Deleted(marked, gone=False)


def remove(
    state: cluster_state.ClusterState, kind: kinds.Kind, namespace: str, name: str
) -> json.JsonObject:
    """Take an object out of storage and give back what it held; return its last state.

    Raises:
        api_errors.StatusError: 404.
    """
    item = state.storage.remove(kind.bucket, namespace, name)
    if item is None:
        raise api_errors.not_found(kind.group, kind.plural, name)
    if kind is kinds.SERVICE:
        services.release(state, item.body)
    elif kind is kinds.POD:
        free_claims(state, item.body)
    elif kind.custom:
        custom_resources.finish(state, kind)
    return item.body


def is_due(kind: kinds.Kind, body: json.JsonObject) -> bool:
    """Tell whether a marked object has nothing left to wait for."""
    metadata = body["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    if kind is kinds.NAMESPACE and (body.get("spec") or {}).get("finalizers"):
        return False
    return not metadata.get("deletionGracePeriodSeconds")


def _check(kind: kinds.Kind, live: json.JsonObject, wanted: verbs.Preconditions) -> None:
    metadata = live["metadata"]
    if wanted.uid and wanted.uid != metadata["uid"]:
        why = (
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record "
            f"({metadata['uid']}). The object might have been deleted and then recreated"
        )
        raise api_errors.conflict(kind.group, kind.name, metadata["name"], why)
    version = wanted.resource_version
    if version and version != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({version}) does not match the "
            f"ResourceVersion in record ({metadata['resourceVersion']}). "
            "The object might have been modified"
        )
        raise api_errors.conflict(kind.group, kind.name, metadata["name"], why)


def _marked(
    state: cluster_state.ClusterState,
    kind: kinds.Kind,
    live: json.JsonObject,
    deletion: verbs.Deletion,
) -> json.JsonObject:
    """Return the object with its deletionTimestamp and the finalizers that are due."""
    metadata = dict(live["metadata"])
    finalizers = _finalizers(state, kind, live, deletion.propagation)
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    grace = _grace(kind, live, deletion)
    first = "deletionTimestamp" not in metadata
    if first or (kind is kinds.POD and grace < metadata.get("deletionGracePeriodSeconds", 0)):
        _mark(state, kind, metadata, grace)
        if first and metadata.get("generation"):
            metadata["generation"] += 0 if kind is kinds.CUSTOM_RESOURCE_DEFINITION else 1
    marked = {**live, "metadata": metadata}
    if kind is kinds.NAMESPACE:
        marked = {**marked, "status": {**(live.get("status") or {}), "phase": "Terminating"}}
    elif kind is kinds.CUSTOM_RESOURCE_DEFINITION:
        marked = {**marked, "status": custom_resources.terminating(state, live)}
    return live if marked == live else marked


def _mark(
    state: cluster_state.ClusterState, kind: kinds.Kind, metadata: json.JsonObject, grace: int
) -> None:
    when = state.time.now().astimezone(UTC) + timedelta(seconds=grace)
    metadata["deletionTimestamp"] = when.strftime("%Y-%m-%dT%H:%M:%SZ")
    if kind is not kinds.NAMESPACE and kind is not kinds.CUSTOM_RESOURCE_DEFINITION:
        metadata["deletionGracePeriodSeconds"] = grace


def _grace(kind: kinds.Kind, live: json.JsonObject, deletion: verbs.Deletion) -> int:
    """Seconds a pod may take to end; 0 for everything else and for pods that do not run."""
    if kind is not kinds.POD:
        return 0
    spec = live["spec"]
    if not spec.get("nodeName") or (live.get("status") or {}).get("phase") in _FINISHED:
        return 0
    if deletion.grace_seconds is not None:
        return max(0, deletion.grace_seconds)
    return int(spec.get("terminationGracePeriodSeconds", _DEFAULT_GRACE))


def _finalizers(
    state: cluster_state.ClusterState, kind: kinds.Kind, live: json.JsonObject, propagation: str
) -> list[str]:
    finalizers = list(live["metadata"].get("finalizers") or ())
    if propagation:
        wanted = {"Foreground": FOREGROUND, "Orphan": ORPHAN}.get(propagation)
        finalizers = [each for each in finalizers if each not in (FOREGROUND, ORPHAN)]
        if wanted:
            finalizers.append(wanted)
    if kind is kinds.CUSTOM_RESOURCE_DEFINITION and custom_resources.FINALIZER not in finalizers:
        finalizers.append(custom_resources.FINALIZER)
    if kind is kinds.PERSISTENT_VOLUME_CLAIM and not is_used(state, live):
        finalizers = [each for each in finalizers if each != _CLAIM]
    if kind.name == "PersistentVolume" and not kind.custom:
        finalizers = [each for each in finalizers if each != _VOLUME]
    return finalizers


def is_used(state: cluster_state.ClusterState, claim: json.JsonObject) -> bool:
    """Tell whether a pod that runs uses the claim."""
    name = claim["metadata"]["name"]
    for item in state.storage.list(kinds.POD.bucket, claim["metadata"]["namespace"]):
        if (item.body.get("status") or {}).get("phase") in _FINISHED:
            continue
        for volume in item.body["spec"].get("volumes") or ():
            if (volume.get("persistentVolumeClaim") or {}).get("claimName") == name:
                return True
    return False


def free_claims(state: cluster_state.ClusterState, pod: json.JsonObject) -> None:
    """Let claims go that only waited for this pod."""
    kind, namespace = kinds.PERSISTENT_VOLUME_CLAIM, pod["metadata"]["namespace"]
    for volume in pod["spec"].get("volumes") or ():
        name = (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
        claim = state.find(kind, namespace, name) if name else None
        if claim and claim["metadata"].get("deletionTimestamp") and not is_used(state, claim):
            delete(state, kind, namespace, name, verbs.Deletion())


_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."


def evict(
    state: cluster_state.ClusterState, namespace: str, name: str, deletion: verbs.Deletion
) -> verbs.Deleted:
    """Delete a pod, or refuse with 429 when a budget has nothing left.

    Raises:
        api_errors.StatusError: 404, 409, 429, or 500 when two budgets cover the pod.
    """
    pod = state.find(kinds.POD, namespace, name)
    if pod is None:
        raise api_errors.not_found("", "pods", name)
    if not _is_free(pod):
        _spend(state, pod, deletion)
    return delete(state, kinds.POD, namespace, name, deletion)


def _is_free(pod: json.JsonObject) -> bool:
    """Pods that do not run, or go anyway, cost no disruption."""
    phase = (pod.get("status") or {}).get("phase")
    gone = pod["metadata"].get("deletionTimestamp")
    return bool(gone) or phase in ("Succeeded", "Failed", "Pending")


def _spend(
    state: cluster_state.ClusterState, pod: json.JsonObject, deletion: verbs.Deletion
) -> None:
    budgets = _budgets(state, pod)
    if len(budgets) > 1:
        message = "This pod has more than one PodDisruptionBudget, which the eviction subresource"
        raise api_errors.StatusError(500, f"{message} does not support.")
    if not budgets:
        return
    (budget,) = budgets
    told = budget.get("status") or {}
    if told.get("disruptionsAllowed", 0) <= 0:
        raise _refused(budget, told)
    if deletion.dry_run:
        return
    metadata = pod["metadata"]
    disrupted = {**(told.get("disruptedPods") or {}), metadata["name"]: state.stamp()}
    changed = {
        **told,
        "disruptionsAllowed": told["disruptionsAllowed"] - 1,
        "disruptedPods": disrupted,
    }
    bucket = kinds.POD_DISRUPTION_BUDGET.bucket
    name = budget["metadata"]["name"]
    state.storage.put(bucket, metadata["namespace"], name, {**budget, "status": changed})


def _budgets(state: cluster_state.ClusterState, pod: json.JsonObject) -> list[json.JsonObject]:
    labels = pod["metadata"].get("labels") or {}
    items = state.storage.list(kinds.POD_DISRUPTION_BUDGET.bucket, pod["metadata"]["namespace"])
    return [
        item.body
        for item in items
        if selectors.from_object(item.body["spec"].get("selector")).matches(labels)
    ]


def _refused(budget: json.JsonObject, told: json.JsonObject) -> api_errors.StatusError:
    name = budget["metadata"]["name"]
    needs, has = told.get("desiredHealthy", 0), told.get("currentHealthy", 0)
    cause = {
        "reason": "DisruptionBudget",
        "message": f"The disruption budget {name} needs {needs} healthy pods "
        f"and has {has} currently",
    }
    return api_errors.StatusError(429, _REFUSED, details={"causes": [cause]})
