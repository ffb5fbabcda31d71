"""Validation of custom resources against their structural schema.

The subset of OpenAPI that structural schemas allow, in the words of kube-apiserver.
Values that an update leaves as they were are not checked again. Rules in
``x-kubernetes-validations`` are in `rules`.
"""

import datetime
import functools
import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import causes
from kube_sandbox.apimachinery.patching import structured_merge
from kube_sandbox.apimachinery.scheme import structural_schemas, types

Causes = list[causes.Cause]
Schema = json.JsonObject

#: There is no old value that belongs to this one.
_MISSING: Any = object()
_TYPE_NAMES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer"}


def check(schema: Schema, body: json.JsonObject, old: json.JsonObject | None = None) -> Causes:
    """Return what is wrong with a custom resource, without its metadata."""
    properties, former = schema.get("properties") or {}, old or {}
    found: Causes = []
    for key in schema.get("required") or ():
        if key not in body:
            found.append(causes.required(key))
    for key, value in body.items():
        if key in ("apiVersion", "kind", "metadata"):
            continue
        if key in properties:
            found += _value(properties[key], key, value, former.get(key, _MISSING))
    return found + _branches(schema, "", body)


def _value(schema: Schema, path: str, value: Any, old: Any = _MISSING) -> Causes:
    if old is not _MISSING and old == value:
        return []
    if value is None:
        if schema.get("nullable") or not schema.get("type"):
            return []
        return [_wrong_type(path, value, schema["type"])]
    wrong = _type(schema, path, value)
    if wrong:
        return wrong
    found = _enum(schema, path, value)
    rule = _RULES.get(type(value))
    if rule is not None:
        found += rule(schema, path, value, old)
    return found + _branches(schema, path, value)


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    return _TYPE_NAMES.get(type(value), "number")


def _type(schema: Schema, path: str, value: Any) -> Causes:
    if schema.get("x-kubernetes-int-or-string"):
        if type(value) in (int, str):
            return []
        return [_wrong_type(path, value, "integer,string")]
    wanted = schema.get("type")
    actual = _type_name(value)
    whole = isinstance(value, float) and value.is_integer() and wanted == "integer"
    if not wanted or actual == wanted or whole or (wanted == "number" and actual == "integer"):
        return []
    return [_wrong_type(path, value, wanted)]


def _wrong_type(path: str, value: Any, wanted: str) -> causes.Cause:
    actual = _type_name(value)
    detail = f'{path} in body must be of type {wanted}: "{actual}"'
    return causes.type_invalid(path, actual, detail)


def _enum(schema: Schema, path: str, value: Any) -> Causes:
    allowed = schema.get("enum")
    if allowed is None or value in allowed:
        return []
    names = ", ".join(causes.show(each) for each in allowed)
    message = f"Unsupported value: {causes.show(value)}: supported values: {names}"
    return [causes.Cause("FieldValueNotSupported", message, path)]


def _object(schema: Schema, path: str, value: json.JsonObject, old: Any) -> Causes:
    former = old if isinstance(old, dict) else {}
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    found: Causes = []
    for key in schema.get("required") or ():
        if key not in value:
            found.append(causes.required(structural_schemas.join(path, key)))
    for key, each in value.items():
        child = properties.get(key, additional)
        if isinstance(child, dict):
            was = former.get(key, _MISSING)
            found += _value(child, structural_schemas.join(path, key), each, was)
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    if least is not None and len(value) < least:
        detail = f"{path} in body should have at least {least} properties"
        found.append(causes.invalid(path, value, detail))
    if most is not None and len(value) > most:
        found.append(causes.too_many(path, len(value), most))
    return found


def _list(schema: Schema, path: str, value: list[Any], old: Any) -> Causes:
    items = schema.get("items") or {}
    kind, former = former_items(schema, old)
    found: Causes = []
    for index, each in enumerate(value):
        was = former.get(structured_merge.item_key(kind, each), _MISSING) if former else _MISSING
        found += _value(items, f"{path}[{index}]", each, was)
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        detail = f"{path} in body should have at least {least} items"
        found.append(causes.invalid(path, value, detail))
    if most is not None and len(value) > most:
        found.append(causes.too_many(path, len(value), most))
    return found + _repeated(schema, path, value)


def former_items(schema: Schema, old: Any) -> tuple[types.Type, dict[str | None, Any]]:
    """Return the type of a list by its keys, and its former items by them; none without keys."""
    kind = types.Type(types.Shape.LIST, keys=tuple(schema.get("x-kubernetes-list-map-keys") or ()))
    if schema.get("x-kubernetes-list-type") != "map" or not isinstance(old, list):
        return kind, {}
    keyed = ((structured_merge.item_key(kind, item), item) for item in old)
    return kind, {key: item for key, item in keyed if key is not None}


