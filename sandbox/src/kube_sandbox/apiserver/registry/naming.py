"""Which object a write is about: its name, its namespace, and the state it was made from."""

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.storage import cluster_state

#: Tries to find a generated name that is free.
_NAME_TRIES = 8


def placed(kind: kinds.Kind, namespace: str, body: json.JsonObject) -> json.JsonObject:
    """Put the object into the namespace of the path.

    Raises:
        api_errors.StatusError: 400, it names another one.
    """
    metadata = body["metadata"]
    given = metadata.get("namespace", "")
    if kind.namespaced and given not in ("", namespace):
        raise api_errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    rest = {key: value for key, value in metadata.items() if key != "namespace"}
    return {**body, "metadata": {**rest, "namespace": namespace} if kind.namespaced else rest}


def named(
    state: cluster_state.ClusterState, kind: kinds.Kind, body: json.JsonObject, name: str
) -> json.JsonObject:
    """Give the object its name: its own, the path's or a generated one.

    Raises:
        api_errors.StatusError: 400, its own differs from the path's.
    """
    metadata = body["metadata"]
    given = metadata.get("name", "")
    if name and given not in ("", name):
        raise other_name(given, name)
    chosen = name or _free_name(state, kind, metadata)
    if given or not chosen:
        return body
    return {**body, "metadata": {**metadata, "name": chosen}}


def _free_name(
    state: cluster_state.ClusterState, kind: kinds.Kind, metadata: json.JsonObject
) -> str:
    """Return a name for ``generateName`` that nobody has; empty when none is wanted."""
    base, name = metadata.get("generateName", ""), ""
    for _ in range(_NAME_TRIES if base else 0):
        name = state.generated_name(base)
        if state.storage.get(kind.bucket, metadata.get("namespace", ""), name) is None:
            break
    return name


def other_name(given: str, name: str) -> api_errors.StatusError:
    """Build the 400 for an object of another name than the path's."""
    return api_errors.bad_request(
        f"the name of the object ({given}) does not match the name on the URL ({name})"
    )


def check_version(kind: kinds.Kind, name: str, live: json.JsonObject, new: json.JsonObject) -> None:
    """Refuse a write that was made from an older state or for another object of that name.

    Raises:
        api_errors.StatusError: 409; 422 for kinds that have to name a resourceVersion.
    """
    metadata = new["metadata"]
    uid, version = metadata.get("uid", ""), metadata.get("resourceVersion", "")
    if uid and uid != live["metadata"]["uid"]:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: "
        raise api_errors.conflict(kind.group, kind.plural, name, why + live["metadata"]["uid"])
    if version and version != live["metadata"]["resourceVersion"]:
        raise api_errors.conflict(kind.group, kind.plural, name, api_errors.MODIFIED)
    if not version and kind.custom:
        message = "Invalid value: 0: must be specified for an update"
        cause = {
            "reason": "FieldValueInvalid",
            "message": message,
            "field": "metadata.resourceVersion",
        }
        sentence = (
            f'{api_errors.qualified(kind.group, kind.plural)} "{name}" is invalid: '
            f"metadata.resourceVersion: {message}"
        )
        raise api_errors.invalid(kind.group, kind.plural, name, sentence, [cause])


def with_version(body: json.JsonObject, live: json.JsonObject) -> json.JsonObject:
    """Return `body` at the resourceVersion of the state it replaces."""
    version = live["metadata"]["resourceVersion"]
    return {**body, "metadata": {**body["metadata"], "resourceVersion": version}}


def unversioned(body: json.JsonObject) -> json.JsonObject:
    """Return `body` without a resourceVersion: what an apply creates may have said any."""
    metadata = {key: body["metadata"][key] for key in body["metadata"] if key != "resourceVersion"}
    return {**body, "metadata": metadata}
