"""Namespaces: what a new one gets, and how one that is deleted is emptied."""

from collections.abc import Sequence

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import conditions, objects, times
from kube_sandbox.controllers.framework import actions, view

_ROOT_CERTIFICATE = "kube-root-ca.crt"
_ROOT_NOTE = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
    "guaranteed across distributions of Kubernetes clusters."
)
_FINALIZER = "kubernetes"


def reconcile(
    cluster: view.View,
    key: view.Key,
    at: times.Instant,
    *,
    kinds: Sequence[str],
    certificate: str,
) -> actions.Result:
    """Return the next writes for the namespace at `key`.

    `kinds` are those that live in namespaces; `certificate` is the cluster's CA in PEM,
    empty for a cluster without.
    """
    found = cluster.get("Namespace", "", key.name)
    if found is None:
        return actions.NOTHING
    if not objects.is_deleting(found):
        return actions.Result(tuple(_furnished(cluster, key.name, certificate)))
    if _FINALIZER not in (objects.spec(found).get("finalizers") or ()):
        return actions.NOTHING
    content = {kind: cluster.list(kind, key.name) for kind in kinds}
    return _emptied(found, content, at)


def _furnished(cluster: view.View, name: str, certificate: str) -> list[actions.Write]:
    writes: list[actions.Write] = []
    if cluster.get("ServiceAccount", name, "default") is None:
        metadata = {"name": "default", "namespace": name}
        writes.append(
            actions.Create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
        )
    if cluster.get("ConfigMap", name, _ROOT_CERTIFICATE) is None:
        writes.append(
            actions.Create(
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {
                        "name": _ROOT_CERTIFICATE,
                        "namespace": name,
                        "annotations": {"kubernetes.io/description": _ROOT_NOTE},
                    },
                    "data": {"ca.crt": certificate},
                }
            )
        )
    return writes


def _emptied(
    found: json.JsonObject, content: dict[str, Sequence[json.JsonObject]], at: times.Instant
) -> actions.Result:
    rest = [each for listed in content.values() for each in listed]
    if not rest:
        finalizers = [each for each in objects.spec(found)["finalizers"] if each != _FINALIZER]
        return actions.Result(
            (actions.Finalize(objects.changed(found, ("spec", "finalizers"), finalizers)),)
        )
    writes: list[actions.Write] = [
        actions.Delete(each, propagation="Background")
        for each in rest
        if not objects.is_deleting(each)
    ]
    noted = _noted(found, content, at)
    if noted != (objects.status(found).get("conditions") or []):
        writes.append(actions.UpdateStatus(objects.changed(found, ("status", "conditions"), noted)))
    return actions.Result(tuple(writes))


def _noted(
    found: json.JsonObject, content: dict[str, Sequence[json.JsonObject]], at: times.Instant
) -> list[json.JsonObject]:
    """The conditions of a namespace on its way out, with Kubernetes' reasons and words."""
    remaining = {kind: len(listed) for kind, listed in content.items() if listed}
    holders: dict[str, int] = {}
    for listed in content.values():
        for each in listed:
            for name in objects.metadata(each).get("finalizers") or ():
                holders[name] = holders.get(name, 0) + 1
    counts = ", ".join(
        f"{kind} has {count} resource instances" for kind, count in remaining.items()
    )
    kept = ", ".join(f"{name} in {count} resource instances" for name, count in holders.items())
    told = [
        (
            "NamespaceDeletionDiscoveryFailure",
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        (
            "NamespaceContentRemaining",
            "True",
            "SomeResourcesRemain",
            f"Some resources are remaining: {counts}",
        ),
        (
            "NamespaceFinalizersRemaining",
            "True",
            "SomeFinalizersRemain",
            f"Some content in the namespace has finalizers remaining: {kept}",
        )
        if kept
        else (
            "NamespaceFinalizersRemaining",
            "False",
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    ]
    before = objects.status(found).get("conditions") or []
    return [_timed(each, before, at) for each in told]


def _timed(
    told: tuple[str, str, str, str], before: Sequence[json.JsonObject], at: times.Instant
) -> json.JsonObject:
    kind, status, reason, message = told
    earlier = conditions.find(before, kind)
    same = earlier is not None and earlier.get("status") == status
    stamp = earlier.get("lastTransitionTime") if same and earlier is not None else at.stamp
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": stamp,
        "reason": reason,
        "message": message,
    }
