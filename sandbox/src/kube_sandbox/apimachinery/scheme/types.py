"""One node of a kind's structure, with what merging needs to know about it.

Built-in kinds (`catalog`) and custom resources (`structural`) are described in
the same words, so that decoding, server-side apply and strategic merge walk
both alike. Nodes are shared by all clusters of a process and never change once
their kind has been built; they may be recursive.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Shape(StrEnum):
    """What a value looks like in JSON."""

    OBJECT = "object"
    MAP = "map"
    LIST = "list"
    STRING = "string"
    BYTES = "bytes"
    TIME = "time"
    MICRO_TIME = "micro-time"
    INT32 = "int32"
    INT64 = "int64"
    NUMBER = "number"
    BOOLEAN = "boolean"
    QUANTITY = "quantity"
    INT_OR_STRING = "int-or-string"
    ANY = "any"


CONTAINERS = frozenset((Shape.OBJECT, Shape.MAP, Shape.LIST))


@dataclass(slots=True, eq=False)
class Type:
    """The type of a value.

    A map-like value (object, map, or anything without a schema) finds the type
    of a key in `fields`, else in `element`; neither: the field is unknown.
    """

    shape: Shape
    #: Definition name, ``io.k8s.api.apps.v1.DeploymentSpec``; empty when anonymous.
    name: str = ""
    fields: dict[str, "Type"] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    #: Type of a list's items, of a map's values, or of fields that are not declared.
    element: "Type | None" = None
    #: Server-side apply owns it as a whole.
    atomic: bool = False
    #: Key fields of an associative list; empty for other lists.
    keys: tuple[str, ...] = ()
    #: Values of key fields that may be left out (``protocol``: ``TCP``).
    key_defaults: Mapping[str, object] = field(default_factory=dict)
    #: A list of scalars without repetition.
    unique: bool = False
    #: Strategic merge: key of the list's items; empty: replaced as a whole.
    merge_key: str = ""
    #: Strategic merge: ``merge``, ``retainKeys``, ``replace``.
    strategies: frozenset[str] = frozenset()
    #: Fields the server always writes, with their zero values.
    always: Mapping[str, object] = field(default_factory=dict)
    #: Scalar fields that vanish when zero (in Go: no pointer, ``omitempty``).
    dropped_zero: frozenset[str] = frozenset()
    #: String fields whose empty value says something (in Go: a pointer).
    kept_empty: frozenset[str] = frozenset()
    #: Server-side apply does not look inside: a scalar or an atomic container.
    leaf: bool = False
    #: A whole API object lives here (custom resources: embedded resource).
    embedded: bool = False

    @property
    def short_name(self) -> str:
        """``DeploymentSpec``."""
        return self.name.rpartition(".")[2]

    def child(self, key: str) -> "Type | None":
        """Return the type of a key of a map-like value; None when it is unknown."""
        return self.fields.get(key) or self.element


#: A value nobody described, owned as a whole (``RawExtension`` and the like).
ANYTHING = Type(Shape.ANY, atomic=True, leaf=True)

#: A value nobody described in a custom resource: maps are merged by key, lists are atomic.
DEDUCED = Type(Shape.ANY)
DEDUCED.element = DEDUCED
