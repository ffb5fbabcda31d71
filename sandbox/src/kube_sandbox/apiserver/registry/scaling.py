"""The scale subresource: an ``autoscaling/v1`` Scale over an object's replicas."""

from collections.abc import Sequence
from typing import Any

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors, causes, objects
from kube_sandbox.apimachinery.patching import managed_fields
from kube_sandbox.apimachinery.scheme import conversions, kinds
from kube_sandbox.apiserver.registry import strategies, writing
from kube_sandbox.apiserver.storage import cluster_state, verbs

_SPEC_REPLICAS = ("spec", "replicas")


def read(state: cluster_state.ClusterState, target: writing.Target) -> json.JsonObject:
    """Return an object's Scale.

    Raises:
        api_errors.StatusError: 404; 500 when a custom resource has no replicas field.
    """
    return show(target.kind, _live(state, target))


def _live(state: cluster_state.ClusterState, target: writing.Target) -> json.JsonObject:
    kind = target.kind
    live = state.find(kind, target.namespace, target.name)
    if live is None:
        raise api_errors.not_found(kind.group, kind.plural, target.name)
    return conversions.outward(kind, live)


def show(kind: kinds.Kind, body: json.JsonObject) -> json.JsonObject:
    """Return the Scale of an object."""
    paths = kind.scale_paths
    replicas = _dig(body, _path(paths.spec)) if paths else _dig(body, _SPEC_REPLICAS)
    if replicas is None and paths:
        why = f'the spec replicas field "{paths.spec}" does not exist'
        raise api_errors.StatusError(
            500, f"Internal error occurred: {why}", details={"causes": [{"message": why}]}
        )
    actual = _dig(body, _path(paths.status)) if paths else _dig(body, ("status", "replicas"))
    selector = _selector(kind, body)
    told: json.JsonObject = {"replicas": actual or 0}
    if selector:
        told["selector"] = selector
    metadata = body["metadata"]
    shown = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in shown if key in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": told,
    }


def _path(text: str) -> Sequence[str]:
    return tuple(text.removeprefix(".").split("."))


def _dig(body: Any, path: Sequence[str]) -> Any:
    for part in path:
        body = body.get(part) if isinstance(body, dict) else None
    return body


def _selector(kind: kinds.Kind, body: json.JsonObject) -> str:
    if kind.scale_paths:
        path = kind.scale_paths.selector
        return str(_dig(body, _path(path)) or "") if path else ""
    selector = objects.selector(body) or {}
    equal = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    return ",".join([*equal, *(_expression(each) for each in _expressions(selector))])


def _expressions(selector: json.JsonObject) -> Sequence[json.JsonObject]:
    found: Sequence[json.JsonObject] = selector.get("matchExpressions") or ()
    return found


def _expression(each: json.JsonObject) -> str:
    key, values = each["key"], ",".join(sorted(each.get("values") or ()))
    match each["operator"]:
        case "Exists":
            return str(key)
        case "DoesNotExist":
            return f"!{key}"
        case operator:
            return f"{key} {operator.lower()} ({values})"


def update(
    state: cluster_state.ClusterState, target: writing.Target, scale: object, options: verbs.Options
) -> verbs.Written:
    """Set an object's replicas from a Scale.

    Raises:
        api_errors.StatusError: 400, 404, 409, 422.
    """
    live = _live(state, target)
    kind = target.kind
    given = scale if isinstance(scale, dict) else {}
    if given.get("kind", "Scale") != "Scale":
        raise api_errors.bad_request(f"expected input object type to be Scale, but {given['kind']}")
    version = (given.get("metadata") or {}).get("resourceVersion", "")
    if version and version != live["metadata"]["resourceVersion"]:
        raise api_errors.conflict(kind.group, kind.plural, target.name, api_errors.MODIFIED)
    replicas = (given.get("spec") or {}).get("replicas") or 0
    _check(target, replicas)
    path = _path(kind.scale_paths.spec) if kind.scale_paths else _SPEC_REPLICAS
    new = _with(live, path, replicas)
    tracked = managed_fields.update(
        kind.schema,
        live,
        new,
        manager=options.owner,
        now=state.stamp(),
        subresource="scale",
    )
    prepared = strategies.for_update(state, kind, tracked, live, dry_run=options.dry_run)
    written = writing.store(state, kind, live, prepared, dry_run=options.dry_run)
    return verbs.Written(show(kind, written))


def _check(target: writing.Target, replicas: object) -> None:
    if isinstance(replicas, bool) or not isinstance(replicas, int):
        message = "json: cannot unmarshal value into Go struct field ScaleSpec.spec.replicas"
        raise api_errors.bad_request(
            f'Scale in version "v1" cannot be handled as a Scale: {message} of type int32'
        )
    if replicas < 0:
        cause = causes.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        message = causes.message("autoscaling", "Scale", target.name, [cause])
        raise api_errors.invalid("autoscaling", "Scale", target.name, message, [cause.json])


def _with(body: json.JsonObject, path: Sequence[str], value: object) -> json.JsonObject:
    head, *rest = path
    inner = body.get(head) or {}
    return {**body, head: _with(inner, rest, value) if rest else value}


def patch(
    state: cluster_state.ClusterState,
    target: writing.Target,
    change: object,
    patch_type: verbs.PatchType,
    options: verbs.Options,
) -> verbs.Written:
    """Change an object's Scale by a patch; a Scale has no lists, so all merges are alike.

    Raises:
        api_errors.StatusError: 400, 404, 409, 422.
    """
    live = _live(state, target)
    shown = show(target.kind, live)
    if patch_type is verbs.PatchType.STRATEGIC:
        patch_type = verbs.PatchType.MERGE
    patched = writing.patched_body(target.kind.schema, shown, change, patch_type)
    return update(state, target, patched, options)


def apply(
    state: cluster_state.ClusterState,
    target: writing.Target,
    body: json.JsonObject,
    options: verbs.Options,
) -> verbs.Written:
    """Apply a Scale: the manager owns the replicas from now on.

    Raises:
        api_errors.StatusError: 400, 404, 409, 422.
    """
    live = _live(state, target)
    replicas = (body.get("spec") or {}).get("replicas")
    _check(target, replicas)
    kind = target.kind
    path = _path(kind.scale_paths.spec) if kind.scale_paths else _SPEC_REPLICAS
    wanted = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": target.name}}
    applied = _with(wanted, path, replicas)
    tracked = writing.merge_applied(kind, target, live, applied, options, now=state.stamp())
    prepared = strategies.for_update(state, kind, tracked, live, dry_run=options.dry_run)
    written = writing.store(state, kind, live, prepared, dry_run=options.dry_run)
    return verbs.Written(show(kind, written))
