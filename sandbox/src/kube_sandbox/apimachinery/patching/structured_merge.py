"""Merging and comparing typed values: the structured merge of server-side apply.

Follows the rules of Kubernetes' structured merge: associative lists are merged
by key and keep the order of what was applied, atomic values are taken as a
whole. Live values are returned as they are wherever nothing changes, so that
comparing the result with them is cheap.
"""

import functools
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import msgspec

from kube_sandbox import json
from kube_sandbox.apimachinery.patching import field_sets
from kube_sandbox.apimachinery.scheme import types

FieldSet = field_sets.FieldSet


class _Missing(Enum):
    MISSING = "missing"


#: There is no value at all, which is not the same as null.
MISSING = _Missing.MISSING


class TypedError(ValueError):
    """An applied object does not fit its type; the message names every place."""


@functools.lru_cache(maxsize=8192)
def _item_key(names: tuple[str, ...], values: tuple[object, ...]) -> str:
    pairs = dict(sorted(zip(names, values, strict=True)))
    return f"k:{msgspec.json.encode(pairs).decode()}"


def item_key(kind: types.Type, item: object) -> str | None:
    """Return the path element of an item of an associative list or set.

    None when the item has no key: no object, or a key field without default is missing.
    """
    if kind.unique:
        return f"v:{msgspec.json.encode(item).decode()}"
    if not isinstance(item, dict):
        return None
    values = []
    for name in kind.keys:
        value = item.get(name)
        if value is None:
            value = kind.key_defaults.get(name)
            if value is None:
                return None
        if isinstance(value, (dict, list)):
            return None
        values.append(value)
    return _item_key(kind.keys, tuple(values))


def _index(kind: types.Type, items: object) -> dict[str, object]:
    """Return a list's items by key; of items with one key the first, as the server does."""
    found: dict[str, object] = {}
    if isinstance(items, list):
        for position, item in enumerate(items):
            found.setdefault(item_key(kind, item) or f"i:{position}", item)
    return found


@dataclass(slots=True)
class _Collector:
    """One pass over an applied object: where it is, and what is wrong with it."""

    path: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def refuse(self, message: str) -> None:
        self.errors.append(f"{''.join(self.path)}: {message}")


def field_set(kind: types.Type, value: json.JsonObject) -> FieldSet:
    """Return the fields a manager owns that applied `value`.

    Raises:
        TypedError: Unknown fields, wrong types, or items with one key.
    """
    collector = _Collector()
    found = _set_node(collector, kind, value) or {}
    if collector.errors:
        errors = collector.errors
        raise TypedError(errors[0] if len(errors) == 1 else "\n  ".join(["errors:", *errors]))
    return found


def _set_node(collector: _Collector, kind: types.Type, value: object) -> FieldSet | None:
    if kind.leaf:
        _check_leaf(collector, kind, value)
        return field_sets.LEAF
    if value is None:
        return None
    if kind.shape is types.Shape.LIST:
        return _set_list(collector, kind, value)
    if isinstance(value, dict):
        return _set_map(collector, kind, value)
    if kind.shape is not types.Shape.ANY:
        collector.refuse(f"expected map, got &{{{_go(value)}}}")
    return field_sets.LEAF


def _set_map(collector: _Collector, kind: types.Type, value: json.JsonObject) -> FieldSet | None:
    found: FieldSet = {}
    path = collector.path
    fields = kind.fields
    for key, each in value.items():
        named = fields.get(key)
        child = named or kind.element
        path.append(f".{key}")
        if child is None:
            collector.refuse("field not declared in schema")
        else:
            node = _set_node(collector, child, each)
            if named is None or each is None or each == {}:
                node = field_sets.with_member(node)
            if node is not None:
                found[f"f:{key}"] = node
        path.pop()
    return found or None


