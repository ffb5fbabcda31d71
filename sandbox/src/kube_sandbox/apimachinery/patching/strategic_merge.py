"""Strategic merge patch: Kubernetes' merge of lists by key, with its directives.

``$patch`` (replace, delete, merge), ``$retainKeys``, ``$deleteFromPrimitiveList/<field>``
and ``$setElementOrder/<field>``. The order of merged lists is the server's: items of
the patch keep the patch's order, the others that of the live list.
"""

from collections.abc import Callable
from typing import Any

from kube_sandbox import json
from kube_sandbox.apimachinery.patching import patch_errors
from kube_sandbox.apimachinery.scheme import schema, types

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE = "$deleteFromPrimitiveList/"


def merge(kind: schema.Schema, live: json.JsonObject, patch: object) -> json.JsonObject:
    """Return `live` with a strategic merge patch applied.

    Raises:
        patcherror.PatchError: The patch is no object, or a directive is malformed.
    """
    if not isinstance(patch, dict):
        raise patch_errors.PatchError("invalid JSON document")
    return _merge_map(kind.type, live, patch)


def _merge_map(
    kind: types.Type, live: json.JsonObject | None, patch: json.JsonObject
) -> json.JsonObject:
    directive = patch.get(_PATCH)
    if directive is not None:
        return _directed(kind, live, patch, directive)
    merged = _retained(dict(live or {}), patch)
    ordered = _ordered_fields(kind, merged, patch)
    for key, value in patch.items():
        if key == _RETAIN or key.startswith(_ORDER) or key in ordered:
            continue
        if key.startswith(_DELETE):
            _delete_scalars(merged, key.removeprefix(_DELETE), value)
        elif value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge_value(kind.child(key), merged.get(key), value)
    return merged


def _directed(
    kind: types.Type, live: json.JsonObject | None, patch: json.JsonObject, directive: object
) -> json.JsonObject:
    rest = {key: value for key, value in patch.items() if key != _PATCH}
    if directive == "replace":
        return rest
    if directive == "delete":
        return {}
    if directive == "merge":
        return _merge_map(kind, live, rest)
    raise patch_errors.PatchError(f"unknown patch type found: {directive}")


def _retained(live: json.JsonObject, patch: json.JsonObject) -> json.JsonObject:
    if _RETAIN not in patch:
        return live
    kept = patch[_RETAIN]
    if not isinstance(kept, list) or not all(isinstance(each, str) for each in kept):
        raise patch_errors.PatchError("invalid patch format of retainKeys")
    named = {
        key.removeprefix(_ORDER).removeprefix(_DELETE)
        for key, value in patch.items()
        if key != _RETAIN and value is not None
    }
    if not named <= set(kept):
        raise patch_errors.PatchError("invalid patch format of retainKeys")
    return {key: value for key, value in live.items() if key in kept}


def _ordered_fields(
    kind: types.Type, merged: json.JsonObject, patch: json.JsonObject
) -> frozenset[str]:
    """Merge the lists whose order the patch gives; return their names."""
    done = set()
    for key, order in patch.items():
        if not key.startswith(_ORDER):
            continue
        name = key.removeprefix(_ORDER)
        if not isinstance(order, list):
            raise patch_errors.PatchError("invalid patch format of setElementOrder list")
        child = kind.child(name) or types.ANYTHING
        identity = _identity(child, order)
        live, items = merged.get(name), patch.get(name)
        if isinstance(items, list) and isinstance(live, list):
            found = _merge_value(child, live, items)
        else:
            found = _without_directives(items) if isinstance(items, list) else live
        if isinstance(found, list):
            merged[name] = _reorder(found, order, live if isinstance(live, list) else [], identity)
        if name in patch and patch[name] is not None:
            done.add(name)
    return frozenset(done)


def _delete_scalars(merged: json.JsonObject, name: str, values: object) -> None:
    if not isinstance(values, list):
        raise patch_errors.PatchError("invalid patch format of primitive list")
    live = merged.get(name)
    if isinstance(live, list):
        merged[name] = [each for each in live if each not in values]


