"""Creating and changing objects: the common path of all writes.

The order is kube-apiserver's: read and decode, defaults, managed fields, what
the kind's strategy fills in, validation, then storage. A write that changes
nothing is not stored, so that the resourceVersion stays.
"""

import dataclasses
from dataclasses import dataclass

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors, causes, go_text
from kube_sandbox.apimachinery.patching import (
    json_patch,
    managed_fields,
    merge_patch,
    patch_errors,
    strategic_merge,
)
from kube_sandbox.apimachinery.scheme import conversions, kinds, schema
from kube_sandbox.apimachinery.validation import definitions, validator
from kube_sandbox.apiserver.registry import (
    deleting,
    naming,
    reading,
    services,
    strategies,
)
from kube_sandbox.apiserver.registry.admission import chain
from kube_sandbox.apiserver.registry.admission import request as admission_request
from kube_sandbox.apiserver.storage import cluster_state, verbs

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
    state: cluster_state.ClusterState,
    kind: kinds.Kind,
    namespace: str,
    body: object,
    options: verbs.Options,
    *,
    name: str = "",
) -> verbs.Written:
    """Create an object; see `registry.Registry.create`. `name` is that of the path, if any."""
    stored = conversions.stored_kind(kind)
    sent = strategies.without_status(stored, _received(kind, body, options))
    read = reading.read(stored, sent, options)
    placed = naming.named(state, stored, naming.placed(stored, namespace, read.body), name)
    tracked = managed_fields.update(
        stored.schema, None, placed, manager=options.owner, now=state.stamp()
    )
    written = _create(state, stored, namespace, tracked, options)
    return _told(kind, written, None, read.warnings)


def _create(
    state: cluster_state.ClusterState,
    kind: kinds.Kind,
    namespace: str,
    body: json.JsonObject,
    options: verbs.Options,
) -> verbs.Written:
    """Store a new object that was read, named and tracked."""
    name = str(body["metadata"].get("name", ""))
    asked = admission_request.Request(
        admission_request.Operation.CREATE,
        kind,
        namespace,
        name,
        body,
        None,
        options.user,
        dry_run=options.dry_run,
    )
    body = chain.complete(state, asked)
    if body["metadata"].get("resourceVersion"):
        message = "resourceVersion should not be set on objects to be created"
        raise api_errors.StatusError(500, message, reason="")
    prepared = strategies.for_creation(state, kind, body, dry_run=options.dry_run)
    try:
        reading.check(kind, prepared, None)
        if state.storage.get(kind.bucket, namespace, name) is not None:
            raise api_errors.already_exists(kind.group, kind.plural, name)
        warnings = chain.check(state, dataclasses.replace(asked, body=prepared))
    except api_errors.StatusError:
        if kind is kinds.SERVICE and not options.dry_run:
            services.release(state, prepared)
        raise
    if not options.dry_run:
        rested = conversions.at_rest(kind, prepared)
        prepared = state.storage.put(kind.bucket, namespace, name, rested).body
    return verbs.Written(prepared, created=True, warnings=warnings)


def update(
    state: cluster_state.ClusterState, target: Target, body: object, options: verbs.Options
) -> verbs.Written:
    """Replace an object or its status; see `registry.Registry.update`."""
    kind, stored = target.kind, conversions.stored_kind(target.kind)
    body = _received(kind, body, options)
    live = _live(state, stored, target)
    if live is None:
        if (stored.group, stored.name) in _CREATED_BY_UPDATE and not target.subresource:
            return create(state, kind, target.namespace, body, options, name=target.name)
        raise api_errors.not_found(stored.group, stored.plural, target.name)
    if target.subresource == "status":
        read = reading.read_status(stored, body, live, options)
    else:
        read = reading.read(stored, body, options)
    placed = naming.placed(stored, target.namespace, read.body)
    given = placed["metadata"].get("name", "")
    if given not in ("", target.name):
        raise naming.other_name(given, target.name)
    metadata = {**placed["metadata"], "name": target.name}
    written = _replace(state, stored, target, live, {**placed, "metadata": metadata}, options)
    return _told(kind, written, live, read.warnings)


