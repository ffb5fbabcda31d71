"""OpenAPI v3: the index and the documents per group and version, as kubectl reads them.

``kubectl explain`` shows the descriptions, ``kubectl apply`` takes merge keys from
here, and kubectl looks for ``fieldValidation`` among the parameters of PATCH to
learn whether the server validates fields. Documents of built-in groups are the
same for all clusters of a process and made once.
"""

import functools
import gzip
import hashlib
import importlib.resources
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from kube_sandbox import json
from kube_sandbox.apimachinery.scheme import catalog, types

_REFERENCE = "#/components/schemas/"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_CONTENT = "application/json"


@dataclass(frozen=True, slots=True)
class Resource:
    """What a document says about one served resource."""

    plural: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...] = ()
    #: Names of subresources: ``status``, ``scale``.
    subresources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CustomResource:
    """A resource of a CustomResourceDefinition with the schema of its version."""

    resource: Resource
    schema: json.JsonObject


@dataclass(frozen=True, slots=True)
class Document:
    """One document, encoded, with the hash its address carries."""

    content: bytes
    hash: str


def path(group: str, version: str) -> str:
    """Return where a group and version live: ``apis/apps/v1``, ``api/v1``."""
    return f"apis/{group}/{version}" if group else f"api/{version}"


def index(documents: Mapping[tuple[str, str], Document]) -> json.JsonObject:
    """Return the answer to ``/openapi/v3`` for documents by (group, version)."""
    found = {}
    for (group, version), document in documents.items():
        where = path(group, version)
        address = f"/openapi/v3/{where}?hash={document.hash}"
        found[where] = {"serverRelativeURL": address}
    return {"paths": found}


@functools.lru_cache(maxsize=128)
def builtin_document(group: str, version: str, resources: tuple[Resource, ...]) -> Document:
    """Return the document of a built-in group and version.

    Raises:
        KeyError: A kind is not built in.
    """
    kinds = catalog.kinds()
    roots = [kinds[group, version, each.kind] for each in resources]
    roots += [
        kinds[key] for each in resources if (key := (group, version, f"{each.kind}List")) in kinds
    ]
    names = {name: key for key, name in kinds.items()}
    return _document(group, version, resources, _components(roots, names))


def custom_document(group: str, version: str, resources: Iterable[CustomResource]) -> Document:
    """Return the document of a group and version that holds custom resources only."""
    given = list(resources)
    components = _components([f"{_META}ObjectMeta"], {})
    for each in given:
        name = custom_name(group, version, each.resource.kind)
        components[name] = _custom_schema(group, version, each)
        components[f"{name}List"] = _list_schema(group, version, each.resource.kind, name)
    return _document(group, version, tuple(each.resource for each in given), components)


def custom_name(group: str, version: str, kind: str) -> str:
    """Return the definition name of a custom resource: ``com.example.truth.v1.Widget``."""
    return ".".join([*reversed(group.split(".")), version, kind])


def _document(
    group: str, version: str, resources: Iterable[Resource], components: json.JsonObject
) -> Document:
    paths: json.JsonObject = {}
    for each in resources:
        paths.update(_paths(group, version, each))
    content = msgspec.json.encode(
        {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": "unversioned"},
            "paths": paths,
            "components": {"schemas": components},
        }
    )
    return Document(content, hashlib.sha512(content).hexdigest().upper())


# Paths: only what clients look for, which is kinds and parameters.

_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_COLLECTION = (("get", "list"), ("post", "create"), ("delete", "deletecollection"))
_OBJECT = (("get", "get"), ("put", "update"), ("patch", "patch"), ("delete", "delete"))
_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "post": _WRITE,
    "put": _WRITE,
    "patch": (*_WRITE, "force"),
    "delete": ("dryRun", "gracePeriodSeconds", "propagationPolicy"),
    "get": (),
}
_ACTIONS = {"get": "get", "put": "put", "patch": "patch", "delete": "delete", "post": "post"}


def _paths(group: str, version: str, resource: Resource) -> json.JsonObject:
    base = f"/{path(group, version)}"
    scope = "/namespaces/{namespace}" if resource.namespaced else ""
    collection = f"{base}{scope}/{resource.plural}"
    single = f"{collection}/{{name}}"
    gvk = {"group": group, "version": version, "kind": resource.kind}
    found = {
        collection: _operations(_COLLECTION, resource.verbs, gvk),
        single: _operations(_OBJECT, resource.verbs, gvk),
    }
    if resource.namespaced:
        found[f"{base}/{resource.plural}"] = _operations(_COLLECTION[:1], resource.verbs, gvk)
    for name in resource.subresources:
        found[f"{single}/{name}"] = _operations(_OBJECT[:3], ("get", "update", "patch"), gvk)
    return found


def _operations(
    table: tuple[tuple[str, str], ...], verbs: tuple[str, ...], gvk: json.JsonObject
) -> json.JsonObject:
    return {
        method: {
            "x-kubernetes-action": verb if method == "get" else _ACTIONS[method],
            "x-kubernetes-group-version-kind": gvk,
            "parameters": [_parameter(name) for name in _PARAMETERS[method]],
            "responses": {"200": {"description": "OK", "content": {_CONTENT: {}}}},
        }
        for method, verb in table
        if not verbs or verb in verbs
    }


def _parameter(name: str) -> json.JsonObject:
    kind = {"force": "boolean", "gracePeriodSeconds": "integer"}.get(name, "string")
    return {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}}


# Schemas.


@functools.cache
def _descriptions() -> dict[str, msgspec.Raw]:
    where = (
        importlib.resources.files("kube_sandbox.apimachinery.scheme.data") / "descriptions.json.gz"
    )
    return msgspec.json.decode(gzip.decompress(where.read_bytes()), type=dict[str, msgspec.Raw])