def _merge_value(kind: types.Type | None, live: Any, patch: Any) -> Any:
    node = kind or types.ANYTHING
    if isinstance(patch, dict):
        if "replace" in node.strategies:
            return _without_directives(patch)
        base = live if isinstance(live, dict) else {}
        return _merge_map(node, base, patch)
    if isinstance(patch, list):
        if "merge" in node.strategies and isinstance(live, list):
            return _merge_list(node, live, patch)
        return _without_directives(patch)
    return patch


def _without_directives(value: Any) -> Any:
    """Return a patch value as a new one: nulls and directives have nothing to act on."""
    if isinstance(value, dict):
        return {
            key: _without_directives(each)
            for key, each in value.items()
            if each is not None and not key.startswith("$")
        }
    if isinstance(value, list):
        return [
            _without_directives(each)
            for each in value
            if not (isinstance(each, dict) and each.get(_PATCH) in ("delete", "replace"))
        ]
    return value


Identity = Callable[[Any], Any]


def _identity(kind: types.Type, items: list[Any]) -> Identity:
    if kind.merge_key and any(isinstance(each, dict) for each in items):
        key = kind.merge_key
        return lambda item: item.get(key) if isinstance(item, dict) else None
    return lambda item: item


def _merge_list(kind: types.Type, live: list[Any], patch: list[Any]) -> list[Any]:
    if not any(isinstance(each, dict) for each in (*live, *patch)):
        merged = [*live, *(each for each in patch if each not in live)]
        return _reorder(merged, patch, live, lambda item: item)
    if not kind.merge_key:
        raise patch_errors.PatchError(
            f"cannot merge lists without merge key for {kind.short_name}", status=500
        )
    return _merge_objects(kind, live, patch)


def _merge_objects(kind: types.Type, live: list[Any], patch: list[Any]) -> list[Any]:
    key = kind.merge_key
    identity = _identity(kind, patch)
    plain = []
    deleted = []
    replace = False
    for item in patch:
        directive = item.get(_PATCH) if isinstance(item, dict) else None
        if directive == "replace":
            replace = True
        elif directive == "delete":
            deleted.append(_key_of(item, key))
        elif directive not in (None, "merge"):
            raise patch_errors.PatchError(f"unknown patch type found: {directive}")
        else:
            plain.append(item)
    if replace:
        return _without_directives(plain)  # type: ignore[no-any-return]  # a list stays one
    kept = [each for each in live if identity(each) not in deleted]
    merged = list(kept)
    for item in plain:
        name = _key_of(item, key)
        at = next((i for i, each in enumerate(merged) if identity(each) == name), None)
        if at is None:
            merged.append(_without_directives(item))
        else:
            merged[at] = _merge_map(kind.element or types.ANYTHING, merged[at], item)
    return _reorder(merged, plain, kept, identity)


def _key_of(item: Any, key: str) -> Any:
    if not isinstance(item, dict) or key not in item:
        raise patch_errors.PatchError(
            f"map: {item} does not contain declared merge key: {key}", status=500
        )
    return item[key]


def _reorder(
    merged: list[Any], wanted: list[Any], live: list[Any], identity: Identity
) -> list[Any]:
    """Order a merged list: items in `wanted` as there, the others where `live` has them."""
    places = _places(wanted, identity)
    before = _places(live, identity)
    named = [each for each in merged if _hash(identity(each)) in places]
    others = [each for each in merged if _hash(identity(each)) not in places]
    named.sort(key=lambda each: places[_hash(identity(each))])
    result = []
    while named and others:
        left = before.get(_hash(identity(others[0])))
        right = before.get(_hash(identity(named[0])))
        first = left is not None and right is not None and left < right
        result.append(others.pop(0) if first else named.pop(0))
    return [*result, *named, *others]


def _places(items: list[Any], identity: Identity) -> dict[str, int]:
    found: dict[str, int] = {}
    for index, each in enumerate(items):
        found.setdefault(_hash(identity(each)), index)
    return found


def _hash(value: Any) -> str:
    return repr(value)