def _received(kind: kinds.Kind, body: object, options: verbs.Options) -> object:
    """Return what was sent in the version objects are stored in, checked before it is converted."""
    if kind.convert is kinds.Convert.NONE:
        return body
    return conversions.inward(kind, reading.read(kind, body, options).body)


def _live(
    state: cluster_state.ClusterState, stored: kinds.Kind, target: Target
) -> json.JsonObject | None:
    found = state.find(stored, target.namespace, target.name)
    return None if found is None else conversions.outward(stored, found)


def patch(
    state: cluster_state.ClusterState,
    target: Target,
    change: object,
    patch_type: verbs.PatchType,
    options: verbs.Options,
) -> verbs.Written:
    """Change an object or its status by a patch; see `registry.Registry.patch`."""
    kind, stored = target.kind, conversions.stored_kind(target.kind)
    live = _live(state, stored, target)
    if live is None:
        raise api_errors.not_found(stored.group, stored.plural, target.name)
    before = conversions.outward(kind, live)
    patched = _received(kind, patched_body(kind.schema, before, change, patch_type), options)
    shown = _shown_patch(change, patched, patch_type)
    read = reading.read_patched(stored, patched, shown, options)
    given = read.body["metadata"].get("name", "")
    if given != target.name:
        raise naming.other_name(given, target.name)
    written = _replace(state, stored, target, live, read.body, options)
    return _told(kind, written, live, read.warnings)


def _shown_patch(change: object, patched: object, patch_type: verbs.PatchType) -> str:
    """Return what a refusal shows: a strategic patch as Go prints it, else what it made."""
    if patch_type is verbs.PatchType.STRATEGIC:
        return go_text.printed(change)
    return causes.show(patched)


def patched_body(
    kind: schema.Schema, live: json.JsonObject, change: object, patch_type: verbs.PatchType
) -> json.JsonObject:
    """Return `live` with the patch applied.

    Raises:
        api_errors.StatusError: 400 or 422, the patch cannot be read or does not fit.
    """
    try:
        match patch_type:
            case verbs.PatchType.JSON:
                return json_patch.apply(live, change)
            case verbs.PatchType.MERGE:
                return merge_patch.apply(live, change)
            case verbs.PatchType.STRATEGIC:
                return strategic_merge.merge(kind, live, change)
    except patch_errors.PatchError as problem:
        raise _patch_failure(problem) from problem


def _patch_failure(problem: patch_errors.PatchError) -> api_errors.StatusError:
    if problem.status == 422:
        # The server keeps the reason to itself; so clients cannot depend on it.
        message = "the server rejected our request due to an error in our request"
        failure = api_errors.StatusError(422, message)
        failure.body["details"] = {}
        return failure
    return api_errors.StatusError(problem.status, str(problem))


def apply(
    state: cluster_state.ClusterState, target: Target, body: json.JsonObject, options: verbs.Options
) -> verbs.Written:
    """Server-side apply; see `registry.Registry.apply`."""
    kind, stored = target.kind, conversions.stored_kind(target.kind)
    faults = options.faults.sentences if options.validation is verbs.Validation.WARN else ()
    live = _live(state, stored, target)
    if live is None and target.subresource:
        raise api_errors.not_found(stored.group, stored.plural, target.name)
    wanted = _applicable(kind, target, body)
    if live is None and wanted["metadata"].get("uid"):
        why = (
            f"uid mismatch: the provided object specified uid {wanted['metadata']['uid']}, "
            "and no existing object was found"
        )
        raise api_errors.conflict(stored.group, stored.plural, target.name, why)
    shown = None if live is None else conversions.outward(kind, live)
    merged = merge_applied(kind, target, shown, wanted, options, now=state.stamp())
    if merged is live:
        return _told(kind, verbs.Written(merged), live, faults)
    if kind is not stored:
        merged = conversions.inward(kind, reading.settle(kind, merged))
    settled = reading.settle(stored, merged)
    if live is None:
        settled = naming.placed(stored, target.namespace, naming.unversioned(settled))
        written = _create(state, stored, target.namespace, settled, options)
        return _told(kind, written, None, faults)
    sent = wanted["metadata"]
    asked = {key: sent[key] for key in ("resourceVersion", "uid") if sent.get(key)}
    settled = {**settled, "metadata": {**settled["metadata"], **asked}}
    written = _replace(state, stored, target, live, settled, options, tracked=True)
    return _told(kind, written, live, faults)


