"""The functions Kubernetes adds to CEL.

Those of a namespace are named with ``_`` instead of ``.``; `rule_syntax` writes them so, and
writes calls of the helpers at the end of the table for syntax the evaluator does not know.
"""

import functools
import ipaddress
import itertools
import re
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

from kube_sandbox.apimachinery.validation import rule_formats, rule_values


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


def _readable(read: Callable[..., object]) -> Callable[..., bool]:
    def accepts(*arguments: Any) -> bool:
        try:
            read(*arguments)
        except ValueError:
            return False
        return True

    return accepts


def _family(value: Any) -> int:
    return rule_values.ip_of(value).version


def _ip(value: Any) -> rule_values.Value:
    if isinstance(value, dict):  # that of a network
        return rule_values.address(value["cidr"].partition("/")[0])
    return rule_values.address(value)


def _ip_is_canonical(text: str) -> bool:
    return bool(rule_values.address(text)["ip"] == text)


def _is_global_unicast(value: Any) -> bool:
    found = rule_values.ip_of(value)
    return not (
        found.is_unspecified
        or found.is_loopback
        or found.is_multicast
        or found.is_link_local
        or str(found) == "255.255.255.255"
    )


def _is_link_local(*, multicast: bool) -> Callable[[Any], bool]:
    networks = ("224.0.0.0/24", "ff02::/16") if multicast else ("169.254.0.0/16", "fe80::/10")

    def ask(value: Any) -> bool:
        found = rule_values.ip_of(value)
        return any(found in ipaddress.ip_network(network) for network in networks)

    return ask


def _contains_ip(network: Any, value: Any) -> bool:
    return rule_values.ip_of(value) in rule_values.network_of(network)


def _contains_network(network: Any, value: Any) -> bool:
    outer, inner = rule_values.network_of(network), rule_values.network_of(value)
    same = outer.version == inner.version and outer.prefixlen <= inner.prefixlen
    return same and inner.network_address in outer


def _masked(network: Any) -> rule_values.Value:
    return {"cidr": str(rule_values.network_of(network))}


def _compare(first: Any, second: Any) -> int:
    left, right = rule_values.rank(first), rule_values.rank(second)
    return (left > right) - (left < right)


def _sign(value: Any) -> int:
    amount = rule_values.amount(value)
    return (amount > 0) - (amount < 0)


def _as_integer(value: Any) -> int:
    amount = rule_values.amount(value)
    if amount.denominator != 1:
        raise ValueError("cannot convert value to integer")
    return int(amount)


def _host(value: rule_values.Value) -> str:
    return rule_values.url_of(value).netloc.rpartition("@")[2]


def _port(value: rule_values.Value) -> str:
    port = rule_values.url_of(value).port
    return "" if port is None else str(port)


def _equivalent(first: list[Any], second: list[Any]) -> bool:
    return all(item in second for item in first) and all(item in first for item in second)


def _verb(letter: str, precision: str, value: Any) -> str:
    match letter:
        case "s":
            return _shown(value)
        case "d":
            return str(int(value))
        case "f" | "e":
            return format(float(value), f".{precision or 6}{letter}")
        case "b" | "o":
            return format(int(value), letter)
        case _:
            if isinstance(value, (str, bytes)):
                text = value.encode() if isinstance(value, str) else value
                return text.hex() if letter == "x" else text.hex().upper()
            return format(int(value), letter)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, list):
        return f"[{', '.join(_shown(item) for item in value)}]"
    if isinstance(value, dict):
        if len(value) == 1 and (kind := next(iter(value))) in ("ip", "cidr", "url", "semver"):
            return str(value[kind])
        entries = (f"{_shown(key)}: {_shown(value[key])}" for key in sorted(value, key=str))
        return f"{{{', '.join(entries)}}}"
    return value.decode() if isinstance(value, bytes) else str(value)


_VERB = re.compile(r"%(?:%|(?:\.([0-9]+))?([sdfebxXo]))")


