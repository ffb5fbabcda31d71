"""Writes web/src/api/types.ts from the API's description; a test checks that it is current.

python tools/write_web_types.py
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from volary.server import app

FILE = Path(__file__).parents[1] / "web/src/api/types.ts"
_START = """\
// Written by tools/write_web_types.py from the API's description: change it there.
"""
#: Shapes of the framework's own answers, which nothing in Volary sends.
_FOREIGN = frozenset({"HTTPValidationError", "ValidationError"})


def page() -> str:
    """Return the file."""
    schemas = app.document()["components"]["schemas"]
    shapes = (
        _shape(name, schema) for name, schema in sorted(schemas.items()) if name not in _FOREIGN
    )
    return "\n".join((_START, *shapes))


def _shape(name: str, schema: Mapping[str, Any]) -> str:
    comment = _comment(schema.get("description", ""))
    if "properties" not in schema:
        return f"{comment}export type {name} = {_kind(schema)};\n"
    return f"{comment}export interface {name} {{\n" + "\n".join(_fields(schema)) + "\n}\n"


def _comment(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines()]
    if not lines:
        return ""
    if len(lines) == 1:
        return f"/** {lines[0]} */\n"
    body = "".join(f" * {line}".rstrip() + "\n" for line in lines)
    return f"/**\n{body} */\n"


def _fields(schema: Mapping[str, Any]) -> Iterator[str]:
    # A body's field with a default may be left out; an answer always has all of its fields.
    is_body = schema.get("additionalProperties") is False
    required = schema.get("required", ())
    for name, field in schema["properties"].items():
        if field.get("description"):
            yield f"  /** {field['description']} */"
        mark = "?" if is_body and name not in required else ""
        yield f"  {name}{mark}: {_kind(field)};"


def _kind(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " | ".join(json.dumps(value) for value in values)
    for several, joint in (("anyOf", " | "), ("allOf", " & ")):
        if several in schema:
            return joint.join(_kind(each) for each in schema[several])
    return _plain(schema)


def _plain(schema: Mapping[str, Any]) -> str:
    match schema.get("type"):
        case "array":
            kind = _kind(schema.get("items", {}))
            return f"({kind})[]" if " | " in kind or " & " in kind else f"{kind}[]"
        case "object":
            return f"Record<string, {_values(schema)}>"
        case "integer" | "number":
            return "number"
        case "string" | "boolean" | "null":
            return str(schema["type"])
    return "unknown"


def _values(schema: Mapping[str, Any]) -> str:
    values = schema.get("additionalProperties", True)
    return _kind(values) if isinstance(values, Mapping) else "unknown"


if __name__ == "__main__":
    FILE.write_text(page())
