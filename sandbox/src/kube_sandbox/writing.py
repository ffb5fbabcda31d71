"""Creating and changing objects: the common path of all writes.

The order is kube-apiserver's: read and decode, defaults, managed fields, what
the kind's strategy fills in, validation, then storage. A write that changes
nothing is not stored, so that the resourceVersion stays.
"""

from dataclasses import dataclass

from kube_sandbox import (
    cluster,
    conversions,
    deleting,
    identity,
    incoming,
    json,
    kinds,
    namespaces,
    preparing,
    services,
    status,
    verbs,
)
from kube_sandbox.schemas import jsonpatch, managed, mergepatch, patcherror, schema, strategic

#: Kinds that a PUT may create.
_CREATED_BY_UPDATE = frozenset(
    (
        ("", "Endpoints"),
        ("", "Event"),
        ("", "LimitRange"),
        ("", "Service"),
        ("coordination.k8s.io", "Lease"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("rbac.authorization.k8s.io", "Role"),
        ("rbac.authorization.k8s.io", "RoleBinding"),
    )
)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a write goes."""

    kind: kinds.Kind
    namespace: str
    name: str
    subresource: str = ""


def create(
    home: cluster.Cluster,
    kind: kinds.Kind,
    namespace: str,
    body: object,
    options: verbs.Options,
    *,
    name: str = "",
) -> verbs.Written:
    """Create an object; see `registry.Registry.create`. `name` is that of the path, if any."""
    stored = conversions.stored_kind(kind)
    sent = preparing.without_status(stored, _received(kind, body, options))
    read = incoming.read(stored, sent, options)
    placed = identity.named(home, stored, identity.placed(stored, namespace, read.body), name)
    tracked = managed.update(stored.schema, None, placed, manager=options.owner, now=home.stamp())
    written = _create(home, stored, namespace, tracked, options)
    return _told(kind, written, created=True, warnings=read.warnings)


def _create(
    home: cluster.Cluster,
    kind: kinds.Kind,
    namespace: str,
    body: json.JsonObject,
    options: verbs.Options,
) -> json.JsonObject:
    """Store a new object that was read, named and tracked."""
    name = str(body["metadata"].get("name", ""))
    if kind.namespaced:
        namespaces.require_open(home, kind, namespace, name)
    if body["metadata"].get("resourceVersion"):
        message = "resourceVersion should not be set on objects to be created"
        raise status.StatusError(500, message, reason="")
    prepared = preparing.for_creation(home, kind, body, dry_run=options.dry_run)
    try:
        incoming.check(kind, prepared, None)
        if home.storage.get(kind.bucket, namespace, name) is not None:
            raise status.already_exists(kind.group, kind.plural, name)
    except status.StatusError:
        if kind is kinds.SERVICE and not options.dry_run:
            services.release(home, prepared)
        raise
    if options.dry_run:
        return prepared
    rested = conversions.at_rest(kind, prepared)
    return home.storage.put(kind.bucket, namespace, name, rested).body


def update(
    home: cluster.Cluster, target: Target, body: object, options: verbs.Options
) -> verbs.Written:
    """Replace an object or its status; see `registry.Registry.update`."""
    kind, stored = target.kind, conversions.stored_kind(target.kind)
    body = _received(kind, body, options)
    live = _live(home, stored, target)
    if live is None:
        if (stored.group, stored.name) in _CREATED_BY_UPDATE and not target.subresource:
            return create(home, kind, target.namespace, body, options, name=target.name)
        raise status.not_found(stored.group, stored.plural, target.name)
    if target.subresource == "status":
        read = incoming.read_status(stored, body, live, options)
    else:
        read = incoming.read(stored, body, options)
    placed = identity.placed(stored, target.namespace, read.body)
    given = placed["metadata"].get("name", "")
    if given not in ("", target.name):
        raise identity.other_name(given, target.name)
    metadata = {**placed["metadata"], "name": target.name}
    written = _replace(home, stored, target, live, {**placed, "metadata": metadata}, options)
    return _told(kind, written, warnings=read.warnings)


def _received(kind: kinds.Kind, body: object, options: verbs.Options) -> object:
    """Return what was sent in the version objects are stored in, checked before it is converted."""
    if kind.convert is kinds.Convert.NONE:
        return body
    return conversions.inward(kind, incoming.read(kind, body, options).body)


def _live(home: cluster.Cluster, stored: kinds.Kind, target: Target) -> json.JsonObject | None:
    found = home.find(stored, target.namespace, target.name)
    return None if found is None else conversions.outward(stored, found)


def patch(
    home: cluster.Cluster,
    target: Target,
    change: object,
    patch_type: verbs.PatchType,
    options: verbs.Options,
) -> verbs.Written:
    """Change an object or its status by a patch; see `registry.Registry.patch`."""
    kind, stored = target.kind, conversions.stored_kind(target.kind)
    live = _live(home, stored, target)
    if live is None:
        raise status.not_found(stored.group, stored.plural, target.name)
    shown = conversions.outward(kind, live)
    patched = _received(kind, patched_body(kind.schema, shown, change, patch_type), options)
    read = incoming.read_patched(stored, patched, change, options)
    given = read.body["metadata"].get("name", "")
    if given != target.name:
        raise identity.other_name(given, target.name)
    written = _replace(home, stored, target, live, read.body, options)
    return _told(kind, written, warnings=read.warnings)


def patched_body(
    kind: schema.Schema, live: json.JsonObject, change: object, patch_type: verbs.PatchType
) -> json.JsonObject:
    """Return `live` with the patch applied.

    Raises:
        status.StatusError: 400 or 422, the patch cannot be read or does not fit.
    """
    try:
        match patch_type:
            case verbs.PatchType.JSON:
                return jsonpatch.apply(live, change)
            case verbs.PatchType.MERGE:
                return mergepatch.apply(live, change)
            case verbs.PatchType.STRATEGIC:
                return strategic.merge(kind, live, change)
    except patcherror.PatchError as problem:
        raise _patch_failure(problem) from problem


def _patch_failure(problem: patcherror.PatchError) -> status.StatusError:
    if problem.status == 422:
        # The server keeps the reason to itself; so clients cannot depend on it.
        message = "the server rejected our request due to an error in our request"
        failure = status.StatusError(422, message)
        failure.body["details"] = {}
        return failure
    return status.StatusError(problem.status, str(problem))


def apply(
    home: cluster.Cluster, target: Target, body: json.JsonObject, options: verbs.Options
) -> verbs.Written:
    """Server-side apply; see `registry.Registry.apply`."""
    kind, stored = target.kind, conversions.stored_kind(target.kind)
    live = _live(home, stored, target)
    if live is None and target.subresource:
        raise status.not_found(stored.group, stored.plural, target.name)
    wanted = _applicable(kind, target, body)
    if live is None and wanted["metadata"].get("uid"):
        why = (
            f"uid mismatch: the provided object specified uid {wanted['metadata']['uid']}, "
            "and no existing object was found"
        )
        raise status.conflict(stored.group, stored.plural, target.name, why)
    shown = None if live is None else conversions.outward(kind, live)
    merged = merge_applied(kind, target, shown, wanted, options, now=home.stamp())
    if merged is live:
        return _told(kind, merged)
    if kind is not stored:
        merged = conversions.inward(kind, incoming.settle(kind, merged))
    settled = incoming.settle(stored, merged)
    if live is None:
        settled = identity.placed(stored, target.namespace, settled)
        written = _create(home, stored, target.namespace, settled, options)
        return _told(kind, written, created=True)
    sent = wanted["metadata"]
    asked = {key: sent[key] for key in ("resourceVersion", "uid") if sent.get(key)}
    settled = {**settled, "metadata": {**settled["metadata"], **asked}}
    return _told(kind, _replace(home, stored, target, live, settled, options, tracked=True))


def _applicable(kind: kinds.Kind, target: Target, body: json.JsonObject) -> json.JsonObject:
    """Return the applied object with the path's name.

    Raises:
        status.StatusError: 400, it is another object.
    """
    if body.get("kind") != kind.name:
        raise status.bad_request(
            f"invalid object type: {body.get('apiVersion')}, Kind={body.get('kind')}"
        )
    metadata = body.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise status.bad_request("metadata must be an object")
    if kind.namespaced and metadata.get("namespace", "") not in ("", target.namespace):
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    return {**body, "metadata": {"name": target.name, **metadata}}


def merge_applied(
    kind: kinds.Kind,
    target: Target,
    live: json.JsonObject | None,
    body: json.JsonObject,
    options: verbs.Options,
    *,
    now: str,
) -> json.JsonObject:
    """Merge an applied object into the live one, with the refusals as Statuses.

    Raises:
        status.StatusError: 400, 409 with the conflicts, 500 when it does not fit its type.
    """
    try:
        result = managed.apply(
            kind.schema,
            live,
            body,
            manager=options.manager,
            now=now,
            force=options.force,
            subresource=target.subresource,
        )
    except managed.ConflictError as problem:
        details = {"causes": [each.json for each in problem.conflicts]}
        raise status.StatusError(409, str(problem), details=details) from problem
    except managed.BadApplyError as problem:
        raise status.bad_request(str(problem)) from problem
    except managed.TypedError as problem:
        raise status.StatusError(500, str(problem), reason="") from problem
    given = body["metadata"]["name"]
    if given != target.name:
        raise identity.other_name(given, target.name)
    sent = body["metadata"].get("resourceVersion", "")
    if live is None or result.changed or sent:
        return result.body
    managers = result.body["metadata"].get("managedFields")
    # Nothing changed at all: the object itself, which spares the rest of the way.
    return live if managers is live["metadata"].get("managedFields") else result.body


def _replace(
    home: cluster.Cluster,
    kind: kinds.Kind,
    target: Target,
    live: json.JsonObject,
    new: json.JsonObject,
    options: verbs.Options,
    *,
    tracked: bool = False,
) -> json.JsonObject:
    """Store the new state of an object; everything after decoding."""
    identity.check_version(kind, target.name, live, new)
    if not tracked:
        new = managed.update(
            kind.schema,
            live,
            new,
            manager=options.owner,
            now=home.stamp(),
            subresource=target.subresource,
        )
    if target.subresource == "status":
        prepared = preparing.for_status_update(kind, new, live)
    else:
        prepared = preparing.for_update(home, kind, new, live, dry_run=options.dry_run)
    prepared = identity.with_version(prepared, live)
    incoming.check(kind, prepared, live, subresource=target.subresource)
    return store(home, kind, live, prepared, dry_run=options.dry_run)


def store(
    home: cluster.Cluster,
    kind: kinds.Kind,
    live: json.JsonObject,
    new: json.JsonObject,
    *,
    dry_run: bool,
) -> json.JsonObject:
    """Put a changed object where the old one is; one that waited for this goes at once."""
    settled = managed.settle(live, new)
    if settled is live or dry_run:
        return settled
    metadata = settled["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    if deleting.is_due(kind, settled):
        home.storage.put(kind.bucket, namespace, name, conversions.at_rest(kind, settled))
        return deleting.remove(home, kind, namespace, name)
    rested = conversions.at_rest(kind, settled)
    return home.storage.put(kind.bucket, namespace, name, rested).body


def _told(
    kind: kinds.Kind,
    body: json.JsonObject,
    *,
    created: bool = False,
    warnings: tuple[str, ...] = (),
) -> verbs.Written:
    notes = (kind.note,) if kind.note else ()
    return verbs.Written(conversions.outward(kind, body), created, (*warnings, *notes))