def _set_list(collector: _Collector, kind: types.Type, value: object) -> FieldSet | None:
    if not isinstance(value, list):
        collector.refuse(f"expected list, got &{{{_go(value)}}}")
        return None
    found: FieldSet = {}
    element = kind.element or types.ANYTHING
    for position, item in enumerate(value):
        key = item_key(kind, item)
        if key is None:
            collector.refuse(f"element {position}: {_no_key(kind, item)}")
            continue
        shown = field_sets.show_element(key)
        if key in found:
            collector.refuse(f"duplicate entries for key {shown}")
            continue
        collector.path.append(shown)
        found[key] = field_sets.with_member(_set_node(collector, element, item))
        collector.path.pop()
    return found or None


def _no_key(kind: types.Type, item: object) -> str:
    if item is None:
        return "associative list with keys may not have nil elements"
    if not isinstance(item, dict):
        return "associative list with keys may not have non-map elements"
    name = next(
        (each for each in kind.keys if item.get(each) is None and each not in kind.key_defaults), ""
    )
    return (
        f'associative list with keys has an element that omits key field "{name}"'
        " (and doesn't have default value)"
    )


def _check_leaf(collector: _Collector, kind: types.Type, value: object) -> None:
    shape = kind.shape
    if value is None or shape is types.Shape.ANY:
        return
    if shape is types.Shape.STRING or shape is types.Shape.BYTES:
        if not isinstance(value, str):
            collector.refuse(f"expected string, got &value.valueUnstructured{{Value:{_go(value)}}}")
    elif shape in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            collector.refuse(f"expected numeric (int or float), got {_go_type(value)}")
    elif shape is types.Shape.BOOLEAN:
        if not isinstance(value, bool):
            collector.refuse(f"expected boolean, got &{{{_go(value)}}}")
    elif shape is types.Shape.LIST and not isinstance(value, list):
        collector.refuse(f"expected list, got &{{{_go(value)}}}")
    elif shape in _MAPS and not isinstance(value, dict):
        collector.refuse(f"expected map, got &{{{_go(value)}}}")


_NUMBERS = frozenset((types.Shape.INT32, types.Shape.INT64, types.Shape.NUMBER))
_MAPS = frozenset((types.Shape.OBJECT, types.Shape.MAP))


