"""OpenAPI v2 (Swagger): one document of all kinds, made from those of version 3.

``kubectl apply`` looks here for what the newer documents do not name, a ``List`` or a kind
that is not served yet. It asks for protobuf, in the form of the project gnostic.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kube_sandbox import json
from kube_sandbox.apimachinery.scheme import protobuf_writer as wire

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
#: What the answer is called: an ``@`` is no part of a media type.
ANSWERED = MEDIA_TYPE.replace("@", ".")
_OLD, _NEW = "#/components/schemas/", "#/definitions/"
_GVK = "x-kubernetes-group-version-kind"
#: What version 2 has no words for.
_DROPPED = frozenset(
    ("allOf", "anyOf", "default", "enum", "nullable", "not", "oneOf", "x-kubernetes-validations")
)
#: In version 2 several types cannot be named; kubectl takes numbers for these texts as well.
_SEVERAL_TYPES: Mapping[str, json.JsonObject] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "type": "string",
        "format": "int-or-string",
    },
}


def document(documents: Iterable[bytes]) -> json.JsonObject:
    """Return the document of everything the encoded documents of version 3 describe."""
    paths: json.JsonObject = {}
    definitions: json.JsonObject = {}
    for content in documents:
        described = msgspec.json.decode(content)
        for where, operations in described["paths"].items():
            paths[where] = {name: _operation(operation) for name, operation in operations.items()}
        for name, schema in described["components"]["schemas"].items():
            if name not in definitions:
                definitions[name] = _SEVERAL_TYPES.get(name) or _schema(schema)
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": paths,
        "definitions": dict(sorted(definitions.items())),
    }


def _operation(operation: json.JsonObject) -> json.JsonObject:
    parameters = [
        {"name": parameter["name"], "in": parameter["in"], **parameter["schema"]}
        for parameter in operation["parameters"]
    ]
    return {
        "x-kubernetes-action": operation["x-kubernetes-action"],
        _GVK: operation[_GVK],
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
    }


def _schema(schema: Any) -> json.JsonObject:
    """Return a schema in the words of version 2."""
    if not isinstance(schema, dict):
        return {}
    whole: list[json.JsonObject] = schema.get("allOf") or []
    if len(whole) == 1 and "$ref" in whole[0]:
        schema = {**schema, **whole[0]}
    reference = schema.get("$ref")
    if reference:
        told = {"$ref": reference.replace(_OLD, _NEW)}
        return {"description": schema["description"], **told} if "description" in schema else told
    told = {key: value for key, value in schema.items() if key not in _DROPPED}
    if schema.get("x-kubernetes-int-or-string") or schema.get("nullable"):
        told.pop("type", None)
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        # What it names would be all there may be.
        for key in ("properties", "items", "additionalProperties"):
            told.pop(key, None)
        if told.get("type") == "array":
            del told["type"]
    return {**told, **_inner_schemas(told)}


def _inner_schemas(told: json.JsonObject) -> json.JsonObject:
    inner: json.JsonObject = {
        key: _schema(told[key])
        for key in ("items", "additionalProperties")
        if isinstance(told.get(key), dict)
    }
    if "properties" in told:
        inner["properties"] = {key: _schema(child) for key, child in told["properties"].items()}
    return inner


# The protobuf form: numbers of fields as in gnostic's OpenAPIv2.proto.


def encode(whole: json.JsonObject) -> bytes:
    """Return a document in protobuf."""
    info = wire.text(1, whole["info"]["title"]) + wire.text(2, whole["info"]["version"])
    paths = b"".join(
        wire.message(2, wire.text(1, where) + wire.message(2, _path_item(operations)))
        for where, operations in whole["paths"].items()
    )
    definitions = b"".join(
        wire.message(1, wire.text(1, name) + wire.message(2, _encoded(schema)))
        for name, schema in whole["definitions"].items()
    )
    return (
        wire.text(1, whole["swagger"])
        + wire.message(2, info)
        + wire.message(8, paths)
        + wire.message(9, definitions)
    )


_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}
_TEXTS = {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13}


def _path_item(operations: json.JsonObject) -> bytes:
    return b"".join(
        wire.message(_METHODS[method], _encoded_operation(operation))
        for method, operation in operations.items()
    )


def _encoded_operation(operation: json.JsonObject) -> bytes:
    parameters = b"".join(
        wire.message(8, wire.message(1, wire.message(2, wire.message(3, _query_parameter(each)))))
        for each in operation["parameters"]
    )
    response = wire.message(1, wire.text(1, "OK"))  # a response by its description
    responses = wire.message(1, wire.text(1, "200") + wire.message(2, response))
    return parameters + wire.message(9, responses) + _extensions(13, operation)


def _query_parameter(parameter: json.JsonObject) -> bytes:
    return (
        wire.text(2, parameter["in"])
        + wire.text(4, parameter["name"])
        + wire.text(6, parameter.get("type", "string"))
    )


def _encoded(schema: json.JsonObject) -> bytes:
    parts = [wire.text(number, schema[name]) for name, number in _TEXTS.items() if schema.get(name)]
    parts.extend(wire.text(19, name) for name in schema.get("required") or ())
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        parts.append(wire.message(21, wire.message(1, _encoded(additional))))
    elif additional is not None:
        parts.append(wire.message(21, wire.flag(2, set_=bool(additional))))
    if "type" in schema:
        parts.append(wire.message(22, wire.text(1, schema["type"])))
    if "items" in schema:
        parts.append(wire.message(23, wire.message(1, _encoded(schema["items"]))))
    properties = schema.get("properties")
    if properties:
        named = (
            wire.message(1, wire.text(1, key) + wire.message(2, _encoded(child)))
            for key, child in properties.items()
        )
        parts.append(wire.message(25, b"".join(named)))
    parts.append(_extensions(31, schema))
    return b"".join(parts)


def _extensions(number: int, described: json.JsonObject) -> bytes:
    """Write what begins with ``x-``: a name and its value as YAML, of which JSON is a part."""
    return b"".join(
        wire.message(
            number,
            wire.text(1, name) + wire.message(2, wire.text(2, msgspec.json.encode(value).decode())),
        )
        for name, value in described.items()
        if name.startswith("x-")
    )
