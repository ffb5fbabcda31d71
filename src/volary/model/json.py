"""JSON as it comes out of a parser; the one place where its looseness is named."""

from typing import Any

import msgspec

#: A JSON object. Kubernetes objects are open-ended, so their values stay untyped.
JsonObject = dict[str, Any]
#: Any JSON value.
JsonValue = Any

#: What `msgspec` raises for bytes that are no JSON, or not of the wanted shape: broken text and
#: nesting without end are errors of their own.
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
