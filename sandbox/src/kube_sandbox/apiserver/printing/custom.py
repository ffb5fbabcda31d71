"""The columns a CustomResourceDefinition asks for, read by their JSONPath."""

import re
from collections.abc import Sequence
from datetime import datetime

from kube_sandbox import json
from kube_sandbox.apiserver.printing import cells, durations

#: One step of a path: a field, a quoted field, an index, a wildcard or a filter.
_STEP = re.compile(
    r"""\.(?P<field>[\w-]+)|\[['"](?P<quoted>[^'"]+)['"]\]|\[(?P<index>\d+)\]|(?P<all>\[\*\])"""
    r"""|\[\?\(@\.(?P<key>[\w.-]+)\s*==\s*['"](?P<value>[^'"]*)['"]\)\]"""
)


def columns(asked: Sequence[json.JsonObject]) -> tuple[cells.Column, ...]:
    """Turn ``additionalPrinterColumns`` into columns; name and, without any, age are added."""
    if not asked:
        return cells.NAME, cells.AGE
    return (cells.NAME, *(_column(each) for each in asked))


def _column(asked: json.JsonObject) -> cells.Column:
    path, kind = str(asked.get("jsonPath", "")), str(asked.get("type", "string"))

    def read(obj: json.JsonObject, now: datetime) -> cells.Cell:
        return _cell(find(obj, path), kind, now)

    return cells.Column(
        str(asked.get("name", "")),
        read,
        type=kind,
        format=str(asked.get("format", "")),
        description=str(asked.get("description", "")),
        priority=int(asked.get("priority") or 0),
    )


def find(obj: object, path: str) -> list[object]:
    """Return what a JSONPath picks: fields, indexes, ``[*]`` and ``[?(@.a=="b")]``."""
    position, found = 0, [obj]
    text = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    while position < len(text):
        step = _STEP.match(text, position)
        if step is None:
            return []
        found = [child for each in found for child in _children(each, step)]
        position = step.end()
    return found


def _children(value: object, step: re.Match[str]) -> list[object]:
    field = step["field"] or step["quoted"]
    if field is not None:
        return [value[field]] if isinstance(value, dict) and field in value else []
    if not isinstance(value, list):
        return []
    if step["all"]:
        return list(value)
    if step["index"] is not None:
        return value[int(step["index"]) : int(step["index"]) + 1]
    return [each for each in value if str(find(each, f".{step['key']}")) == f"['{step['value']}']"]


def _cell(found: list[object], kind: str, now: datetime) -> cells.Cell:
    if not found or found[0] is None:
        return None
    value = found[0]
    if kind == "date":
        return durations.age(str(value), now)
    if kind == "integer" and isinstance(value, (int, float)):
        return int(value)
    if kind == "boolean" and isinstance(value, bool):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(str(each) for each in found) if len(found) > 1 else str(value)
