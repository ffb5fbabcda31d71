"""JSON patch (RFC 6902), with the errors and limits of the API server."""

from typing import Any

from kube_sandbox import json
from kube_sandbox.apimachinery.patching import patch_errors

#: More operations than this are refused, as by the server.
MAXIMUM_OPERATIONS = 10_000

_WITH_VALUE = frozenset(("add", "replace", "test"))
_WITH_FROM = frozenset(("move", "copy"))
_OPERATIONS = _WITH_VALUE | _WITH_FROM | {"remove"}


def apply(live: json.JsonObject, operations: object) -> json.JsonObject:
    """Return `live` with a JSON patch applied.

    Raises:
        patcherror.PatchError: The patch is malformed (400), too long (413), or does
            not fit the object (422): a missing path, a failed test.
    """
    if not isinstance(operations, list):
        raise patch_errors.PatchError("error decoding patch: a JSON patch must be an array")
    if len(operations) > MAXIMUM_OPERATIONS:
        raise patch_errors.PatchError(
            f"The allowed maximum operations in a JSON patch is {MAXIMUM_OPERATIONS}, "
            f"got {len(operations)}",
            status=413,
        )
    document: Any = live
    for operation in operations:
        document = _carry_out(document, operation)
    if not isinstance(document, dict):
        raise _unfit("the patched document is no object")
    return document


def _unfit(message: str) -> patch_errors.PatchError:
    return patch_errors.PatchError(message, status=422)


def _carry_out(document: Any, operation: Any) -> Any:
    name = operation.get("op") if isinstance(operation, dict) else None
    if not isinstance(name, str) or name not in _OPERATIONS:
        raise _unfit(f"Unexpected kind: {name}")
    path = _pointer(operation.get("path"))
    if name in _WITH_FROM:
        source = _pointer(operation.get("from"))
        value = _get(document, source)
        if name == "move":
            document = _remove(document, source)
        return _put(document, path, value, insert=True)
    if name == "remove":
        return _remove(document, path)
    if name == "test":
        _test(document, path, operation.get("value"))
        return document
    if "value" not in operation:
        raise _unfit(f"{name} operation does not have a value")
    if name == "replace":
        _get(document, path)
    return _put(document, path, operation["value"], insert=name == "add")


def _pointer(text: object) -> tuple[str, ...]:
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise _unfit(f"invalid path {text!r}")
    parts = text.split("/")[1:]
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)


def _index(items: list[Any], part: str, *, limit: int) -> int:
    if not part.isascii() or not part.removeprefix("-").isdigit():
        raise _unfit(f"invalid array index {part!r}")
    index = int(part)
    # Negative indices count from the end: a habit of the library the server uses.
    index = index + len(items) if index < 0 else index
    if not 0 <= index < limit:
        raise _unfit(f"index {part} is out of bounds")
    return index


def _get(document: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        if isinstance(document, dict) and part in document:
            document = document[part]
        elif isinstance(document, list):
            document = document[_index(document, part, limit=len(document))]
        else:
            raise _unfit(f"missing path /{'/'.join(path)}")
    return document


def _put(document: Any, path: tuple[str, ...], value: Any, *, insert: bool) -> Any:
    if not path:
        return value
    part, rest = path[0], path[1:]
    if isinstance(document, list):
        items = list(document)
        if rest:
            index = _index(items, part, limit=len(items))
            items[index] = _put(items[index], rest, value, insert=insert)
        elif insert:
            end = part == "-"
            items.insert(len(items) if end else _index(items, part, limit=len(items) + 1), value)
        else:
            items[_index(items, part, limit=len(items))] = value
        return items
    if not isinstance(document, dict) or (rest and part not in document):
        raise _unfit(f"missing path {part!r}")
    return {**document, part: _put(document[part], rest, value, insert=insert) if rest else value}


def _remove(document: Any, path: tuple[str, ...]) -> Any:
    if not path:
        raise _unfit("the whole document cannot be removed")
    part, rest = path[0], path[1:]
    if isinstance(document, list):
        index = _index(document, part, limit=len(document))
        kept = [_remove(document[index], rest)] if rest else []
        return [*document[:index], *kept, *document[index + 1 :]]
    if not isinstance(document, dict) or part not in document:
        raise _unfit(f"missing path {part!r}")
    if rest:
        return {**document, part: _remove(document[part], rest)}
    return {key: each for key, each in document.items() if key != part}


def _test(document: Any, path: tuple[str, ...], value: Any) -> None:
    try:
        found = _get(document, path)
    except patch_errors.PatchError:
        if value is None:
            return  # a missing value equals null
        raise
    if found != value or isinstance(found, bool) is not isinstance(value, bool):
        raise _unfit(f"testing value /{'/'.join(path)} failed")
