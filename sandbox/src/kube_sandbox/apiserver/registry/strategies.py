"""What the server puts into an object by itself, which no field manager owns.

`for_creation` and `for_update` stand for kube-apiserver's strategies and for the
admission plugins that are always on.
"""

from collections.abc import Callable, Mapping

from kube_sandbox import json
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.registry import services
from kube_sandbox.apiserver.storage import cluster_state

_BATCH_UID = "batch.kubernetes.io/controller-uid"
_BATCH_NAME = "batch.kubernetes.io/job-name"
_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_SECONDS = 300
_UNREADY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")

#: Metadata that only the server writes.
_SERVER_METADATA = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "namespace",
    "name",
)
#: Kinds whose status may be given when they are created: nodes register with theirs.
_WITH_OWN_STATUS = frozenset((("", "Node"),))
#: Kinds whose generation counts changed annotations too (Kubernetes: deployment strategy).
_COUNTS_ANNOTATIONS = frozenset((("apps", "Deployment"),))

Preparation = Callable[[cluster_state.ClusterState, json.JsonObject], json.JsonObject]


def without_status(kind: kinds.Kind, body: object) -> object:
    """Return what was sent for a creation without its status, which does not count."""
    if not isinstance(body, dict) or "status" not in body:
        return body
    if not kind.has_status or (kind.group, kind.name) in _WITH_OWN_STATUS:
        return body
    return {key: value for key, value in body.items() if key != "status"}


def for_creation(
    state: cluster_state.ClusterState, kind: kinds.Kind, body: json.JsonObject, *, dry_run: bool
) -> json.JsonObject:
    """Return a new object with uid, times, generation and what its kind gets."""
    metadata = {
        key: value
        for key, value in body["metadata"].items()
        if key not in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation")
    }
    metadata["uid"] = state.uid()
    metadata["creationTimestamp"] = state.stamp()
    if kind.counted:
        metadata["generation"] = 1
    prepared = {**body, "metadata": metadata}
    if kind is kinds.SERVICE:
        return services.allocate(state, prepared, None, dry_run=dry_run)
    preparation = _CREATIONS.get((kind.group, kind.name))
    return preparation(state, prepared) if preparation else prepared


def for_update(
    state: cluster_state.ClusterState,
    kind: kinds.Kind,
    body: json.JsonObject,
    old: json.JsonObject,
    *,
    dry_run: bool,
) -> json.JsonObject:
    """Return the new state of an object: the server's fields from `old`, generation counted."""
    metadata = {**body["metadata"], **_kept(old)}
    for key in _SERVER_METADATA:
        if key not in old["metadata"]:
            metadata.pop(key, None)
    prepared = {**body, "metadata": metadata}
    if kind.has_status:
        prepared = _with_status_of(prepared, old)
    if kind is kinds.SERVICE:
        prepared = services.allocate(state, prepared, old, dry_run=dry_run)
    if kind.counted and _counts(kind, prepared, old):
        generation = int(old["metadata"].get("generation") or 0) + 1
        prepared = {**prepared, "metadata": {**prepared["metadata"], "generation": generation}}
    if kind.name == "DaemonSet":
        return _daemon_set_update(prepared, old)
    return prepared


def for_status_update(
    kind: kinds.Kind, body: json.JsonObject, old: json.JsonObject
) -> json.JsonObject:
    """Return `old` with the status of `body` and what metadata a status write may change."""
    if kind.custom:
        metadata = dict(old["metadata"])
    else:
        metadata = {**body["metadata"], **_kept(old)}
        if (kind.group, kind.name) in _COUNTS_ANNOTATIONS:
            metadata = _replaced(metadata, "labels", old["metadata"])
        if kind is kinds.POD:
            metadata = _replaced(metadata, "ownerReferences", old["metadata"])
    managed = body["metadata"].get("managedFields")
    metadata = _replaced(metadata, "managedFields", {"managedFields": managed} if managed else {})
    return _with_status_of({**old, "metadata": metadata}, body)


def _kept(old: json.JsonObject) -> json.JsonObject:
    metadata = old["metadata"]
    return {key: metadata[key] for key in _SERVER_METADATA if key in metadata}


def _replaced(target: json.JsonObject, key: str, source: json.JsonObject) -> json.JsonObject:
    rest = {each: value for each, value in target.items() if each != key}
    return {**rest, key: source[key]} if key in source else rest


