"""Fields that should not be there: unknown and repeated ones, as field validation names them."""

import json as standard_json
from typing import Any

from kube_sandbox.apimachinery.scheme import decoding

#: The server names no more than this many, so that a bad file gives no endless answer.
MAXIMUM_NAMED = 100


class _Repeated(dict[str, Any]):
    """A JSON object in which keys occurred more than once."""

    __slots__ = ("names",)
    names: list[str]


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeated = _Repeated(found)
    seen: set[str] = set()
    repeated.names = []
    for name, _ in pairs:
        if name in seen and name not in repeated.names:
            repeated.names.append(name)
        seen.add(name)
    return repeated


def duplicates(text: bytes | str) -> list[str]:
    """Return the paths of fields that occur twice in one JSON object: ``spec.replicas``.

    Text that is no JSON has none; reading it is somebody else's to refuse.
    """
    try:
        parsed = standard_json.loads(text, object_pairs_hook=_pairs)
    except ValueError:
        return []
    found: list[str] = []
    _collect(parsed, "", found)
    return found[:MAXIMUM_NAMED]


def _collect(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, dict):
        if isinstance(value, _Repeated):
            found.extend(f"{path}.{name}" if path else name for name in value.names)
        for key, each in value.items():
            if isinstance(each, (dict, list)):
                _collect(each, f"{path}.{key}" if path else key, found)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            _collect(each, f"{path}[{index}]", found)


def complaints(decoded: decoding.Decoded, repeated: list[str] | None = None) -> list[str]:
    """Return what field validation says, a sentence per field: ``unknown field "spec.x"``."""
    doubled = [f'duplicate field "{each}"' for each in repeated or ()]
    unknown = [f'unknown field "{each}"' for each in sorted(set(decoded.unknown))]
    return [*doubled, *unknown][:MAXIMUM_NAMED]


def strict_message(kind: str, version: str, found: list[str]) -> str:
    """Return the sentence with which strict field validation refuses an object (400)."""
    return (
        f'{kind} in version "{version}" cannot be handled as a {kind}: '
        f"strict decoding error: {', '.join(found)}"
    )
