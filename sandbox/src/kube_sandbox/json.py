"""JSON as it comes out of a parser; the one place where its looseness is named."""

from typing import Any

#: A JSON object. Kubernetes objects are open-ended, so their values stay untyped.
JsonObject = dict[str, Any]