def _go(value: object) -> str:
    """Write a scalar as Go prints it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _go_type(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    return "[]interface {}" if isinstance(value, list) else "map[string]interface {}"


def merge(kind: types.Type, live: Any, applied: Any) -> Any:
    """Return `live` with `applied` laid over it; `live` itself when nothing changes."""
    if live is applied or (live is not MISSING and live == applied):
        return live
    if live is MISSING or kind.leaf:
        return applied
    if kind.shape is types.Shape.LIST:
        if applied and isinstance(live, list):
            return _merge_list(kind, live, applied)
        return applied if applied or not live else live
    if isinstance(live, dict) and (live or applied) and isinstance(applied, dict | None):
        return _merge_map(kind, live, applied or {})
    return applied


def _merge_map(
    kind: types.Type, live: json.JsonObject, applied: json.JsonObject
) -> json.JsonObject:
    changed = {}
    for key, value in applied.items():
        child = kind.child(key) or types.ANYTHING
        known = live.get(key, MISSING)
        merged = merge(child, known, value)
        if merged is not known:
            changed[key] = merged
    return {**live, **changed} if changed else live


def _merge_list(kind: types.Type, live: list[Any], applied: list[Any]) -> list[Any]:
    """Merge by key; shared items follow the applied order, others keep their place.

    The walk is the server's: it takes live-only items as long as the next shared
    item is not the wanted one, else the next applied item.
    """
    left, right = _index(kind, live), _index(kind, applied)
    left_keys, right_keys = list(left), list(right)
    element = kind.element or types.ANYTHING
    wanted = [key for key in right_keys if key in left]
    merged: dict[str, Any] = {}
    left_at = right_at = shared_at = 0
    while left_at < len(left_keys) or right_at < len(right_keys):
        if left_at < len(left_keys):
            key = left_keys[left_at]
            if key not in right:
                merged[key] = left[key]
                left_at += 1
                continue
            expected = wanted[shared_at] if shared_at < len(wanted) else None
            if key in merged or (expected is not None and key != expected):
                left_at += 1
                continue
        key = right_keys[right_at]
        merged[key] = merge(element, left.get(key, MISSING), right[key])
        right_at += 1
        if shared_at < len(wanted) and wanted[shared_at] == key:
            shared_at += 1
    return list(merged.values())


def compare(kind: types.Type, old: object, new: object) -> tuple[FieldSet | None, FieldSet | None]:
    """Return which fields were added or changed, and which were removed."""
    if old is new or (old == new and old is not MISSING):
        return None, None
    if kind.leaf:
        return _leaf(new)
    if kind.shape is types.Shape.LIST:
        left, right = _index(kind, old), _index(kind, new)
        element = kind.element or types.ANYTHING
        if not left and not right:
            return _leaf(new)
        return _members(old, new, *_compare_items(element, left, right))
    if kind.shape is types.Shape.ANY and not isinstance(old, dict) and not isinstance(new, dict):
        return _leaf(new)
    return _compare_maps(kind, old, new)


def _leaf(new: object) -> tuple[FieldSet | None, FieldSet | None]:
    return (None, field_sets.LEAF) if new is MISSING else (field_sets.LEAF, None)


def _members(
    old: object, new: object, changed: FieldSet, removed: FieldSet
) -> tuple[FieldSet | None, FieldSet | None]:
    if old is MISSING:
        return field_sets.with_member(changed), removed or None
    if new is MISSING:
        return changed or None, field_sets.with_member(removed)
    return changed or None, removed or None


def _compare_items(
    element: types.Type, left: dict[str, object], right: dict[str, object]
) -> tuple[FieldSet, FieldSet]:
    changed: FieldSet = {}
    removed: FieldSet = {}
    for key in left | right:
        more, less = compare(element, left.get(key, MISSING), right.get(key, MISSING))
        if more is not None:
            changed[key] = more
        if less is not None:
            removed[key] = less
    return changed, removed


def _compare_maps(
    kind: types.Type, old: object, new: object
) -> tuple[FieldSet | None, FieldSet | None]:
    left = old if isinstance(old, dict) else {}
    right = new if isinstance(new, dict) else {}
    if not left and not right:
        return _leaf(new)
    changed: FieldSet = {}
    removed: FieldSet = {}
    for key, value in right.items():
        before = left.get(key, MISSING)
        if before is value:
            continue
        more, less = compare(kind.child(key) or types.ANYTHING, before, value)
        if more is not None:
            changed[f"f:{key}"] = more
        if less is not None:
            removed[f"f:{key}"] = less
    for key, value in left.items():
        if key not in right:
            _, less = compare(kind.child(key) or types.ANYTHING, value, MISSING)
            if less is not None:
                removed[f"f:{key}"] = less
    if (
        kind.shape is types.Shape.ANY
        and old is not MISSING
        and new is not MISSING
        and (isinstance(old, dict) is not isinstance(new, dict))
    ):
        changed = field_sets.with_member(changed)  # a scalar became an object or the other way
    return _members(old, new, changed, removed)


def prune(kind: types.Type, value: Any, last: FieldSet, managed: list[FieldSet]) -> Any:
    """Return `value` without the fields of `last` that no set of `managed` has.

    `MISSING` when nothing is left. A struct field counts as owned when something
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
        if kept is not MISSING:
            found[key] = kept
    if not changed:
        return value
    return found or MISSING


def _prune_list(kind: types.Type, value: Any, last: FieldSet, managed: list[FieldSet]) -> Any:
    if not isinstance(value, list) or kind.leaf:
        return value
    element = kind.element or types.ANYTHING
    found = []
    changed = False
    for item in value:
        name = item_key(kind, item) or ""
        node = last.get(name)
        kept = item if node is None else _prune_child(element, item, node, name, managed)
        changed = changed or kept is not item
        if kept is not MISSING:
            found.append(kept)
    if not changed:
        return value
    return found or MISSING


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
        return MISSING
    if not node or kind.leaf:
        return value
    return prune(kind, value, node, owners)
