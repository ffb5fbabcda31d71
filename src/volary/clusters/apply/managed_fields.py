"""Proof that a server-side apply would change nothing, from the live object alone.

Applying merges the fields of the manifest into the live object and removes fields
that its manager owned before and no longer names. So it changes nothing exactly when
the live object already has every value of the manifest, and its manager owns exactly
the manifest's fields. Both can be read from ``metadata.managedFields``, without a
request. What cannot be proven here (a value the server writes in another form,
a default inside an atomic list) is simply not proven: then a dry run shows.
"""

import json as text
from typing import Any, cast

from volary.manifests.ownership import field_managers
from volary.model import json

#: Named in the request's path, never owned by a manager.
_IDENTITY = ("apiVersion", "kind")
_NAMES = ("name", "namespace")
#: What differs between two readings of an object that is the same.
_VOLATILE = ("managedFields", "resourceVersion", "generation")


def is_proven_unchanged(
    desired: json.JsonObject, live: json.JsonObject, *, manager: str, but_for: str = ""
) -> bool:
    """Whether applying `desired` as `manager` provably leaves `live` as it is.

    The value of the annotation `but_for` may differ, where both have it.
    """
    owned = owned_fields(live, manager=manager, api_version=str(desired.get("apiVersion")))
    return owned is not None and _same(_body(_noted(desired, live, but_for)), live, owned)


def is_same(before: json.JsonObject, after: json.JsonObject, *, but_for: str = "") -> bool:
    """Whether a dry run's answer `after` is the live object `before`, bookkeeping aside.

    The value of the annotation `but_for` may differ, where both have it.
    """
    return substance(before) == substance(_noted(after, before, but_for))


def owned_fields(
    live: json.JsonObject, *, manager: str, api_version: str
) -> json.JsonObject | None:
    """Return the field set that `manager` applied as `api_version`; None when there is none."""
    for entry in field_managers.entries(live):
        if field_managers.is_applied_by(entry, manager):
            same_version = entry.get("apiVersion") == api_version
            return cast("json.JsonObject", entry.get("fieldsV1") or {}) if same_version else None
    return None


def _noted(body: json.JsonObject, other: json.JsonObject, annotation: str) -> json.JsonObject:
    """Return `body` with an annotation's value as `other` has it, where both have it."""
    metadata = body.get("metadata", {})
    annotations = metadata.get("annotations") or {}
    value = (other.get("metadata", {}).get("annotations") or {}).get(annotation)
    if value is None or annotations.get(annotation, value) == value:
        return body
    return {**body, "metadata": {**metadata, "annotations": {**annotations, annotation: value}}}


def _body(desired: json.JsonObject) -> json.JsonObject:
    body = {key: value for key, value in desired.items() if key not in _IDENTITY}
    metadata = {
        key: value for key, value in desired.get("metadata", {}).items() if key not in _NAMES
    }
    body.pop("metadata", None)
    return {**body, "metadata": metadata} if metadata else body


def substance(body: json.JsonObject) -> json.JsonObject:
    """Return what of an object is the same in two readings, but for what controllers report."""
    metadata = {key: value for key, value in body["metadata"].items() if key not in _VOLATILE}
    rest = {key: value for key, value in body.items() if key not in ("metadata", "status")}
    return {**rest, "metadata": metadata}


def _same(desired: Any, live: Any, fields: json.JsonObject) -> bool:
    """Whether `live` holds `desired` and `fields` names exactly the fields of `desired`."""
    children = {key: value for key, value in fields.items() if key != "."}
    if not children:
        return desired is not None and _equal(desired, live)
    if isinstance(desired, dict):
        return _same_map(desired, live, children)
    if isinstance(desired, list) and isinstance(live, list):
        if all(key.startswith("k:") for key in children):
            return _same_items(desired, live, children)
        if all(key.startswith("v:") for key in children):
            return _same_set(desired, live, children)
    return False


def _same_map(desired: dict[str, Any], live: Any, children: json.JsonObject) -> bool:
    return (
        isinstance(live, dict)
        and {f"f:{key}" for key in desired} == set(children)
        and all(
            key in live and _same(value, live[key], children[f"f:{key}"])
            for key, value in desired.items()
        )
    )


def _same_items(desired: list[Any], live: list[Any], children: json.JsonObject) -> bool:
    """Compare lists whose items are identified by keys; their order counts as well."""
    if len(desired) != len(children):
        return False
    remaining = dict(children)
    position = -1
    for item in desired:
        key = next((key for key in remaining if _names(key, item, remaining[key])), None)
        if key is None:
            return False
        live_position = _position(key, live)
        if live_position <= position or not _same(item, live[live_position], remaining.pop(key)):
            return False
        position = live_position
    return True


def _names(key: str, item: Any, fields: json.JsonObject) -> bool:
    """Whether list key `key` names `item`; a key field left to its default is not owned."""
    if not isinstance(item, dict):
        return False
    return all(
        _equal(item[name], value) if name in item else f"f:{name}" not in fields
        for name, value in text.loads(key.removeprefix("k:")).items()
    )


def _position(key: str, live: list[Any]) -> int:
    wanted = text.loads(key.removeprefix("k:"))
    for position, item in enumerate(live):
        if isinstance(item, dict) and all(
            name in item and _equal(item[name], value) for name, value in wanted.items()
        ):
            return position
    return -1


def _same_set(desired: list[Any], live: list[Any], children: json.JsonObject) -> bool:
    owned = [text.loads(key.removeprefix("v:")) for key in children]
    return (
        len(desired) == len(owned)
        and all(element in owned for element in desired)
        and [element for element in live if element in desired] == desired
    )


def _equal(left: Any, right: Any) -> bool:
    """Whether two JSON values are the same, telling ``1`` from ``true`` and ``1.0``."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return bool(left == right)
