"""Which object a write is about: its name, its namespace, and the state it was made from."""

from kube_sandbox import cluster, json, kinds, status

#: Tries to find a generated name that is free.
_NAME_TRIES = 8


def placed(kind: kinds.Kind, namespace: str, body: json.JsonObject) -> json.JsonObject:
    """Put the object into the namespace of the path.

    Raises:
        status.StatusError: 400, it names another one.
    """
    metadata = body["metadata"]
    given = metadata.get("namespace", "")
    if kind.namespaced and given not in ("", namespace):
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    rest = {key: value for key, value in metadata.items() if key != "namespace"}
    return {**body, "metadata": {**rest, "namespace": namespace} if kind.namespaced else rest}


def named(
    home: cluster.Cluster, kind: kinds.Kind, body: json.JsonObject, name: str
) -> json.JsonObject:
    """Give the object its name: its own, the path's or a generated one.

    Raises:
        status.StatusError: 400, its own differs from the path's.
    """
    metadata = body["metadata"]
    given = metadata.get("name", "")
    if name and given not in ("", name):
        raise other_name(given, name)
    chosen = name or _free_name(home, kind, metadata)
    if given or not chosen:
        return body
    return {**body, "metadata": {**metadata, "name": chosen}}


def _free_name(home: cluster.Cluster, kind: kinds.Kind, metadata: json.JsonObject) -> str:
    """Return a name for ``generateName`` that nobody has; empty when none is wanted."""
    base, name = metadata.get("generateName", ""), ""
    for _ in range(_NAME_TRIES if base else 0):
        name = home.generated_name(base)
        if home.storage.get(kind.bucket, metadata.get("namespace", ""), name) is None:
            break
    return name


def other_name(given: str, name: str) -> status.StatusError:
    """Build the 400 for an object of another name than the path's."""
    return status.bad_request(
        f"the name of the object ({given}) does not match the name on the URL ({name})"
    )


def check_version(kind: kinds.Kind, name: str, live: json.JsonObject, new: json.JsonObject) -> None:
    """Refuse a write that was made from an older state or for another object of that name.

    Raises:
        status.StatusError: 409; 422 for kinds that have to name a resourceVersion.
    """
    metadata = new["metadata"]
    uid, version = metadata.get("uid", ""), metadata.get("resourceVersion", "")
    if uid and uid != live["metadata"]["uid"]:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: "
        raise status.conflict(kind.group, kind.plural, name, why + live["metadata"]["uid"])
    if version and version != live["metadata"]["resourceVersion"]:
        raise status.conflict(kind.group, kind.plural, name, status.MODIFIED)
    if not version and kind.custom:
        message = "Invalid value: 0: must be specified for an update"
        cause = {
            "reason": "FieldValueInvalid",
            "message": message,
            "field": "metadata.resourceVersion",
        }
        sentence = (
            f'{status.qualified(kind.group, kind.plural)} "{name}" is invalid: '
            f"metadata.resourceVersion: {message}"
        )
        raise status.invalid(kind.group, kind.plural, name, sentence, [cause])


def with_version(body: json.JsonObject, live: json.JsonObject) -> json.JsonObject:
    """Return `body` at the resourceVersion of the state it replaces."""
    version = live["metadata"]["resourceVersion"]
    return {**body, "metadata": {**body["metadata"], "resourceVersion": version}}
