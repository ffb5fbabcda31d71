"""Reading objects sent as protobuf, which some kubectl commands insist on.

Only requests are read; answers are always JSON, which the same clients accept.
What fields mean comes from the kind's own type, their numbers from the packaged
table. A field without a number there is refused, not lost.
"""

import base64
import functools
import importlib.resources
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import types

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"
#: Bits of a varint that carry a number.
_MAXIMUM_SHIFT = 70
_DEPTH = 64
_SIGN = 1 << 63
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

#: A field on the wire: number and value, an integer or bytes.
_Field = tuple[int, int | bytes]


@functools.cache
def _numbers() -> dict[str, dict[int, str]]:
    path = importlib.resources.files("kube_sandbox.apiserver.endpoints.data") / "protobuf.json"
    return msgspec.json.decode(path.read_bytes(), type=dict[str, dict[int, str]])


@functools.cache
def _by_short_name() -> dict[str, dict[int, str]]:
    """The tables of what is a part of its parent in JSON and therefore has no definition."""
    return {name.rpartition(".")[2]: fields for name, fields in _numbers().items()}


def parse(text: bytes, kind: types.Type) -> json.JsonObject:
    """Return the object in a protobuf body as JSON would have it.

    Raises:
        api_errors.StatusError: 400, malformed; 415, with a field that is not known here.
    """
    if not text.startswith(_MAGIC):
        raise _malformed("the magic bytes are missing")
    envelope = dict(_fields(text[len(_MAGIC) :]))
    about, raw = envelope.get(1, b""), envelope.get(2, b"")
    if not isinstance(about, bytes) or not isinstance(raw, bytes):
        raise _malformed("no object in the envelope")
    meta = dict(_fields(about))
    found = _object(kind, raw, _DEPTH)
    for number, key in ((1, "apiVersion"), (2, "kind")):
        value = meta.get(number, b"")
        if isinstance(value, bytes) and value:
            found[key] = _text(value)
    return found


def _malformed(why: str) -> api_errors.StatusError:
    return api_errors.bad_request(f"error decoding protobuf: {why}")


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as problem:
        raise _malformed("text is not UTF-8") from problem


def _varint(text: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while at < len(text) and shift < _MAXIMUM_SHIFT:
        byte = text[at]
        at += 1
        found |= (byte & 127) << shift
        if byte < 128:
            return found, at
        shift += 7
    raise _malformed("a number does not end")


def _fields(text: bytes) -> Iterator[_Field]:
    at = 0
    while at < len(text):
        key, at = _varint(text, at)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(text, at)
            yield number, value
            continue
        if wire == _BYTES:
            size, at = _varint(text, at)
        elif wire in (_FIXED32, _FIXED64):
            size = 4 if wire == _FIXED32 else 8
        else:
            raise _malformed(f"wire type {wire}")
        if at + size > len(text):
            raise _malformed("the text ends in mid-field")
        yield number, text[at : at + size]
        at += size


def _object(kind: types.Type, text: bytes, depth: int) -> json.JsonObject:
    numbers = _numbers().get(kind.name)
    if numbers is None:
        if text.strip(b"\0"):
            raise _unknown(kind.short_name)
        return {}
    return _message(kind, numbers, text, depth)


def _unknown(what: str) -> api_errors.StatusError:
    message = f"the sandbox cannot read {what} from protobuf; send JSON or YAML instead"
    return api_errors.StatusError(415, message)


def _message(kind: types.Type, numbers: dict[int, str], text: bytes, depth: int) -> json.JsonObject:
    if depth == 0:
        raise _malformed("nested too deeply")
    found: json.JsonObject = {}
    for number, value in _fields(text):
        name = numbers.get(number)
        if name is None:
            if value:
                raise _unknown(f"field {number} of {kind.short_name}")
            continue
        if name == "status":
            continue  # not written with the object itself
        child = kind.fields.get(name)
        if child is None:
            found.update(_inline(kind, name, value, depth))
        else:
            _add(found, name, child, value, depth)
    return found


def _inline(kind: types.Type, name: str, value: int | bytes, depth: int) -> json.JsonObject:
    numbers = _by_short_name().get(name[0].upper() + name[1:])
    if numbers is None or not isinstance(value, bytes):
        if value:
            raise _unknown(f"{name} of {kind.short_name}")
        return {}
    return _message(kind, numbers, value, depth - 1)


def _add(
    found: json.JsonObject, name: str, kind: types.Type, value: int | bytes, depth: int
) -> None:
    if kind.shape is types.Shape.LIST:
        element = kind.element or types.ANYTHING
        found.setdefault(name, []).append(_value(element, value, depth))
    elif kind.shape is types.Shape.MAP:
        pair = dict(_fields(_expect(value)))
        key, each = pair.get(1, b""), pair.get(2, b"")
        element = kind.element or types.ANYTHING
        found.setdefault(name, {})[_text(_expect(key))] = _value(element, each, depth)
    else:
        read = _value(kind, value, depth)
        if read is not None:
            found[name] = read


def _expect(value: int | bytes) -> bytes:
    if isinstance(value, bytes):
        return value
    raise _malformed("a number where text is expected")


def _value(kind: types.Type, value: int | bytes, depth: int) -> Any:
    shape = kind.shape
    if shape is types.Shape.BOOLEAN:
        return bool(value)
    if isinstance(value, int):
        return value - 2 * _SIGN if value >= _SIGN else value
    if shape is types.Shape.OBJECT:
        return _object(kind, value, depth - 1)
    if shape is types.Shape.STRING:
        return _text(value)
    if shape is types.Shape.BYTES:
        return base64.b64encode(value).decode()
    return _wrapped(shape, dict(_fields(value)))


def _wrapped(shape: types.Shape, parts: dict[int, int | bytes]) -> Any:
    """Read values that are messages of their own: times, quantities, integers or text."""
    if shape is types.Shape.QUANTITY:
        return _text(_expect(parts.get(1, b"0")))
    if shape is types.Shape.INT_OR_STRING:
        return _text(_expect(parts.get(3, b""))) if parts.get(1) else parts.get(2, 0)
    if shape in (types.Shape.TIME, types.Shape.MICRO_TIME):
        seconds = parts.get(1)
        if not isinstance(seconds, int) or not 0 < seconds < 1 << 36:
            return None  # the zero time: not set
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    raw = _expect(parts.get(1, b""))  # RawExtension, FieldsV1: JSON inside
    try:
        return msgspec.json.decode(raw) if raw else None
    except msgspec.DecodeError as problem:
        raise _malformed("raw JSON is malformed") from problem