def _with_status_of(body: json.JsonObject, source: json.JsonObject) -> json.JsonObject:
    return _replaced(body, "status", source)


def _counts(kind: kinds.Kind, new: json.JsonObject, old: json.JsonObject) -> bool:
    if (kind.group, kind.name) in _COUNTS_ANNOTATIONS:
        annotations = new["metadata"].get("annotations") or {}
        if annotations != (old["metadata"].get("annotations") or {}):
            return True
    ignored = {"metadata", "apiVersion", "kind"}
    if kind.has_status:
        ignored.add("status")
    return any(new.get(key) != old.get(key) for key in (new.keys() | old.keys()) - ignored)


def _namespace(state: cluster_state.ClusterState, body: json.JsonObject) -> json.JsonObject:
    spec = {**(body.get("spec") or {}), "finalizers": ["kubernetes"]}
    return {**body, "spec": spec, "status": {"phase": "Active"}}


def _pod(state: cluster_state.ClusterState, body: json.JsonObject) -> json.JsonObject:
    spec = dict(body["spec"])
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    tolerations = list(spec.get("tolerations") or ())
    for key in _UNREADY:
        if not any(_tolerates(each, key) for each in tolerations):
            tolerations.append(
                {
                    "key": key,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": _SECONDS,
                }
            )
    spec["tolerations"] = tolerations
    return {**body, "spec": spec, "status": {"phase": "Pending", "qosClass": _quality(spec)}}


def _tolerates(toleration: json.JsonObject, key: str) -> bool:
    effect = toleration.get("effect", "")
    return toleration.get("key", "") in ("", key) and effect in ("", "NoExecute")


def _quality(spec: json.JsonObject) -> str:
    """The quality of service class: Guaranteed, Burstable, BestEffort."""
    guaranteed = True
    asked = False
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        asked = asked or bool(limits or requests)
        for name in ("cpu", "memory"):
            if name not in limits or requests.get(name, limits[name]) != limits[name]:
                guaranteed = False
    if not asked:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _job(state: cluster_state.ClusterState, body: json.JsonObject) -> json.JsonObject:
    """Give a Job its selector and its pods their labels (Kubernetes: job strategy)."""
    spec = dict(body["spec"])
    if spec.get("manualSelector"):
        return body
    uid, name = body["metadata"]["uid"], body["metadata"].get("name", "")
    marks = {
        _BATCH_UID: uid,
        _BATCH_NAME: name,
        "controller-uid": uid,
        "job-name": name,
    }
    template = dict(spec["template"])
    metadata = dict(template.get("metadata") or {})
    metadata["labels"] = {**(metadata.get("labels") or {}), **marks}
    template["metadata"] = metadata
    spec["template"] = template
    selector = dict(spec.get("selector") or {})
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), _BATCH_UID: uid}
    spec["selector"] = selector
    own = body["metadata"]
    if own.get("labels") == (body["spec"]["template"].get("metadata") or {}).get("labels"):
        # Labels that came by default are the template's own map in Kubernetes, marks included.
        own = {**own, "labels": {**(own.get("labels") or {}), **marks}}
    return {**body, "metadata": own, "spec": spec}


def _claim(state: cluster_state.ClusterState, body: json.JsonObject) -> json.JsonObject:
    return _held(body, "kubernetes.io/pvc-protection")


def _volume(state: cluster_state.ClusterState, body: json.JsonObject) -> json.JsonObject:
    return _held(body, "kubernetes.io/pv-protection")


def _held(body: json.JsonObject, finalizer: str) -> json.JsonObject:
    metadata = body["metadata"]
    finalizers = metadata.get("finalizers") or []
    if finalizer in finalizers:
        return body
    return {**body, "metadata": {**metadata, "finalizers": [*finalizers, finalizer]}}


def _daemon_set_update(body: json.JsonObject, old: json.JsonObject) -> json.JsonObject:
    before = (old["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "1")
    if body["spec"].get("template") != old["spec"].get("template"):
        before = str(int(before) + 1)
    metadata = body["metadata"]
    annotations = {**(metadata.get("annotations") or {}), _TEMPLATE_GENERATION: before}
    return {**body, "metadata": {**metadata, "annotations": annotations}}


_CREATIONS: Mapping[tuple[str, str], Preparation] = {
    ("", "Namespace"): _namespace,
    ("", "PersistentVolume"): _volume,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): _pod,
    ("batch", "Job"): _job,
}
