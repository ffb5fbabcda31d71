"""Sets of fields as ``metadata.managedFields`` writes them, and values at their paths: pure.

A set is a tree: ``f:name`` for a field, ``k:{…}`` for a list item by its keys, ``v:…`` for a value
of a list that is a set, ``.`` for the node itself. What has nothing below it is owned whole.
"""

import json as text
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, Final

from volary.model import json

#: Keys of a set from its root to one node.
Path = tuple[str, ...]


class Missing(Enum):
    """There is no value."""

    ABSENT = "absent"


ABSENT: Final = Missing.ABSENT
_LONGEST_VALUE = 60


def shown(path: Path) -> str:
    """Return a path as API servers write it: ``.spec.containers[name="main"].image``."""
    return "".join(_shown(key) for key in path)


def shown_value(value: object) -> str:
    """Return a value for a sentence, cut where it is long."""
    if value is ABSENT:
        return "none"
    written = value if isinstance(value, str) else text.dumps(value, ensure_ascii=False)
    return written if len(written) <= _LONGEST_VALUE else f"{written[:_LONGEST_VALUE]}…"


def _shown(key: str) -> str:
    if key.startswith("f:"):
        return f".{key[2:]}"
    if key.startswith("k:"):
        keys = text.loads(key[2:])
        return "[" + ",".join(f"{name}={text.dumps(keys[name])}" for name in sorted(keys)) + "]"
    return f"[={key[2:]}]" if key.startswith("v:") else f"[{key[2:]}]"


def split(
    fields: json.JsonObject, belongs: Callable[[Path], bool], path: Path = ()
) -> tuple[json.JsonObject, json.JsonObject]:
    """Divide a set: the fields of which `belongs` is true, and the rest.

    A node itself goes with what is below it, and stays where any of that stays.
    """
    taken: json.JsonObject = {}
    rest: json.JsonObject = {}
    for key, below in fields.items():
        if key == ".":
            continue
        here = (*path, key)
        if _is_leaf(below):
            (taken if belongs(here) else rest)[key] = below
            continue
        inner_taken, inner_rest = split(below, belongs, here)
        if inner_taken:
            taken[key] = inner_taken
        if inner_rest:
            rest[key] = inner_rest
    if "." in fields:
        (rest if rest or not taken else taken)["."] = {}
    return taken, rest


def union(left: json.JsonObject, right: json.JsonObject) -> json.JsonObject:
    """Return the fields of both sets."""
    merged = dict(left)
    for key, below in right.items():
        merged[key] = union(merged[key], below) if key in merged else below
    return merged


def minus(fields: json.JsonObject, others: json.JsonObject) -> json.JsonObject:
    """Return the fields that are not in another set."""
    rest: json.JsonObject = {}
    for key, below in fields.items():
        if key != "." and key not in others:
            rest[key] = below
        elif key != "." and (left := minus(below, others[key])):
            rest[key] = left
    return rest


def without(value: Any, given_up: json.JsonObject, kept: json.JsonObject) -> Any:
    """Return `value` as it is when nobody but the owner of `kept` wants the fields any more.

    What API servers do when a manager stops naming fields: an object or list item that was
    owned itself goes with all that is in it, unless somebody owns any of that.
    """
    if isinstance(value, dict):
        result = dict(value)
        for key, below in given_up.items():
            name = key[2:]
            if key.startswith("f:") and name in result:
                left = _left(result.pop(name), below, kept.get(key))
                if left is not ABSENT:
                    result[name] = left
        return result
    if isinstance(value, list):
        return [
            left for item in value if (left := _left_of_item(item, given_up, kept)) is not ABSENT
        ]
    return value


def _left_of_item(item: Any, given_up: json.JsonObject, kept: json.JsonObject) -> Any:
    key = next((key for key in given_up if is_item(key, item)), None)
    return item if key is None else _left(item, given_up[key], kept.get(key))


def _left(value: Any, given_up: json.JsonObject, kept: json.JsonObject | None) -> Any:
    if kept is None and (_is_leaf(given_up) or "." in given_up):
        return ABSENT
    if kept is not None and (_is_leaf(given_up) or _is_leaf(kept)):
        return value
    left = without(value, given_up, kept or {})
    return ABSENT if kept is None and left in ({}, []) else left


def is_item(key: str, item: Any) -> bool:
    """Say whether `key` of a set names this item of a list."""
    if key.startswith("v:"):
        return bool(text.loads(key[2:]) == item)
    if not key.startswith("k:") or not isinstance(item, dict):
        return False
    # What a list is keyed by may be left to its default.
    return all(item.get(name, value) == value for name, value in text.loads(key[2:]).items())


def differences(
    fields: json.JsonObject, before: Any, after: Any, path: Path = ()
) -> Iterator[tuple[Path, Any, Any]]:
    """Yield where the two values differ within a set: the path and both, the highest that is
    `ABSENT` on one side."""
    if before is ABSENT or after is ABSENT or _is_leaf(fields):
        if before != after:
            yield path, before, after
        return
    for key, below in fields.items():
        if key != ".":
            yield from differences(below, _at(before, key), _at(after, key), (*path, key))


def _at(value: Any, key: str) -> Any:
    if isinstance(value, dict) and key.startswith("f:"):
        return value.get(key[2:], ABSENT)
    if isinstance(value, list):
        return next((item for item in value if is_item(key, item)), ABSENT)
    return ABSENT


def _is_leaf(fields: json.JsonObject) -> bool:
    return all(key == "." for key in fields)