def _repeated(schema: Schema, path: str, value: list[Any]) -> Causes:
    relation = schema.get("x-kubernetes-list-type")
    if relation not in ("map", "set"):
        return []
    keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
    kind = types.Type(types.Shape.LIST, keys=keys, unique=relation == "set")
    found: Causes = []
    seen: set[str] = set()
    for index, each in enumerate(value):
        key = structured_merge.item_key(kind, each)
        if key is None:
            continue
        if key in seen:
            shown = each if relation == "set" else {name: each[name] for name in keys}
            found.append(causes.duplicate(f"{path}[{index}]", shown))
        seen.add(key)
    return found


def _string(schema: Schema, path: str, value: str, _: Any) -> Causes:
    found: Causes = []
    least, most = schema.get("minLength"), schema.get("maxLength")
    if most is not None and len(value) > most:
        found.append(causes.too_long(path, most))
    if least is not None and len(value) < least:
        detail = f"{path} in body should be at least {least} chars long"
        found.append(causes.invalid(path, value, detail))
    pattern = schema.get("pattern")
    if pattern and not _compiled(pattern).search(value):
        detail = f"{path} in body should match '{pattern}'"
        found.append(causes.invalid(path, value, detail))
    name = schema.get("format", "")
    known = _FORMATS.get(name)
    if known is not None and not known(value):
        detail = f'{path} in body must be of type {name}: "{value}"'
        found.append(causes.invalid(path, value, detail))
    return found


@functools.lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    # Go writes the end of a text as \z, Python as \Z; the rest is shared in practice.
    return re.compile(pattern.replace(r"\z", r"\Z"))


def valid_pattern(pattern: str) -> bool:
    """Tell whether a pattern can be used."""
    try:
        _compiled(pattern)
    except re.error:
        return False
    return True


def _number(schema: Schema, path: str, value: float, _: Any) -> Causes:
    found: Causes = []
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None:
        strict = bool(schema.get("exclusiveMinimum"))
        if value < least or (strict and value == least):
            word = "greater than" if strict else "greater than or equal to"
            detail = f"{path} in body should be {word} {_plain(least)}"
            found.append(causes.invalid(path, value, detail))
    if most is not None:
        strict = bool(schema.get("exclusiveMaximum"))
        if value > most or (strict and value == most):
            word = "less than" if strict else "less than or equal to"
            detail = f"{path} in body should be {word} {_plain(most)}"
            found.append(causes.invalid(path, value, detail))
    step = schema.get("multipleOf")
    if step and value % step:
        detail = f"{path} in body should be a multiple of {_plain(step)}"
        found.append(causes.invalid(path, value, detail))
    return found


def _plain(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)


_RULES: Mapping[type, Callable[[Schema, str, Any, Any], Causes]] = {
    dict: _object,
    list: _list,
    str: _string,
    int: _number,
    float: _number,
}


def _branches(schema: Schema, path: str, value: Any) -> Causes:
    found: Causes = []
    for branch in schema.get("allOf") or ():
        found += _value(branch, path, value)
    any_of, one_of = schema.get("anyOf"), schema.get("oneOf")
    shown = f'"{path}"'
    if any_of and not any(not _value(branch, path, value) for branch in any_of):
        detail = f"{shown} must validate at least one schema (anyOf)"
        found.append(causes.invalid(path, value, detail))
    if one_of:
        matches = sum(not _value(branch, path, value) for branch in one_of)
        if matches != 1:
            seen = "none valid" if matches == 0 else f"{matches} valid alternatives"
            detail = f"{shown} must validate one and only one schema (oneOf). Found {seen}"
            found.append(causes.invalid(path, value, detail))
    if schema.get("not") and not _value(schema["not"], path, value):
        detail = f"{shown} must not validate the schema (not)"
        found.append(causes.invalid(path, value, detail))
    return found


def _is_time(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return "T" in text.upper()


def _is_date(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_address(version: int) -> Callable[[str], bool]:
    def accept(text: str) -> bool:
        try:
            return ipaddress.ip_address(text).version == version
        except ValueError:
            return False

    return accept


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text


_UUID = re.compile(r"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\Z")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\Z")
_DURATION = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+\Z|0\Z")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\Z")

#: Formats the server checks; others are only hints.
_FORMATS: Mapping[str, Callable[[str], bool]] = {
    "byte": lambda text: bool(_BASE64.match(text)),
    "cidr": _is_network,
    "date": _is_date,
    "date-time": _is_time,
    "duration": lambda text: bool(_DURATION.match(text)),
    "email": lambda text: bool(_EMAIL.match(text)),
    "ipv4": _is_address(4),
    "ipv6": _is_address(6),
    "uuid": lambda text: bool(_UUID.match(text)),
}


def every_schema(schema: Any, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield a schema and all schemas in it, with the path the server names them by.

    What is no schema where one should be is left out; `definitions` refuses it.
    """
    if not isinstance(schema, dict):
        return
    yield path, schema
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for key, child in properties.items():
            yield from every_schema(child, f"{path}.properties[{key}]")
    for name in ("items", "additionalProperties", "not"):
        yield from every_schema(schema.get(name), f"{path}.{name}")
    for name in ("allOf", "anyOf", "oneOf"):
        branches = schema.get(name)
        for index, child in enumerate(branches if isinstance(branches, list) else ()):
            yield from every_schema(child, f"{path}.{name}[{index}]")
