"""Careful access to the inside of open-ended objects.

What a user wrote or a cluster sent may have any shape. These functions answer
with something empty where the shape is not the expected one, so that the code
above them reads as if it were.
"""

from collections.abc import Iterator
from typing import Any, cast

from volary.model import json


def mapping(body: object, *path: str) -> json.JsonObject:
    """Return the object at `path`; an empty one when it is missing or something else."""
    content = value(body, *path)
    return cast("json.JsonObject", content) if isinstance(content, dict) else {}


def sequence(body: object, *path: str) -> list[Any]:
    """Return the list at `path`; an empty one when it is missing or something else."""
    content = value(body, *path)
    return content if isinstance(content, list) else []


def mappings(body: object, *path: str) -> Iterator[json.JsonObject]:
    """Yield the objects in the list at `path`."""
    return (item for item in sequence(body, *path) if isinstance(item, dict))


def text(body: object, *path: str) -> str:
    """Return the string at `path`; empty when it is missing or something else."""
    content = value(body, *path)
    return content if isinstance(content, str) else ""


def number(body: object, *path: str, default: int = 0) -> int:
    """Return the whole number at `path`, `default` when it is missing or something else."""
    content = value(body, *path)
    return content if isinstance(content, int) and not isinstance(content, bool) else default


def value(body: object, *path: str) -> object:
    """Return whatever is at `path`; None when it is missing."""
    content = body
    for step in path:
        if not isinstance(content, dict):
            return None
        content = content.get(step)
    return content


def uid(body: object) -> str:
    """Return which object of its name it is."""
    return text(body, "metadata", "uid")


def is_terminating(body: object) -> bool:
    """Whether an object was deleted, and is still held by something."""
    return bool(value(body, "metadata", "deletionTimestamp"))


def duplicate(body: json.JsonObject) -> json.JsonObject:
    """Return a copy that shares nothing with `body`, to be changed by its maker.

    Nor does it share anything within itself: in YAML an alias, as labels that stand in the
    selector and on the pods, is one value in two places.
    """
    return {key: _unshared(value) for key, value in body.items()}


def _unshared(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unshared(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_unshared(inner) for inner in value]
    return value


def branch(body: json.JsonObject, *path: str) -> json.JsonObject:
    """Return the object at `path` for writing into it, made along the way where missing."""
    content = body
    for step in path:
        below = content.get(step)
        if not isinstance(below, dict):
            below = content[step] = {}
        content = below
    return content
