"""The built-in kinds: their types, read from the packaged description on demand.

The description comes from the OpenAPI definitions of Kubernetes 1.36; what
OpenAPI does not say (which fields the server always writes) stands in `shapes`.
A definition is decoded when the first kind that reaches it is asked for.
"""

import functools
import gzip
import importlib.resources
from typing import Any

import msgspec

from kube_sandbox.apimachinery.scheme import go_structs, types

#: Key fields that may be left out of an associative list's items.
_KEY_DEFAULTS: dict[str, object] = {"protocol": "TCP"}


class _Packaged(msgspec.Struct):
    release: str
    kinds: dict[str, str]
    types: dict[str, msgspec.Raw]


@functools.cache
def _packaged() -> _Packaged:
    path = importlib.resources.files("kube_sandbox.apimachinery.scheme.data") / "types.json.gz"
    return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=_Packaged)


_SCALARS = {
    shape.value: types.Type(shape, leaf=True)
    for shape in types.Shape
    if shape not in types.CONTAINERS and shape is not types.Shape.ANY
}

#: Filled before a definition's fields are built, so that definitions may be recursive.
_DEFINITIONS: dict[str, types.Type] = {}


def kinds() -> dict[tuple[str, str, str], str]:
    """Return the definition names of all built-in kinds by (group, version, kind)."""
    found = {}
    for key, name in _packaged().kinds.items():
        group, version, kind = key.split("/")
        found[group, version, kind] = name
    return found


def find(group: str, version: str, kind: str) -> types.Type | None:
    """Return the type of a built-in kind; None when there is no such kind."""
    name = _packaged().kinds.get(f"{group}/{version}/{kind}")
    return definition(name) if name else None


def definition(name: str) -> types.Type:
    """Return a definition by its full name.

    Raises:
        KeyError: No such definition.
    """
    known = _DEFINITIONS.get(name)
    if known is not None:
        return known
    raw = msgspec.json.decode(_packaged().types[name])
    short = name.rpartition(".")[2]
    atomic = raw.get("map") == "atomic"
    built = types.Type(types.Shape.OBJECT, name=name, atomic=atomic, leaf=atomic)
    _DEFINITIONS[name] = built
    built.fields = {key: _property(each) for key, each in raw["fields"].items()}
    built.required = tuple(raw.get("required", ()))
    built.always = go_structs.always(name, short, built)
    built.dropped_zero = go_structs.dropped_zero(short)
    built.kept_empty = go_structs.kept_empty(name, short)
    return built


def _property(described: str | dict[str, Any]) -> types.Type:
    if isinstance(described, str):
        return _named(described)
    kind = described["type"]
    strategies = frozenset(described.get("strategy", ()))
    if kind == "list":
        return _list(described, strategies)
    atomic = described.get("map") == "atomic"
    if kind == "map":
        element = _property(described["of"])
        return types.Type(
            types.Shape.MAP, element=element, atomic=atomic, leaf=atomic, strategies=strategies
        )
    return _refined(_named(kind), atomic=atomic, strategies=strategies)


def _named(kind: str) -> types.Type:
    if kind.startswith("="):
        return definition(kind[1:])
    return types.ANYTHING if kind == types.Shape.ANY.value else _SCALARS[kind]


def _refined(base: types.Type, *, atomic: bool, strategies: frozenset[str]) -> types.Type:
    if not atomic and not strategies:
        return base
    # Shares the fields, which for a recursive definition may not be there yet: none
    # of the refined properties of Kubernetes is recursive.
    return types.Type(
        base.shape,
        name=base.name,
        fields=base.fields,
        required=base.required,
        element=base.element,
        atomic=atomic or base.atomic,
        leaf=atomic or base.leaf,
        strategies=strategies,
        always=base.always,
        dropped_zero=base.dropped_zero,
        kept_empty=base.kept_empty,
    )


def _list(described: dict[str, Any], strategies: frozenset[str]) -> types.Type:
    element = _property(described["of"])
    relation = described.get("list", "atomic")
    keys = tuple(described.get("keys", ())) if relation == "map" else ()
    atomic = relation == "atomic"
    return types.Type(
        types.Shape.LIST,
        element=element,
        atomic=atomic,
        leaf=atomic,
        keys=keys,
        key_defaults={key: _KEY_DEFAULTS[key] for key in keys if key in _KEY_DEFAULTS},
        unique=relation == "set",
        merge_key=described.get("merge-key", ""),
        strategies=strategies,
    )
