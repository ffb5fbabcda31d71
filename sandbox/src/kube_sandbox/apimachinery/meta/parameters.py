"""Values of query parameters as Kubernetes reads them."""

from collections.abc import Mapping

_FALSE = ("0", "false")


def flag(query: Mapping[str, str], name: str) -> bool:
    """Read a boolean: set to anything but ``false`` or ``0`` it is true, also to nothing."""
    text = query.get(name)
    return text is not None and text.lower() not in _FALSE