def _applicable(kind: kinds.Kind, target: Target, body: json.JsonObject) -> json.JsonObject:
    """Return the applied object with the path's name.

    Raises:
        api_errors.StatusError: 400, it is another object.
    """
    if body.get("kind") != kind.name:
        raise api_errors.bad_request(
            f"invalid object type: {body.get('apiVersion')}, Kind={body.get('kind')}"
        )
    metadata = body.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise api_errors.bad_request("metadata must be an object")
    if kind.namespaced and metadata.get("namespace", "") not in ("", target.namespace):
        raise api_errors.bad_request(
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
        api_errors.StatusError: 400, 409 with the conflicts, 500 when it does not fit its type.
    """
    try:
        result = managed_fields.apply(
            kind.schema,
            live,
            body,
            manager=options.manager,
            now=now,
            force=options.force,
            subresource=target.subresource,
        )
    except managed_fields.ConflictError as problem:
        details = {"causes": [each.json for each in problem.conflicts]}
        raise api_errors.StatusError(409, str(problem), details=details) from problem
    except managed_fields.BadApplyError as problem:
        raise api_errors.bad_request(str(problem)) from problem
    except managed_fields.TypedError as problem:
        raise api_errors.StatusError(500, str(problem), reason="") from problem
    given = body["metadata"]["name"]
    if given != target.name:
        raise naming.other_name(given, target.name)
    sent = body["metadata"].get("resourceVersion", "")
    if live is None or result.changed or sent:
        return result.body
    managers = result.body["metadata"].get("managedFields")
    # Nothing changed at all: the object itself, which spares the rest of the way.
    return live if managers is live["metadata"].get("managedFields") else result.body


def _replace(
    state: cluster_state.ClusterState,
    kind: kinds.Kind,
    target: Target,
    live: json.JsonObject,
    new: json.JsonObject,
    options: verbs.Options,
    *,
    tracked: bool = False,
) -> verbs.Written:
    """Store the new state of an object; everything after decoding."""
    naming.check_version(kind, target.name, live, new)
    if not tracked:
        new = managed_fields.update(
            kind.schema,
            live,
            new,
            manager=options.owner,
            now=state.stamp(),
            subresource=target.subresource,
        )
    if target.subresource == "status":
        prepared = strategies.for_status_update(kind, new, live)
    else:
        prepared = strategies.for_update(state, kind, new, live, dry_run=options.dry_run)
    prepared = naming.with_version(prepared, live)
    reading.check(kind, prepared, live, subresource=target.subresource)
    asked = admission_request.Request(
        admission_request.Operation.UPDATE,
        kind,
        target.namespace,
        target.name,
        prepared,
        live,
        options.user,
        target.subresource,
        options.dry_run,
    )
    warnings = chain.check(state, asked)
    stored = store(state, kind, live, prepared, dry_run=options.dry_run)
    return verbs.Written(stored, warnings=warnings)


def store(
    state: cluster_state.ClusterState,
    kind: kinds.Kind,
    live: json.JsonObject,
    new: json.JsonObject,
    *,
    dry_run: bool,
) -> json.JsonObject:
    """Put a changed object where the old one is; one that waited for this goes at once."""
    settled = managed_fields.settle(live, new)
    if settled is live or dry_run:
        return settled
    metadata = settled["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    if deleting.is_due(kind, settled):
        state.storage.put(kind.bucket, namespace, name, conversions.at_rest(kind, settled))
        return deleting.remove(state, kind, namespace, name)
    rested = conversions.at_rest(kind, settled)
    return state.storage.put(kind.bucket, namespace, name, rested).body


def _told(
    kind: kinds.Kind,
    written: verbs.Written,
    live: json.JsonObject | None,
    warnings: tuple[str, ...] = (),
) -> verbs.Written:
    notes = (kind.note,) if kind.note else ()
    if kind.custom:
        notes = (*notes, *validator.finalizer_warnings(written.body, live))
    elif kind is kinds.CUSTOM_RESOURCE_DEFINITION:
        notes = (*notes, *definitions.warnings(written.body))
    told = (*warnings, *written.warnings, *notes)
    return verbs.Written(conversions.outward(kind, written.body), written.created, told)
