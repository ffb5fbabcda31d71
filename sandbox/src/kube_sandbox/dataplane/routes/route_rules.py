"""Rules about requests to a host, whatever kind of router they come from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Part(StrEnum):
    """What of a request is looked at."""

    PATH = "path"
    METHOD = "method"
    HEADER = "header"
    QUERY = "query"


class Comparison(StrEnum):
    """How it is compared."""

    EXACT = "exact"
    PREFIX = "prefix"
    #: Whole path segments: ``/a`` takes ``/a`` and ``/a/b``, not ``/ab``.
    SEGMENTS = "segments"
    #: The whole value.
    REGEX = "regex"
    PRESENT = "present"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Test:
    """One look at a request."""

    part: Part
    how: Comparison
    value: str = ""
    #: Of the header, in lower case, or of the query's field.
    name: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """Looks that must all hold."""

    tests: tuple[Test, ...] = ()


@dataclass(frozen=True, slots=True)
class Backend:
    """Where a share of the requests goes."""

    service: str
    namespace: str
    weight: float = 1.0
    #: Of the Service; None for its first one.
    port: int | None = None
    #: Labels the pods must have; None when the subset is not defined.
    subset: Mapping[str, str] | None = field(default_factory=dict)
    #: Name of the subset, if any.
    subset_name: str = ""
    #: Fields added to the answer, cookies for one.
    response_headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """What happens to requests that fit one of the matches; without any, to all."""

    backends: tuple[Backend, ...]
    matches: tuple[Match, ...] = ()
    #: Who gets a copy, and the share of requests that are copied.
    mirror: Backend | None = None
    mirror_share: float = 1.0


@dataclass(frozen=True, slots=True)
class Routes:
    """All rules of a host; the first that fits holds."""

    #: ``VirtualService shop``, for sentences.
    source: str
    rules: tuple[Rule, ...]
    #: Requests that no rule fits go to the Service itself.
    falls_through: bool = False


def service_of(host: str, namespace: str) -> tuple[str, str]:
    """Service and namespace of ``web``, ``web.shop`` or ``web.shop.svc.cluster.local``."""
    name, _, rest = host.partition(".")
    return name, rest.partition(".")[0] or namespace


def same_host(pattern: str, host: str, *, namespace: str, home: str) -> bool:
    """Tell whether a rule's host is the one asked for.

    `namespace` completes a short name in the rule, `home` the one that is asked for.
    """
    if pattern in ("*", host):
        return True
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    if not _is_service(pattern) or not _is_service(host):
        return False
    return service_of(pattern, namespace) == service_of(host, home)


def _is_service(host: str) -> bool:
    """``web``, ``web.shop``, ``web.shop.svc`` or ``web.shop.svc.cluster.local``."""
    _, _, rest = host.partition(".")
    place, _, domain = rest.partition(".")
    return not place or domain in ("", "svc", "svc.cluster.local")
