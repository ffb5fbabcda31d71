"""The functions Kubernetes adds to CEL, as far as they work on texts and lists."""

import ipaddress
import itertools
import re
from collections.abc import Callable, Mapping
from typing import Any


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    parts = list(text) if separator == "" else text.split(separator)
    if limit < 0 or len(parts) <= limit:
        return parts
    return [*parts[: limit - 1], separator.join(parts[limit - 1 :])]


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    return text.replace(old, new, limit)


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= stop <= len(text):
        raise ValueError(f"index out of range: {start}")
    return text[start:stop]


def _index_of(value: Any, wanted: Any, start: int = 0) -> int:
    if isinstance(value, str):
        return value.find(wanted, start)
    return next((index for index, item in enumerate(value) if item == wanted), -1)


def _last_index_of(value: Any, wanted: Any) -> int:
    if isinstance(value, str):
        return value.rfind(wanted)
    return next((index for index in reversed(range(len(value))) if value[index] == wanted), -1)


def _is_sorted(values: list[Any]) -> bool:
    return all(first <= second for first, second in itertools.pairwise(values))


def _find(text: str, pattern: str) -> str:
    match = re.search(pattern, text)
    return match[0] if match else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    matches = [match[0] for match in re.finditer(pattern, text)]
    return matches if limit < 0 else matches[:limit]


def _ascii(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "".join(change(sign) if sign.isascii() else sign for sign in text)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text


#: By name; of a call on a value the value is the first argument.
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "charAt": lambda text, index: _substring(text, index, index + 1) if index < len(text) else "",
    "find": _find,
    "findAll": _find_all,
    "indexOf": _index_of,
    "isCIDR": _is_network,
    "isIP": _is_address,
    "isSorted": _is_sorted,
    "join": lambda values, separator="": separator.join(values),
    "lastIndexOf": _last_index_of,
    "lowerAscii": _ascii(str.lower),
    "replace": _replace,
    "reverse": lambda value: value[::-1],
    "split": _split,
    "substring": _substring,
    "sum": sum,
    "trim": str.strip,
    "upperAscii": _ascii(str.upper),
}

#: What Kubernetes has and the sandbox does not: rules that call these are not evaluated.
LEFT_OUT = frozenset(
    (
        *("add", "allowed", "asApproximateFloat", "asInteger", "authorizer", "bind", "check"),
        *("cidr", "compareTo", "containsCIDR", "containsIP", "errored", "family", "format"),
        *("getEscapedPath", "getHost", "getHostname", "getPort", "getQuery", "getScheme"),
        *("group", "ip", "isCanonical", "isGlobalUnicast", "isGreaterThan", "isInteger"),
        *("isLessThan", "isLinkLocalMulticast", "isLinkLocalUnicast", "isLoopback"),
        *("isQuantity", "isSemver", "isURL", "isUnspecified", "major", "masked", "minor"),
        *("named", "optFlatMap", "optMap", "patch", "path", "prefixLength", "quantity"),
        *("reason", "resource", "semver", "serviceAccount", "sets", "sign", "sub"),
        *("subresource", "transformList", "transformMap", "transformMapEntry", "url"),
        *("validate", "intersects", "equivalent", "max", "min", "namespace", "name"),
    )
)