def _components(
    roots: Iterable[str], kinds: Mapping[str, tuple[str, str, str]]
) -> dict[str, json.JsonObject]:
    """Return the schemas of `roots` and everything they reach."""
    texts = _descriptions()
    found: dict[str, json.JsonObject] = {name: dict(each) for name, each in _NAMED_SCHEMAS.items()}
    waiting = [*roots]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        described: dict[str, str] = msgspec.json.decode(texts[name])
        kind = catalog.definition(name)
        found[name] = _definition(kind, described)
        if name in kinds:
            group, version, title = kinds[name]
            gvk = {"group": group, "version": version, "kind": title}
            found[name]["x-kubernetes-group-version-kind"] = [gvk]
        waiting.extend(_references(kind))
    return dict(sorted(found.items()))


def _references(kind: types.Type) -> Iterable[str]:
    for child in kind.fields.values():
        inner: types.Type | None = child
        while inner is not None and inner.shape in (types.Shape.LIST, types.Shape.MAP):
            inner = inner.element
        if inner is not None and inner.name:
            yield inner.name


def _definition(kind: types.Type, described: Mapping[str, str]) -> json.JsonObject:
    written: json.JsonObject = {
        "type": "object",
        "description": described.get("", ""),
        "properties": {
            key: _property(child, described.get(key, "")) for key, child in kind.fields.items()
        },
    }
    if kind.required:
        written["required"] = list(kind.required)
    if kind.atomic:
        written["x-kubernetes-map-type"] = "atomic"
    return written


_SCALARS: Mapping[types.Shape, json.JsonObject] = {
    types.Shape.STRING: {"type": "string"},
    types.Shape.BYTES: {"type": "string", "format": "byte"},
    types.Shape.TIME: {"type": "string", "format": "date-time"},
    types.Shape.MICRO_TIME: {"type": "string", "format": "date-time"},
    types.Shape.INT32: {"type": "integer", "format": "int32"},
    types.Shape.INT64: {"type": "integer", "format": "int64"},
    types.Shape.NUMBER: {"type": "number", "format": "double"},
    types.Shape.BOOLEAN: {"type": "boolean"},
    types.Shape.ANY: {"type": "object"},
}

#: Scalars with a name of their own, which ``kubectl explain`` shows.
_NAMED: Mapping[types.Shape, str] = {
    types.Shape.QUANTITY: "io.k8s.apimachinery.pkg.api.resource.Quantity",
    types.Shape.INT_OR_STRING: "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
}
_NAMED_SCHEMAS: Mapping[str, json.JsonObject] = {
    _NAMED[types.Shape.QUANTITY]: {"oneOf": [{"type": "string"}, {"type": "number"}]},
    _NAMED[types.Shape.INT_OR_STRING]: {
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
}


def _property(kind: types.Type, text: str) -> json.JsonObject:
    written: json.JsonObject = {"description": text} if text else {}
    name = kind.name if kind.shape is types.Shape.OBJECT else _NAMED.get(kind.shape)
    if name:
        written["allOf"] = [{"$ref": _REFERENCE + name}]
    else:
        written.update(_value(kind))
    if kind.merge_key:
        written["x-kubernetes-patch-merge-key"] = kind.merge_key
    if kind.strategies:
        written["x-kubernetes-patch-strategy"] = ",".join(sorted(kind.strategies))
    return written


def _value(kind: types.Type) -> json.JsonObject:
    if kind.shape is types.Shape.OBJECT:
        return {"$ref": _REFERENCE + kind.name}
    if kind.shape in _NAMED:
        return {"$ref": _REFERENCE + _NAMED[kind.shape]}
    element = kind.element or types.ANYTHING
    if kind.shape is types.Shape.MAP:
        inner: json.JsonObject = {"type": "object", "additionalProperties": _value(element)}
        return {**inner, "x-kubernetes-map-type": "atomic"} if kind.atomic else inner
    if kind.shape is types.Shape.LIST:
        return {"type": "array", "items": _value(element), **_list_extensions(kind)}
    return dict(_SCALARS[kind.shape])


def _list_extensions(kind: types.Type) -> json.JsonObject:
    if kind.unique:
        return {"x-kubernetes-list-type": "set"}
    if kind.keys:
        return {
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": list(kind.keys),
        }
    return {"x-kubernetes-list-type": "atomic"}


_KIND_TEXT = "Kind is a string value representing the REST resource this object represents."
_VERSION_TEXT = "APIVersion defines the versioned schema of this representation of an object."


def _custom_schema(group: str, version: str, custom: CustomResource) -> json.JsonObject:
    declared: dict[str, Any] = custom.schema
    properties = {
        **(declared.get("properties") or {}),
        "apiVersion": {"type": "string", "description": _VERSION_TEXT},
        "kind": {"type": "string", "description": _KIND_TEXT},
        "metadata": {
            "description": "Standard object's metadata.",
            "allOf": [{"$ref": f"{_REFERENCE}{_META}ObjectMeta"}],
        },
    }
    gvk = {"group": group, "version": version, "kind": custom.resource.kind}
    return {
        **declared,
        "type": "object",
        "properties": properties,
        "x-kubernetes-group-version-kind": [gvk],
    }


def _list_schema(group: str, version: str, kind: str, name: str) -> json.JsonObject:
    return {
        "type": "object",
        "description": f"{kind}List is a list of {kind}",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string", "description": _VERSION_TEXT},
            "kind": {"type": "string", "description": _KIND_TEXT},
            "metadata": {"type": "object"},
            "items": {"type": "array", "items": {"$ref": _REFERENCE + name}},
        },
        "x-kubernetes-group-version-kind": [
            {"group": group, "version": version, "kind": f"{kind}List"}
        ],
    }
