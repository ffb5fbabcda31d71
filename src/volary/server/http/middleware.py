"""What every request passes before anything else: host, origin, size; and every answer after.

An ASGI layer of its own, so that it also holds for paths that do not exist.
"""

import asyncio
import math
import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib import parse

from starlette import datastructures, requests, types

from volary.gitops import webhooks
from volary.model import addresses
from volary.server import server_state
from volary.server.authentication import logins
from volary.server.connections import http_connection
from volary.server.http import problems
from volary.telemetry import spans

#: Bytes of a body; a webhook's may be larger.
LARGEST_BODY = 64 * 1024
#: What tasks of agents say is longer.
_LARGEST_OF_AGENTS = 4 * 2**20
_LARGEST_PATH = 8 * 1024
#: Seconds a body may take to arrive.
_SLOWEST_BODY = 15.0
#: Seconds after which there may be room again.
_LATER = "5"
#: Answered whatever else is refused.
_HEALTH = frozenset({"/healthz", "/readyz"})
#: The first status of an answer that is the server's own fault.
_BROKEN = 500
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_HSTS = (b"strict-transport-security", b"max-age=31536000")


@dataclass(frozen=True, slots=True)
class HttpMiddleware:
    """Checks requests on their way in, and adds headers and numbers on the way out."""

    inner: types.ASGIApp
    here: server_state.ServerState

    async def __call__(self, scope: types.Scope, receive: types.Receive, send: types.Send) -> None:
        """Handle one connection; anything but HTTP goes straight on."""
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        method = _method(scope["method"])
        with spans.span(method, {"http.request.method": method}, kind=spans.Kind.SERVER) as span:
            await self._answer(scope, receive, _ResponseHeaders(scope, send, self.here, span))

    async def _answer(
        self, scope: types.Scope, receive: types.Receive, outgoing: "_ResponseHeaders"
    ) -> None:
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, outgoing)
            return
        with _HeldBytes(self.here, logins.address_of(requests.HTTPConnection(scope))) as held:
            try:
                async with asyncio.timeout(_SLOWEST_BODY):
                    body = await _read(receive, _limit(scope["path"]), held)
            except (TimeoutError, _TooLargeError, _NoRoomError) as error:
                await _answers(error, self.here)(scope, receive, outgoing)
            except _GoneError:
                # Half a body is none: nothing of it is carried out.
                return
            else:
                await self.inner(scope, _BufferedBody(body, receive), outgoing)

    def _refusal(self, scope: types.Scope) -> types.ASGIApp | None:
        headers = datastructures.Headers(scope=scope)
        limited = None if scope["path"] in _HEALTH else self._limited(scope, headers)
        if limited is not None:
            return limited
        host = headers.get("host", "")
        if self.here.authenticator.is_open and not addresses.is_loopback(_name(host)):
            return problems.problem(
                421,
                "this server only answers to the names of this machine",
                hint="use 127.0.0.1 or localhost, or configure credentials",
            )
        origin = headers.get("origin", "")
        if scope["method"] not in _SAFE and origin and parse.urlsplit(origin).netloc != host:
            return problems.problem(403, "requests of other sites are not carried out")
        if len(scope["path"]) + len(scope.get("query_string", b"")) > _LARGEST_PATH:
            return problems.problem(414, "the address is too long")
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length[:12]) > _limit(scope["path"]):
            return problems.problem(413, "the body is too large")
        return None

    def _limited(self, scope: types.Scope, headers: datastructures.Headers) -> types.ASGIApp | None:
        """Refuse what there is no room for, and who asks too often without saying who they are."""
        if scope.get("state", {}).get(http_connection.HEALTH_ONLY):
            self.here.metrics.requests_limited.labels("connections").inc()
            later = {"retry-after": _LATER, "connection": "close"}
            return problems.problem(503, "no connection is free", hint="try again", headers=later)
        if "authorization" in headers or self.here.authenticator.is_open:
            return None
        request = requests.HTTPConnection(scope)
        # Who shows a cookie that is none is counted where that is found out.
        wait = 0.0 if self.here.has_cookie(request) else self.here.anonymous_wait(request)
        if not wait:
            return None
        self.here.metrics.requests_limited.labels("rate").inc()
        return problems.problem(
            429,
            "too many requests without credentials come from this address",
            hint="wait, or send a token",
            headers={"retry-after": str(math.ceil(wait))},
        )


