"""Reading an object as the server does: types checked, unknown fields left out.

The result is what the server would keep: unknown fields are gone and named,
quantities and times are canonical, empty optional fields have vanished, structs
that are always written are there. Custom resources keep their values as they
are; their types are checked by `structuralcheck`.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import quantities
from kube_sandbox.apimachinery.scheme import schema, types

_INT_LIMITS = {types.Shape.INT32: 2**31, types.Shape.INT64: 2**63}
_TIME = re.compile(r"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(\.\d+)?(Z|[+-]\d{2}:\d{2})\Z")


class DecodeError(ValueError):
    """A value cannot be read into the kind's Go type; the message is the server's."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """An object as the server understood it."""

    body: json.JsonObject
    #: Paths of fields that do not exist: ``spec.replcas``.
    unknown: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reader:
    """What one pass over an object collects, and where it is."""

    unknown: list[str] = field(default_factory=list)
    #: Path parts as in strict decoding errors: ``spec.template.spec.containers[0]``.
    path: list[str] = field(default_factory=list)
    #: Names of the structs around the current value.
    structs: list[str] = field(default_factory=list)

    def where(self, *, indexes: bool = True) -> str:
        parts = self.path if indexes else [each for each in self.path if not each.startswith("[")]
        return ".".join(parts).replace(".[", "[")


def decode(kind: schema.Schema, body: json.JsonObject) -> Decoded:
    """Read `body` as an object of `kind`.

    Raises:
        DecodeError: A value has the wrong type, or a quantity, time or base64 text is malformed.
    """
    reader = _Reader()
    if kind.custom:
        return Decoded(_custom(reader, kind.type, body), tuple(reader.unknown))
    return Decoded(_object(reader, kind.type, body), tuple(reader.unknown))


def check_struct(kind: types.Type, value: object) -> None:
    """Read a part of an object as a struct and forget the result.

    Raises:
        DecodeError: It cannot be read.
    """
    _object(_Reader(), kind, value)


def _custom(reader: _Reader, kind: types.Type, body: json.JsonObject) -> json.JsonObject:
    pruned = _prune(reader, kind, body)
    meta = pruned.get("metadata")
    if not isinstance(meta, dict):
        return pruned
    typed = _Reader(path=["metadata"])
    return {**pruned, "metadata": _object(typed, kind.fields["metadata"], meta)}


def _prune(reader: _Reader, kind: types.Type, body: json.JsonObject) -> json.JsonObject:
    found = {}
    for key, value in body.items():
        child = kind.child(key)
        reader.path.append(key)
        if child is None:
            reader.unknown.append(reader.where())
        else:
            found[key] = _prune_value(reader, child, value)
        reader.path.pop()
    return found


def _prune_value(reader: _Reader, kind: types.Type, value: object) -> object:
    if kind.shape is types.Shape.ANY:
        return value
    if isinstance(value, dict) and kind.shape in (types.Shape.OBJECT, types.Shape.MAP):
        return _prune(reader, kind, value)
    if isinstance(value, list) and kind.element is not None:
        found = []
        for index, each in enumerate(value):
            reader.path.append(f"[{index}]")
            found.append(_prune_value(reader, kind.element, each))
            reader.path.pop()
        return found
    return value


def _object(reader: _Reader, kind: types.Type, value: object) -> json.JsonObject:
    if not isinstance(value, dict):
        raise _mismatch(reader, kind, value)
    found: json.JsonObject = {}
    fields = kind.fields
    path = reader.path
    reader.structs.append(kind.short_name)
    for key, each in value.items():
        child = fields.get(key)
        if child is None:
            reader.unknown.append(f"{reader.where()}.{key}" if path else key)
            continue
        if each is None:
            continue
        path.append(key)
        read = _READERS[child.shape](reader, child, each)
        path.pop()
        if read or not _vanishes(kind, key, child, read):
            found[key] = read
    reader.structs.pop()
    for key, zero in kind.always.items():
        if key not in found:
            found[key] = _fresh(zero)
    return found


def _fresh(zero: object) -> object:
    return {key: _fresh(each) for key, each in zero.items()} if isinstance(zero, dict) else zero


def _vanishes(kind: types.Type, key: str, child: types.Type, value: object) -> bool:
    """Tell whether an empty value of an optional field is left out."""
    if key in kind.required:
        return False
    shape = child.shape
    if shape is types.Shape.OBJECT or shape is types.Shape.ANY:
        return False
    if shape is types.Shape.LIST or shape is types.Shape.MAP:
        return True
    if value == "":
        return key not in kind.kept_empty
    return key in kind.dropped_zero


def _map(reader: _Reader, kind: types.Type, value: object) -> json.JsonObject:
    if not isinstance(value, dict):
        raise _mismatch(reader, kind, value)
    element = kind.element or types.ANYTHING
    read = _READERS[element.shape]
    path = reader.path
    found: json.JsonObject = {}
    for key, each in value.items():
        path.append(key)
        found[key] = _zero(element) if each is None else read(reader, element, each)
        path.pop()
    return found


def _list(reader: _Reader, kind: types.Type, value: object) -> list[object]:
    if not isinstance(value, list):
        raise _mismatch(reader, kind, value)
    element = kind.element or types.ANYTHING
    read = _READERS[element.shape]
    path = reader.path
    found: list[object] = []
    for index, each in enumerate(value):
        path.append(f"[{index}]")
        found.append(_zero(element) if each is None else read(reader, element, each))
        path.pop()
    return found


_ZEROES: Mapping[types.Shape, object] = {
    types.Shape.STRING: "",
    types.Shape.BYTES: "",
    types.Shape.INT32: 0,
    types.Shape.INT64: 0,
    types.Shape.NUMBER: 0,
    types.Shape.BOOLEAN: False,
    types.Shape.QUANTITY: "0",
    types.Shape.INT_OR_STRING: 0,
}


def _zero(kind: types.Type) -> object:
    """Return what null stands for among the items of a list or the values of a map."""
    if kind.shape is types.Shape.OBJECT:
        return _fresh(dict(kind.always))
    return _ZEROES.get(kind.shape)


def _string(reader: _Reader, kind: types.Type, value: object) -> object:
    if type(value) is not str:
        raise _mismatch(reader, kind, value)
    return value


def _integer(reader: _Reader, kind: types.Type, value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not int or not -_INT_LIMITS[kind.shape] <= value < _INT_LIMITS[kind.shape]:
        raise _mismatch(reader, kind, value)
    return value


def _number(reader: _Reader, kind: types.Type, value: object) -> object:
    if type(value) not in (int, float):
        raise _mismatch(reader, kind, value)
    return value


def _boolean(reader: _Reader, kind: types.Type, value: object) -> object:
    if type(value) is not bool:
        raise _mismatch(reader, kind, value)
    return value


def _bytes(reader: _Reader, kind: types.Type, value: object) -> object:
    if type(value) is not str:
        raise _mismatch(reader, kind, value)
    compact = value.replace("\n", "").replace("\r", "")
    try:
        base64.b64decode(compact, validate=True)
    except binascii.Error as error:
        raise DecodeError(f"illegal base64 data at input byte {_first_bad(compact)}") from error
    return compact


def _first_bad(text: str) -> int:
    for index, each in enumerate(text):
        if not (each.isascii() and (each.isalnum() or each in "+/=")):
            return index
    return len(text) - len(text) % 4


def _time(reader: _Reader, kind: types.Type, value: object) -> object:
    if type(value) is not str:
        raise _mismatch(reader, kind, value)
    if value and not _TIME.match(value):
        layout = "2006-01-02T15:04:05Z07:00"
        if kind.shape is types.Shape.MICRO_TIME:
            layout = "2006-01-02T15:04:05.000000Z07:00"
        raise DecodeError(f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "2006"')
    return value


def _quantity(reader: _Reader, kind: types.Type, value: object) -> object:
    if isinstance(value, (bool, dict, list)) or value is None:
        raise DecodeError(f"quantities must match the regular expression '{quantities.PATTERN}'")
    try:
        return quantities.canonical(value if isinstance(value, str) else _plain_number(value))
    except quantities.QuantityError as error:
        raise DecodeError(str(error)) from error


def _plain_number(value: object) -> str:
    return f"{value:f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _int_or_string(reader: _Reader, kind: types.Type, value: object) -> object:
    if type(value) is str:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise DecodeError(f"json: cannot unmarshal {_json_kind(value)} into Go value of type int32")
    return value


def _any(reader: _Reader, kind: types.Type, value: object) -> object:
    return value


_READERS: dict[types.Shape, Callable[[_Reader, types.Type, object], object]] = {
    types.Shape.OBJECT: _object,
    types.Shape.MAP: _map,
    types.Shape.LIST: _list,
    types.Shape.STRING: _string,
    types.Shape.BYTES: _bytes,
    types.Shape.TIME: _time,
    types.Shape.MICRO_TIME: _time,
    types.Shape.INT32: _integer,
    types.Shape.INT64: _integer,
    types.Shape.NUMBER: _number,
    types.Shape.BOOLEAN: _boolean,
    types.Shape.QUANTITY: _quantity,
    types.Shape.INT_OR_STRING: _int_or_string,
    types.Shape.ANY: _any,
}

_GO_SCALARS = {
    types.Shape.STRING: "string",
    types.Shape.BYTES: "[]uint8",
    types.Shape.TIME: "string",
    types.Shape.MICRO_TIME: "string",
    types.Shape.INT32: "int32",
    types.Shape.INT64: "int64",
    types.Shape.NUMBER: "float64",
    types.Shape.BOOLEAN: "bool",
    types.Shape.QUANTITY: "resource.Quantity",
    types.Shape.INT_OR_STRING: "intstr.IntOrString",
    types.Shape.ANY: "runtime.RawExtension",
}


def _go_type(kind: types.Type) -> str:
    if kind.shape is types.Shape.LIST:
        return f"[]{_go_type(kind.element or types.ANYTHING)}"
    if kind.shape is types.Shape.MAP:
        return f"map[string]{_go_type(kind.element or types.ANYTHING)}"
    if kind.shape is types.Shape.OBJECT:
        package, _, name = kind.name.rpartition(".")
        return f"{package.rpartition('.')[2]}.{name}"
    return _GO_SCALARS[kind.shape]


def _json_kind(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return "number"
    return "array" if isinstance(value, list) else "object"


def _mismatch(reader: _Reader, kind: types.Type, value: object) -> DecodeError:
    """Word a type error as Go's decoder does, with the struct the field belongs to."""
    shown = _json_kind(value)
    if shown == "number" and kind.shape in _INT_LIMITS:
        shown = f"number {value}"
    where = f"{reader.structs[-1] if reader.structs else ''}.{reader.where(indexes=False)}"
    return DecodeError(
        f"json: cannot unmarshal {shown} into Go struct field {where} of type {_go_type(kind)}"
    )
