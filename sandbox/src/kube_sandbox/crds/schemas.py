"""Parts of structural schemas, for definitions that are written in Python."""

from typing import Any

from kube_sandbox import json

#: Kept as it is sent, not checked.
OPEN: json.JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
BOOLEAN: json.JsonObject = {"type": "boolean"}


def text(
    pattern: str = "",
    *,
    least: int | None = None,
    most: int | None = None,
    default: str | None = None,
    one_of: tuple[str, ...] = (),
) -> json.JsonObject:
    """Return the schema of a text."""
    given: dict[str, Any] = {
        "pattern": pattern or None,
        "minLength": least,
        "maxLength": most,
        "default": default,
        "enum": list(one_of) or None,
    }
    return {"type": "string", **{key: value for key, value in given.items() if value is not None}}


def number(
    least: int | None = None, most: int | None = None, default: int | None = None
) -> json.JsonObject:
    """Return the schema of a whole number."""
    given = {"minimum": least, "maximum": most, "default": default}
    kept = {key: value for key, value in given.items() if value is not None}
    return {"type": "integer", "format": "int32", **kept}


def structure(
    required: tuple[str, ...] = (),
    rules: tuple[tuple[str, str], ...] = (),
    /,
    **properties: json.JsonObject,
) -> json.JsonObject:
    """Return the schema of an object; `rules` are pairs of an expression and its message."""
    schema: json.JsonObject = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return with_rules(schema, *rules)


def sequence(
    items: json.JsonObject,
    *rules: tuple[str, str],
    least: int | None = None,
    most: int | None = None,
    keys: tuple[str, ...] = (),
) -> json.JsonObject:
    """Return the schema of a list, atomic unless its items have keys."""
    schema: json.JsonObject = {
        "type": "array",
        "items": items,
        "x-kubernetes-list-type": "map" if keys else "atomic",
    }
    if keys:
        schema["x-kubernetes-list-map-keys"] = list(keys)
    if least is not None:
        schema["minItems"] = least
    if most is not None:
        schema["maxItems"] = most
    return with_rules(schema, *rules)


def mapping(values: json.JsonObject, most: int | None = None) -> json.JsonObject:
    """Return the schema of an object with any keys."""
    bound = {} if most is None else {"maxProperties": most}
    return {"type": "object", "additionalProperties": values, **bound}


def with_default(schema: json.JsonObject, value: object) -> json.JsonObject:
    """Return a schema with a default."""
    return {**schema, "default": value}


def with_rules(schema: json.JsonObject, *rules: tuple[str, str]) -> json.JsonObject:
    """Return a schema with rules: pairs of an expression and its message."""
    if not rules:
        return schema
    listed = [{"rule": expression, "message": message} for expression, message in rules]
    return {**schema, "x-kubernetes-validations": listed}
