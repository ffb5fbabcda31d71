"""Structural schemas of custom resources: type, pruning, defaults.

Validation against the schema is in `structuralcheck`, the checks on the
CustomResourceDefinition itself in `definitions`.
"""

import re
from dataclasses import dataclass

from kube_sandbox import json
from kube_sandbox.apimachinery.scheme import catalog, types

_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_SCALARS = {
    "string": types.Type(types.Shape.STRING, leaf=True),
    "integer": types.Type(types.Shape.INT64, leaf=True),
    "number": types.Type(types.Shape.NUMBER, leaf=True),
    "boolean": types.Type(types.Shape.BOOLEAN, leaf=True),
}
_INT_OR_STRING = types.Type(types.Shape.INT_OR_STRING, leaf=True)
_STRING = _SCALARS["string"]


@dataclass(frozen=True, slots=True, eq=False)
class Structural:
    """An OpenAPI v3 schema of a custom resource and the type made from it."""

    schema: json.JsonObject
    type: types.Type


def build(schema: json.JsonObject, *, preserve: bool = False) -> Structural:
    """Return the type of a custom resource's schema; `preserve`: nothing is unknown."""
    root = _node(schema) if schema else types.Type(types.Shape.OBJECT, element=types.DEDUCED)
    if root.shape is not types.Shape.OBJECT:
        root = types.Type(types.Shape.OBJECT, element=types.DEDUCED)
    fields = {**root.fields, **_object_fields()}
    whole = types.Type(types.Shape.OBJECT, fields=fields, element=root.element)
    if preserve and whole.element is None:
        whole.element = types.DEDUCED
    return Structural(schema, whole)


def _object_fields() -> dict[str, types.Type]:
    meta = catalog.definition(_OBJECT_META)
    return {"apiVersion": _STRING, "kind": _STRING, "metadata": meta}


def _node(schema: json.JsonObject) -> types.Type:
    if schema.get("x-kubernetes-int-or-string"):
        return _INT_OR_STRING
    kind = schema.get("type", "")
    if kind == "object":
        return _object(schema)
    if kind == "array":
        return _list(schema)
    if kind in _SCALARS:
        return _SCALARS[kind]
    return types.DEDUCED


def _object(schema: json.JsonObject) -> types.Type:
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    atomic = schema.get("x-kubernetes-map-type") == "atomic"
    fields = {key: _node(each) for key, each in properties.items()}
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    if embedded:
        fields = {**fields, **_object_fields()}
    element: types.Type | None = None
    if isinstance(additional, dict) and not properties:
        element = _node(additional)
    elif schema.get(_PRESERVE) or additional is True:
        element = types.DEDUCED
    shape = types.Shape.MAP if element is not None and not fields else types.Shape.OBJECT
    return types.Type(
        shape,
        fields=fields,
        element=element,
        required=tuple(schema.get("required") or ()),
        atomic=atomic,
        leaf=atomic,
        embedded=embedded,
    )


def _list(schema: json.JsonObject) -> types.Type:
    items = schema.get("items") or {}
    relation = schema.get("x-kubernetes-list-type", "atomic")
    keys = tuple(schema.get("x-kubernetes-list-map-keys") or ()) if relation == "map" else ()
    defaults = {
        key: items["properties"][key]["default"]
        for key in keys
        if "default" in (items.get("properties") or {}).get(key, {})
    }
    atomic = relation not in ("map", "set")
    return types.Type(
        types.Shape.LIST,
        element=_node(items),
        atomic=atomic,
        leaf=atomic,
        keys=keys,
        key_defaults=defaults,
        unique=relation == "set",
    )


def fill(schema: json.JsonObject, value: object) -> object:
    """Return `value` with the schema's defaults; the same object when nothing was missing."""
    if isinstance(value, dict):
        return _fill_object(schema, value)
    if isinstance(value, list):
        items = schema.get("items")
        if not isinstance(items, dict):
            return value
        filled = [fill(items, each) for each in value]
        return filled if any(a is not b for a, b in zip(filled, value, strict=True)) else value
    return value


def _fill_object(schema: json.JsonObject, value: json.JsonObject) -> json.JsonObject:
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    changed: json.JsonObject = {}
    removed = []
    for key, each in properties.items():
        present = value.get(key)
        if key in value and (present is not None or each.get("nullable")):
            continue
        if "default" in each:
            changed[key] = fill(each, each["default"])
        elif key in value:
            removed.append(key)  # null where none is allowed
    for key, child in value.items():
        child_schema = properties.get(key) or additional
        if key in changed or not isinstance(child_schema, dict):
            continue
        filled = fill(child_schema, child)
        if filled is not child:
            changed[key] = filled
    if not changed and not removed:
        return value
    return {key: each for key, each in {**value, **changed}.items() if key not in removed}


#: Names of fields in messages: plain ones after a dot, others quoted in brackets.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


def join(path: str, key: str) -> str:
    """Return the path of a field below `path` as messages write it."""
    if not path:
        return key
    return f"{path}.{key}" if _PLAIN.match(key) else f"{path}[{key}]"
