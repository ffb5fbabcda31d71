"""Deleting objects: preconditions, finalizers, grace periods, what happens to dependents.

What only waits is marked here; the garbage collector and the namespace controller
take the finalizers off, and the last one gone, `writing.store` removes the object.
"""

from datetime import UTC, timedelta

from kube_sandbox import cluster, customresources, json, kinds, services, status, verbs

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_CLAIM = "kubernetes.io/pvc-protection"
_VOLUME = "kubernetes.io/pv-protection"
_DEFAULT_GRACE = 30
#: Kubernetes: the NamespaceLifecycle admission plugin.
_IMMORTAL = frozenset(("default", "kube-system", "kube-public"))
_FINISHED = ("Succeeded", "Failed")


def delete(
    home: cluster.Cluster,
    kind: kinds.Kind,
    namespace: str,
    name: str,
    deletion: verbs.Deletion,
) -> verbs.Deleted:
    """Delete an object of a stored kind; see `registry.Registry.delete`."""
    live = home.find(kind, namespace, name)
    if live is None:
        raise status.not_found(kind.group, kind.plural, name)
    _check(kind, live, deletion.preconditions)
    if kind is kinds.NAMESPACE and name in _IMMORTAL:
        raise status.forbidden("", "namespaces", name, "this namespace may not be deleted")
    marked = _marked(home, kind, live, deletion)
    due = is_due(kind, marked)
    if deletion.dry_run:
        return verbs.Deleted(marked, due)
    if due:
        return verbs.Deleted(remove(home, kind, namespace, name), gone=True)
    if marked is not live:
        marked = home.storage.put(kind.bucket, namespace, name, marked).body
    return verbs.Deleted(marked, gone=False)


def remove(home: cluster.Cluster, kind: kinds.Kind, namespace: str, name: str) -> json.JsonObject:
    """Take an object out of storage and give back what it held; return its last state.

    Raises:
        status.StatusError: 404.
    """
    item = home.storage.remove(kind.bucket, namespace, name)
    if item is None:
        raise status.not_found(kind.group, kind.plural, name)
    if kind is kinds.SERVICE:
        services.release(home, item.body)
    elif kind is kinds.POD:
        free_claims(home, item.body)
    elif kind.custom:
        customresources.finish(home, kind)
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
        raise status.conflict(kind.group, kind.name, metadata["name"], why)
    version = wanted.resource_version
    if version and version != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({version}) does not match the "
            f"ResourceVersion in record ({metadata['resourceVersion']}). "
            "The object might have been modified"
        )
        raise status.conflict(kind.group, kind.name, metadata["name"], why)


def _marked(
    home: cluster.Cluster, kind: kinds.Kind, live: json.JsonObject, deletion: verbs.Deletion
) -> json.JsonObject:
    """Return the object with its deletionTimestamp and the finalizers that are due."""
    metadata = dict(live["metadata"])
    finalizers = _finalizers(home, kind, live, deletion.propagation)
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    grace = _grace(kind, live, deletion)
    first = "deletionTimestamp" not in metadata
    if first or (kind is kinds.POD and grace < metadata.get("deletionGracePeriodSeconds", 0)):
        _mark(home, kind, metadata, grace)
        if first and metadata.get("generation"):
            metadata["generation"] += 0 if kind is kinds.CUSTOM_RESOURCE_DEFINITION else 1
    marked = {**live, "metadata": metadata}
    if kind is kinds.NAMESPACE:
        marked = {**marked, "status": {**(live.get("status") or {}), "phase": "Terminating"}}
    elif kind is kinds.CUSTOM_RESOURCE_DEFINITION:
        marked = {**marked, "status": customresources.terminating(home, live)}
    return live if marked == live else marked


def _mark(home: cluster.Cluster, kind: kinds.Kind, metadata: json.JsonObject, grace: int) -> None:
    when = home.time.now().astimezone(UTC) + timedelta(seconds=grace)
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
    home: cluster.Cluster, kind: kinds.Kind, live: json.JsonObject, propagation: str
) -> list[str]:
    finalizers = list(live["metadata"].get("finalizers") or ())
    if propagation:
        wanted = {"Foreground": FOREGROUND, "Orphan": ORPHAN}.get(propagation)
        finalizers = [each for each in finalizers if each not in (FOREGROUND, ORPHAN)]
        if wanted:
            finalizers.append(wanted)
    if kind is kinds.PERSISTENT_VOLUME_CLAIM and not is_used(home, live):
        finalizers = [each for each in finalizers if each != _CLAIM]
    if kind.name == "PersistentVolume" and not kind.custom:
        finalizers = [each for each in finalizers if each != _VOLUME]
    return finalizers


def is_used(home: cluster.Cluster, claim: json.JsonObject) -> bool:
    """Tell whether a pod that runs uses the claim."""
    name = claim["metadata"]["name"]
    for item in home.storage.list(kinds.POD.bucket, claim["metadata"]["namespace"]):
        if (item.body.get("status") or {}).get("phase") in _FINISHED:
            continue
        for volume in item.body["spec"].get("volumes") or ():
            if (volume.get("persistentVolumeClaim") or {}).get("claimName") == name:
                return True
    return False


def free_claims(home: cluster.Cluster, pod: json.JsonObject) -> None:
    """Let claims go that only waited for this pod."""
    kind, namespace = kinds.PERSISTENT_VOLUME_CLAIM, pod["metadata"]["namespace"]
    for volume in pod["spec"].get("volumes") or ():
        name = (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
        claim = home.find(kind, namespace, name) if name else None
        if claim and claim["metadata"].get("deletionTimestamp") and not is_used(home, claim):
            delete(home, kind, namespace, name, verbs.Deletion())