def _limit(path: str) -> int:
    if path.startswith("/api/v1/agent/"):
        return _LARGEST_OF_AGENTS
    return webhooks.LARGEST_BODY if path.startswith("/webhooks/") else LARGEST_BODY


def _name(host: str) -> str:
    """Return the name in a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if ":" in host else host


class _TooLargeError(Exception):
    """The body is larger than allowed."""


class _NoRoomError(Exception):
    """Too many bodies are in memory already."""


class _GoneError(Exception):
    """The connection ended before the body did."""


class _HeldBytes:
    """The bytes of one body, among those of all that are in memory."""

    def __init__(self, here: server_state.ServerState, address: str) -> None:
        self._bodies, self._holder = here.bodies, addresses.holder_of(address)
        self._share = here.bounds.bodies_of(address)
        self._size = 0

    def __enter__(self) -> "_HeldBytes":
        return self

    def __exit__(self, *_: object) -> None:
        self._bodies.give_back(self._holder, self._size)

    def add(self, size: int) -> bool:
        """Count so many more; False: there is no room for them."""
        is_room = self._bodies.take(self._holder, size, share=self._share)
        self._size += size if is_room else 0
        return is_room


async def _read(receive: types.Receive, most: int, held: _HeldBytes) -> bytes:
    """Return the whole body.

    Raises:
        _TooLargeError: It is larger than allowed.
        _NoRoomError: There is no room for it now.
        _GoneError: Nobody sends the rest of it.
    """
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _GoneError
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            raise _TooLargeError
        if not held.add(len(part)):
            raise _NoRoomError
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _answers(error: Exception, here: server_state.ServerState) -> types.ASGIApp:
    match error:
        case TimeoutError():
            return problems.problem(408, "the body took too long")
        case _NoRoomError():
            here.metrics.requests_limited.labels("bodies").inc()
            later = {"retry-after": _LATER}
            return problems.problem(
                503, "too much is being received", hint="try again", headers=later
            )
        case _:
            return problems.problem(413, "the body is too large")


class _BufferedBody:
    """Gives a body that was read once more, then waits for the end of the connection."""

    def __init__(self, body: bytes, receive: types.Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> types.Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


class _ResponseHeaders:
    """Adds what every answer carries, and counts it."""

    def __init__(
        self,
        scope: types.Scope,
        send: types.Send,
        here: server_state.ServerState,
        span: spans.Span,
    ) -> None:
        self._scope = scope
        self._send = send
        self._here = here
        self._span = span
        self._began = time.perf_counter()

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            added = (*_HEADERS, _HSTS) if self._here.settings.tls else _HEADERS
            own = list(message.get("headers", ()))
            # An answer may say otherwise for itself, as pages do.
            said = {name for name, _ in own}
            message["headers"] = [*own, *(entry for entry in added if entry[0] not in said)]
            self._count(message["status"])
        await self._send(message)

    def _count(self, status: int) -> None:
        # The template, not the path: a label for each run would never end.
        matched_route = self._scope.get("route")
        route = getattr(matched_route, "path", "") or "(none)"
        numbers, method = self._here.metrics, _method(self._scope["method"])
        self._span.rename(f"{method} {route}")
        self._span.describe({"http.route": route, "http.response.status_code": status})
        if status >= _BROKEN:
            self._span.fail(str(status))
        numbers.requests.labels(route, method, str(status)).inc()
        numbers.seconds.labels(route).observe(time.perf_counter() - self._began)


def _method(given: str) -> str:
    known = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
    return given if given in known else "(other)"
