"""Giving up fields: what nobody manages any more goes (server-side apply)."""

from typing import Any

from kube_sandbox import json
from kube_sandbox.schemas import fieldset, merging, types

FieldSet = fieldset.FieldSet


def prune(kind: types.Type, value: Any, last: FieldSet, managed: list[FieldSet]) -> Any:
    """Return `value` without the fields of `last` that no set of `managed` has.

    `merging.MISSING` when nothing is left. A struct field counts as owned when something
    in it is, so that giving up one field of a struct does not take its neighbours.
    """
    if kind.shape is types.Shape.LIST:
        return _prune_list(kind, value, last, managed)
    if not isinstance(value, dict):
        return value
    found: json.JsonObject = {}
    changed = False
    for key, each in value.items():
        name = f"f:{key}"
        node = last.get(name)
        if node is None:
            found[key] = each
            continue
        child = kind.child(key) or types.ANYTHING
        kept = _prune_child(child, each, node, name, managed, named=key in kind.fields)
        changed = changed or kept is not each
        if kept is not merging.MISSING:
            found[key] = kept
    if not changed:
        return value
    return found or merging.MISSING


def _prune_list(kind: types.Type, value: Any, last: FieldSet, managed: list[FieldSet]) -> Any:
    if not isinstance(value, list) or kind.leaf:
        return value
    element = kind.element or types.ANYTHING
    found = []
    changed = False
    for item in value:
        name = merging.item_key(kind, item) or ""
        node = last.get(name)
        kept = item if node is None else _prune_child(element, item, node, name, managed)
        changed = changed or kept is not item
        if kept is not merging.MISSING:
            found.append(kept)
    if not changed:
        return value
    return found or merging.MISSING


def _prune_child(
    kind: types.Type,
    value: Any,
    node: FieldSet,
    name: str,
    managed: list[FieldSet],
    *,
    named: bool = False,
) -> Any:
    owners = [each[name] for each in managed if name in each]
    was_owned = not node or "." in node or named
    is_owned = any(not each or "." in each or named for each in owners)
    if was_owned and not is_owned:
        return merging.MISSING
    if not node or kind.leaf:
        return value
    return prune(kind, value, node, owners)