def _format(text: str, values: list[Any]) -> str:
    left = iter(values)

    def fill(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        try:
            return _verb(match[2], match[1], next(left))
        except StopIteration as none:
            raise ValueError("index out of range") from none

    return _VERB.sub(fill, text)


def _optional(*values: Any) -> Any:
    import cel  # see `rules`

    return cel.OptionalValue.of(values[0]) if values else cel.OptionalValue.none()


def _named_format(name: str) -> Any:
    return _optional({"format": name}) if name in rule_formats.FORMATS else _optional()


def _validate(found: rule_values.Value, text: str) -> Any:
    faults = rule_formats.FORMATS[found["format"]](text)
    return _optional(list(faults)) if faults else _optional()


def _optional_index(value: Any, key: Any) -> Any:
    """Select from a map, a list, or an optional one of those."""
    if hasattr(value, "has_value"):
        if not value.has_value():
            return value
        value = value.value()
    if isinstance(value, dict):
        return _optional(value[key]) if key in value else _optional()
    return _optional(value[key]) if 0 <= key < len(value) else _optional()


def _pairs(value: Any) -> list[list[Any]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    return [[key, item] for key, item in entries]


def _merged(maps: list[dict[Any, Any]]) -> dict[Any, Any]:
    return {key: item for entry in maps for key, item in entry.items()}


#: By name; of a call on a value the value is the first argument.
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "add": lambda first, second: {
        "quantity": str(rule_values.amount(first) + rule_values.amount(second))
    },
    "asApproximateFloat": lambda value: float(rule_values.amount(value)),
    "asInteger": _as_integer,
    "charAt": lambda text, index: _substring(text, index, index + 1) if index < len(text) else "",
    "cidr": rule_values.network,
    "compareTo": _compare,
    "containsCIDR": _contains_network,
    "containsIP": _contains_ip,
    "family": _family,
    "find": _find,
    "findAll": _find_all,
    "format": _format,
    "format_named": _named_format,
    "getEscapedPath": lambda value: rule_values.url_of(value).path,
    "getHost": _host,
    "getHostname": lambda value: rule_values.url_of(value).hostname or "",
    "getPort": _port,
    "getQuery": lambda value: urllib.parse.parse_qs(
        rule_values.url_of(value).query, keep_blank_values=True
    ),
    "getScheme": lambda value: rule_values.url_of(value).scheme,
    "indexOf": _index_of,
    "ip": _ip,
    "ip_isCanonical": _ip_is_canonical,
    "isCIDR": _readable(rule_values.network),
    "isGlobalUnicast": _is_global_unicast,
    "isGreaterThan": lambda first, second: _compare(first, second) > 0,
    "isIP": _readable(rule_values.address),
    "isInteger": lambda value: rule_values.amount(value).denominator == 1,
    "isLessThan": lambda first, second: _compare(first, second) < 0,
    "isLinkLocalMulticast": _is_link_local(multicast=True),
    "isLinkLocalUnicast": _is_link_local(multicast=False),
    "isLoopback": lambda value: rule_values.ip_of(value).is_loopback,
    "isQuantity": _readable(rule_values.quantity),
    "isSemver": _readable(rule_values.version),
    "isSorted": _is_sorted,
    "isURL": _readable(rule_values.location),
    "isUnspecified": lambda value: rule_values.ip_of(value).is_unspecified,
    "join": lambda values, separator="": separator.join(values),
    "lastIndexOf": _last_index_of,
    "lowerAscii": _ascii(str.lower),
    "major": lambda value: rule_values.version_parts(value)[0],
    "map_of": dict,
    "masked": _masked,
    "max": max,
    "merged": _merged,
    "min": min,
    "minor": lambda value: rule_values.version_parts(value)[1],
    "optional_index": _optional_index,
    "pairs": _pairs,
    "patch": lambda value: rule_values.version_parts(value)[2],
    "prefixLength": lambda value: rule_values.network_of(value).prefixlen,
    "quantity": rule_values.quantity,
    "replace": _replace,
    "reverse": lambda value: value[::-1],
    "semver": rule_values.version,
    "sets_contains": lambda first, second: all(item in first for item in second),
    "sets_equivalent": _equivalent,
    "sets_intersects": lambda first, second: any(item in first for item in second),
    "sign": _sign,
    "split": _split,
    "sub": lambda first, second: {
        "quantity": str(rule_values.amount(first) - rule_values.amount(second))
    },
    "substring": _substring,
    "sum": sum,
    "text_of": _shown,
    "trim": str.strip,
    "upperAscii": _ascii(str.upper),
    "url": rule_values.location,
    "validate": _validate,
    **{f"format_{name}": functools.partial(dict, format=name) for name in rule_formats.FORMATS},
}

#: Functions of the authorizer, which the sandbox has not: rules that call these are not evaluated.
LEFT_OUT = frozenset(
    (
        *("allowed", "authorizer", "check", "errored", "fieldSelector", "group", "labelSelector"),
        *("name", "namespace", "path", "reason", "resource", "serviceAccount", "subresource"),
    )
)
