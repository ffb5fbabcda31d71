"""What a request to an API server asks for, read strictly from its method, path and query. Pure.

Paths are taken apart and put together anew, so that what is decided about is what is sent: whatever
cannot be read without doubt is refused. So are all verbs that are no REST: exec, attach,
port-forward, proxy.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib import parse

#: Characters of a path, and of a query.
_LONGEST_PATH, _LONGEST_QUERY = 2048, 8192
#: Names of objects, kinds, groups and versions: what API servers take for all kinds, and no more.
_SEGMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:\-]*")
_PLAIN = frozenset({"/healthz", "/livez", "/readyz", "/version", "/version/", "/api", "/apis"})
#: Parameters of a query that are known to be harmless.
_READING = frozenset(
    {
        *("allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "pretty"),
        *("resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds"),
        *("hash", "timeout", "verbose", "watch"),
    }
)
_LOG = frozenset(
    {
        *("container", "follow", "limitBytes", "pretty", "previous", "sinceSeconds", "sinceTime"),
        *("tailLines", "timestamps"),
    }
)
_WRITING = frozenset({"dryRun", "fieldManager", "fieldValidation", "force", "pretty"})
#: Reviews: questions about rights, asked by POST.
_REVIEWS = frozenset(
    {
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authentication.k8s.io", "selfsubjectreviews"),
    }
)
_WRITES = frozenset({"POST", "PUT", "PATCH"})


class Verb(StrEnum):
    """What a request does."""

    #: Health, version, which kinds there are: nothing of what is in the cluster.
    DISCOVER = "discover"
    READ = "read"
    LOG = "log"
    REVIEW = "review"
    DRY_RUN = "dry run"


class RefusedError(ValueError):
    """It is no request that may ever be sent; the message says why."""


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request that is understood."""

    method: str
    verb: Verb
    #: As it is sent.
    path: str
    #: Pairs, in their order.
    query: tuple[tuple[str, str], ...] = ()
    group: str = ""
    #: Plural name of the kind; empty: of none.
    resource: str = ""
    #: Empty: of all namespaces, or of no namespace.
    namespace: str = ""
    #: Empty: a collection.
    name: str = ""
    subresource: str = ""

    @property
    def target(self) -> str:
        """Path and query as they are sent."""
        return f"{self.path}?{parse.urlencode(self.query)}" if self.query else self.path

    @property
    def what(self) -> str:
        """What it asks for, for people."""
        if not self.resource:
            return f"{self.verb.value} {self.path}"
        kind = f"{self.resource}.{self.group}" if self.group else self.resource
        where = "/".join(filter(None, (self.namespace, self.name, self.subresource)))
        return " ".join(filter(None, (self.verb.value, kind, where)))


def read(method: str, target: str) -> ApiRequest:
    """Return what a request asks for.

    Args:
        method: Of HTTP.
        target: Path and query, as they came.

    Raises:
        RefusedError: It is not understood, or may never be sent.
    """
    raw_path, _, raw_query = target.partition("?")
    is_long = len(raw_path) > _LONGEST_PATH or len(raw_query) > _LONGEST_QUERY
    if is_long or "#" in target or not target.isascii():
        raise RefusedError("the address is too long, or none")
    query = _query(raw_query)
    if method not in ("GET", *_WRITES):
        raise RefusedError(f"{method[:20]} writes, and writes are tasks")
    if raw_path in _PLAIN:
        return _discovery(method, raw_path, query)
    segments = _segments(raw_path)
    match segments:
        case ["readyz" | "livez" | "healthz", *_] | ["openapi", "v2" | "v3", *_]:
            return _discovery(method, _joined(segments), query)
        case ["api", "v1", *rest]:
            return _of_group(method, segments, "", rest, query)
        case ["apis", _]:
            return _discovery(method, _joined(segments), query)
        case ["apis", group, _, *rest]:
            return _of_group(method, segments, group, rest, query)
        case _:
            raise RefusedError("this path is none that is passed on")


def _segments(raw: str) -> list[str]:
    if not raw.startswith("/"):
        raise RefusedError("the path is none")
    segments = []
    for part in raw[1:].split("/"):
        # What is no text is no name either.
        decoded = parse.unquote(part, errors="replace") if part.isascii() else ""
        if not _SEGMENT.fullmatch(decoded) or ".." in decoded:
            raise RefusedError("the path has a part that is no name")
        segments.append(decoded)
    return segments


def _joined(segments: Sequence[str]) -> str:
    return "".join(f"/{parse.quote(segment, safe=':')}" for segment in segments)


def _query(raw: str) -> tuple[tuple[str, str], ...]:
    try:
        pairs = parse.parse_qsl(
            raw, keep_blank_values=True, strict_parsing=bool(raw), max_num_fields=30
        )
    except ValueError:
        raise RefusedError("the query cannot be read") from None
    if len({name for name, _ in pairs}) != len(pairs):
        raise RefusedError("the query says something twice")
    return tuple(pairs)


def _discovery(method: str, path: str, query: tuple[tuple[str, str], ...]) -> ApiRequest:
    if method != "GET":
        raise RefusedError(f"{method} of {path} is no question")
    _check_query(query, _READING)
    return ApiRequest(method, Verb.DISCOVER, path, query)


def _of_group(
    method: str,
    segments: Sequence[str],
    group: str,
    rest: Sequence[str],
    query: tuple[tuple[str, str], ...],
) -> ApiRequest:
    path = _joined(segments)
    if not rest:
        return _discovery(method, path, query)
    namespace, resource, name, subresource = _parts(rest)
    verb = _verb(method, group, resource, name, subresource)
    if verb is Verb.DRY_RUN and dict(query).get("dryRun") != "All":
        raise RefusedError("writes are tasks: the agent carries them out, and servers send none")
    _check_query(query, {Verb.LOG: _LOG, Verb.DRY_RUN: _WRITING}.get(verb, _READING))
    return ApiRequest(method, verb, path, query, group, resource, namespace, name, subresource)


def _parts(rest: Sequence[str]) -> tuple[str, str, str, str]:
    """Return namespace, resource, name and subresource of a path below its version."""
    if rest[0] in ("watch", "proxy", "redirect"):
        raise RefusedError(f"{rest[0]} is no REST")
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        # Else it is about the namespace itself.
        if len(rest) > 2 and rest[2] not in ("status", "finalize"):
            rest = rest[2:]
    if len(rest) > 3:
        raise RefusedError("the path has more parts than an object has")
    resource, name, subresource = (*rest, "", "")[:3]
    return namespace, resource, name, subresource


def _verb(method: str, group: str, resource: str, name: str, subresource: str) -> Verb:
    if method == "GET":
        if (group, resource, subresource) == ("", "pods", "log"):
            return Verb.LOG
        if subresource in ("", "status", "scale"):
            return Verb.READ
        raise RefusedError(f"{resource}/{subresource} is not passed on")
    if subresource:
        raise RefusedError(f"{method} of {resource}/{subresource} is not passed on")
    if method == "POST" and not name and (group, resource) in _REVIEWS:
        return Verb.REVIEW
    return Verb.DRY_RUN


def _check_query(query: tuple[tuple[str, str], ...], known: frozenset[str]) -> None:
    for name, _ in query:
        if name not in known:
            raise RefusedError("the query has a parameter that is not passed on")
