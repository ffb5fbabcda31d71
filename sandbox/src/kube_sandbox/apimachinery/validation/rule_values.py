"""Values Kubernetes adds to CEL: quantities, addresses, networks, URLs, versions.

The evaluator passes maps and lists to functions, so such a value is a map with one key, which
names its kind, and a value that is equal exactly when the two are.
"""

import ipaddress
import re
import urllib.parse
from fractions import Fraction
from typing import Any

from kube_sandbox.apimachinery.meta import quantities

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Value = dict[str, Any]

_VERSION = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
    r"(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?\Z"
)


def quantity(text: str) -> Value:
    """Return a quantity.

    Raises:
        ValueError: The text is none.
    """
    return {"quantity": str(quantities.parse(text))}


def amount(value: Any) -> Fraction:
    """Return a quantity or whole number as a number."""
    return Fraction(value["quantity"] if isinstance(value, dict) else value)


def address(text: str) -> Value:
    """Return an IP address.

    Raises:
        ValueError: The text is none as Kubernetes reads it: without zones, and no IPv4 in IPv6.
    """
    found = ipaddress.ip_address(text)
    if "%" in text or (isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None):
        raise ValueError(f"IP Address '{text}' is not allowed here")
    return {"ip": str(found)}


def ip_of(value: Any) -> Address:
    """Return an address from one, or from a text."""
    text = value["ip"] if isinstance(value, dict) else address(value)["ip"]
    return ipaddress.ip_address(text)


def network(text: str) -> Value:
    """Return a range of addresses, with the address it was written with.

    Raises:
        ValueError: The text is none.
    """
    first, slash, length = text.partition("/")
    if not slash or not length.isdigit():
        raise ValueError(f"network address parse error during conversion from string: {text}")
    ipaddress.ip_network(text, strict=False)
    return {"cidr": f"{address(first)['ip']}/{int(length)}"}


def network_of(value: Any) -> Network:
    """Return a network from one, or from a text."""
    text = value["cidr"] if isinstance(value, dict) else network(value)["cidr"]
    return ipaddress.ip_network(text, strict=False)


def location(text: str) -> Value:
    """Return a URL.

    Raises:
        ValueError: The text is none: neither absolute nor a path from the root.
    """
    parsed = urllib.parse.urlsplit(text)
    if " " in text or (not (parsed.scheme and (parsed.netloc or parsed.path)) and text[:1] != "/"):
        raise ValueError(f"URL parse error during conversion from string: {text}")
    _ = parsed.port  # raises when it is no number
    return {"url": text}


def url_of(value: Value) -> urllib.parse.SplitResult:
    """Return the parts of a URL."""
    return urllib.parse.urlsplit(value["url"])


def version(text: str, normalize: bool = False) -> Value:
    """Return a semantic version.

    Raises:
        ValueError: The text is none.
    """
    if normalize:
        head, sign, rest = text.removeprefix("v").partition("-")
        numbers = [str(int(part)) for part in head.split(".")]
        text = ".".join([*numbers, "0", "0"][:3]) + sign + rest
    if not _VERSION.match(text):
        raise ValueError(f"invalid semver: {text}")
    return {"semver": text.partition("+")[0]}


def version_parts(value: Value) -> tuple[int, int, int]:
    """Return major, minor and patch."""
    found = _VERSION.match(value["semver"])
    if found is None:
        raise ValueError(f"invalid semver: {value['semver']}")
    return int(found[1]), int(found[2]), int(found[3])


def rank(value: Any) -> tuple[Any, ...]:
    """Return what quantities, and versions, are ordered by."""
    if not isinstance(value, dict) or "semver" not in value:
        return (amount(value),)
    # A version before a release comes before it; numbers in it come before words.
    before = value["semver"].partition("-")[2]
    words = [
        (0, int(word), "") if word.isdigit() else (1, 0, word) for word in before.split(".") if word
    ]
    return (*version_parts(value), not before, words)
