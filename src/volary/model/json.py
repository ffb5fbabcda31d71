"""JSON as it comes out of a parser; the one place where its looseness is named."""

import threading
from typing import Any, TypeVar, overload

import msgspec

T = TypeVar("T")

#: A JSON object. Kubernetes objects are open-ended, so their values stay untyped.
JsonObject = dict[str, Any]
#: Any JSON value.
JsonValue = Any

#: What `msgspec` raises for bytes that are no JSON, or not of the wanted shape: broken text and
#: nesting without end are errors of their own.
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

#: The types that `msgspec` knows all about.
_known: set[object] = set()
_knowing = threading.Lock()


@overload
def decode(text: bytes | str, kind: type[T]) -> T: ...
@overload
def decode(text: bytes | str, kind: Any = Any) -> Any: ...
def decode(text: bytes | str, kind: Any = Any) -> Any:
    """Return the value that a text of JSON stands for, as `kind`.

    Raises:
        msgspec.DecodeError: It is no JSON.
        msgspec.ValidationError: It is not of that kind.
    """
    _learn(kind)
    return msgspec.json.decode(text, type=kind)


@overload
def convert(document: JsonValue, kind: type[T], *, strict: bool = True) -> T: ...
@overload
def convert(document: JsonValue, kind: Any, *, strict: bool = True) -> Any: ...
def convert(document: JsonValue, kind: Any, *, strict: bool = True) -> Any:
    """Return the value of a kind that a document stands for.

    Raises:
        msgspec.ValidationError: It is none.
    """
    _learn(kind)
    return msgspec.convert(document, kind, strict=strict)  # noqa: TID251 (it is learnt)


def _learn(kind: object) -> None:
    """Have `msgspec` find out about a type before it is needed, in one thread at a time.

    It does so when the type is first used, and marks each class it comes across as known at once:
    another thread that uses one of them meanwhile ends the process (a segmentation fault, msgspec
    0.22).
    """
    if kind not in _known:
        with _knowing:
            msgspec.json.Decoder(kind)
            _known.add(kind)
