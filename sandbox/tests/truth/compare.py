"""What differs between a recorded answer and another server's, placeholders aside.

A recorded placeholder (``<uid>``, ``<time>``, …) stands for any value. Random
parts of names are masked on both sides, lists of objects are sorted by name,
managed fields are compared only where a case is about them.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

MISSING = "(missing)"
_PLACEHOLDER = re.compile(r"<(uid|rv|time|token|ip|port|continue|hash|version|commit|state|go)>\Z")
_UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
#: A pod template hash, which depends on Go's way to print structs, and random suffixes.
_HASHED = re.compile(r"\b([a-z]+)-[bcdf0-9]{7,10}(-[bcdfghjklmnpqrstvwxz2456789]{5})?\b")
_RANDOM = re.compile(r"\b(gen)-[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_UNORDERED = frozenset(
    (
        *("items", "rows", "resources", "verbs", "managedFields"),
        *("resourceRules", "nonResourceRules"),
    )
)
#: How old something is, which depends on how fast the machine is.
_AGE = re.compile(r"[0-9]+s\Z")
#: Addresses of pods: the recorded ones all have the same.
_ADDRESSES = frozenset(("podIP", "ip"))
_HASH_LABEL = "pod-template-hash"


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two answers differ."""

    path: str
    expected: object
    actual: object

    def __str__(self) -> str:
        return f"{self.path}: expected {_short(self.expected)}, got {_short(self.actual)}"


def _short(value: object) -> str:
    text = value if value == MISSING else json.dumps(value)
    return text if len(text) < 300 else f"{text[:300]}…"


def differences(expected: object, actual: object, *, managed: bool = False) -> list[Difference]:
    """Return every difference between a recorded body and another one."""
    return list(_compare("", clean(expected, managed=managed), clean(actual, managed=managed)))


def clean(value: object, *, managed: bool) -> object:
    """Mask what is random, sort what has no order."""
    if isinstance(value, dict):
        return {
            key: "<hash>" if key == _HASH_LABEL else _cleaned(key, each, managed=managed)
            for key, each in value.items()
            if managed or key != "managedFields"
        }
    if isinstance(value, list):
        return [clean(each, managed=managed) for each in value]
    return _mask(value) if isinstance(value, str) else value


def _cleaned(key: str, value: object, *, managed: bool) -> object:
    cleaned = clean(value, managed=managed)
    if key in _ADDRESSES and isinstance(cleaned, str):
        return "<ip>"
    if isinstance(cleaned, list) and key == "cells":
        return ["<age>" if _is_age(cell) else cell for cell in cleaned]
    if not isinstance(cleaned, list) or key not in _UNORDERED:
        return cleaned
    return sorted(cleaned, key=_rank)


def _is_age(cell: object) -> bool:
    return isinstance(cell, str) and _AGE.match(cell) is not None


def _rank(value: object) -> str:
    """What to sort by: names, and where they are random, what a pod shall run."""
    if not isinstance(value, dict):
        return str(value)
    for key in ("cells", "name"):
        if key in value:
            return str(value[key])
    if "manager" in value:
        return json.dumps({**value, "time": ""}, sort_keys=True)
    if "metadata" not in value:
        return json.dumps(value, sort_keys=True)
    spec = {key: each for key, each in (value.get("spec") or {}).items() if key != "nodeName"}
    return value["metadata"]["name"] + json.dumps(spec, sort_keys=True)


def _mask(text: str) -> str:
    text = _UID.sub("<uid>", text)
    text = _HASHED.sub(r"\1-<hash>", text)
    return _RANDOM.sub(r"\1-<suffix>", text)


def _compare(path: str, expected: object, actual: object) -> Iterator[Difference]:
    if isinstance(expected, str) and _PLACEHOLDER.match(expected):
        if actual in (None, "", MISSING):
            yield Difference(path, expected, actual)
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            where = f"{path}.{key}" if path else key
            yield from _compare(where, expected.get(key, MISSING), actual.get(key, MISSING))
    elif isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            yield Difference(path, expected, actual)
            return
        for index, (left, right) in enumerate(zip(expected, actual, strict=True)):
            yield from _compare(f"{path}[{index}]", left, right)
    elif expected != actual or isinstance(expected, bool) is not isinstance(actual, bool):
        yield Difference(path, expected, actual)


#: What controllers write, sooner or later.
_REVISION = "deployment.kubernetes.io/revision"


def without_races(body: object) -> object:
    """Return a body without what depends on how soon a controller reacted."""
    if not isinstance(body, dict) or not isinstance(body.get("metadata"), dict):
        return body
    metadata = dict(body["metadata"])
    annotations = {
        key: value for key, value in metadata.pop("annotations", {}).items() if key != _REVISION
    }
    if annotations:
        metadata["annotations"] = annotations
    if "managedFields" in metadata:
        metadata["managedFields"] = [
            each for each in metadata["managedFields"] if each.get("subresource") != "status"
        ]
    rest = {key: value for key, value in body.items() if key != "status"}
    return {**rest, "metadata": metadata}
