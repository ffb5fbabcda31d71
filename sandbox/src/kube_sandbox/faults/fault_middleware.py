"""The one hook in the HTTP layer through which faults take effect.

It also serves ``/sandbox/faults``, so that another process can switch them: GET
tells them, PATCH changes some, DELETE switches all off. That path works whatever
else is wrong with the cluster, for its administrator's token only.
"""

import asyncio
import contextlib
import hmac
import math
from collections.abc import Awaitable, Callable

import msgspec
from aiohttp import web

from kube_sandbox import errors, json
from kube_sandbox.apiserver.access import request_info
from kube_sandbox.faults import faults

PATH = "/sandbox/faults"
_LIMIT = 64 * 1024
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class FaultMiddleware:
    """Applies a cluster's faults; `hook` goes first into the application's middlewares."""

    def __init__(self, switchboard: faults.Switchboard, *, token: str) -> None:
        self._switchboard = switchboard
        self._token = token
        self._watches: set[asyncio.Timeout] = set()
        self._changed = asyncio.Event()
        switchboard.on_change(self._react)

    @property
    def hook(self) -> Callable[[web.Request, Handler], Awaitable[web.StreamResponse]]:
        """The aiohttp middleware."""

        @web.middleware
        async def apply(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.path == PATH:
                return await self._control(request)
            return await self._apply(request, handler)

        return apply

    async def _apply(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        line = request_info.read(request.method, request.path, request.query)
        version = request.query.get("resourceVersion", "")
        verdict = self._switchboard.decide(line, has_version=version not in ("", "0"))
        if verdict.delay:
            await self._wait(verdict.delay)
        match verdict.effect:
            case faults.Effect.PASS:
                if line.verb == "watch":
                    return await self._watch(request, handler)
                return await handler(request)
            case faults.Effect.BREAK:
                return _broken(request)
            case faults.Effect.HANG:
                while self._switchboard.current.lost is faults.Lost.HANG:
                    await self._changed.wait()
                return _broken(request)
            case faults.Effect.EXPIRED:
                return _expired(version)
            case _:
                return _failure(verdict.effect, line, self._switchboard.current.retry_after)

    async def _wait(self, delay: float) -> None:
        """Be slow; who is quick again answers at once what waits."""
        slow = self._switchboard.current
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(delay):
                while self._switchboard.current.latency >= slow.latency:
                    await self._changed.wait()

    async def _watch(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            async with asyncio.timeout(self._switchboard.current.cut_watches) as scope:
                self._watches.add(scope)
                try:
                    return await handler(request)
                finally:
                    self._watches.discard(scope)
        except TimeoutError:
            return _broken(request)

    def _react(self) -> None:
        """Let the new faults reach what is under way: watches, and requests that hang."""
        self._changed.set()
        self._changed = asyncio.Event()
        current = self._switchboard.current
        if current.lost is not faults.Lost.NO:
            lifetime: float | None = 0.0
        else:
            lifetime = current.cut_watches
        if lifetime is not None:
            deadline = asyncio.get_running_loop().time() + lifetime
            for scope in self._watches:
                scope.reschedule(deadline)

    async def _control(self, request: web.Request) -> web.StreamResponse:
        given = request.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
            return _failure(faults.Effect.UNAUTHORIZED, request_info.RequestInfo("get"), 0)
        try:
            await self._switch(request)
        except errors.UserError as problem:
            return _status(400, "BadRequest", str(problem))
        return web.json_response(self._switchboard.as_json())

    async def _switch(self, request: web.Request) -> None:
        if request.method == "DELETE":
            self._switchboard.clear()
        elif request.method == "PATCH":
            body = await request.content.read(_LIMIT)
            try:
                changes = msgspec.json.decode(body, type=dict[str, object])
            except msgspec.DecodeError as problem:
                raise errors.UserError(f"the body is not a JSON object: {problem}") from None
            self._switchboard.change(changes)
        elif request.method != "GET":
            raise errors.UserError(f"{request.method} is not for faults: GET, PATCH or DELETE")


def _broken(request: web.Request) -> web.StreamResponse:
    """Break the connection; what is returned never leaves."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _failure(
    effect: faults.Effect, line: request_info.RequestInfo, retry_after: float
) -> web.Response:
    match effect:
        case faults.Effect.UNAUTHORIZED:
            return _status(401, "Unauthorized", "Unauthorized")
        case faults.Effect.FORBIDDEN:
            details = {"name": line.name, "group": line.group, "kind": line.resource}
            return _status(403, "Forbidden", forbidden_message(line), details=details)
        case faults.Effect.THROTTLE:
            wait = max(1, math.ceil(retry_after))
            response = _status(
                429,
                "TooManyRequests",
                "the server has received too many requests and has asked us to try again later",
                details={"retryAfterSeconds": wait},
            )
            response.headers["Retry-After"] = str(wait)
            return response
        case _:
            message = "Internal error occurred: the sandbox was told to fail this request"
            return _status(500, "InternalError", message)


def forbidden_message(line: request_info.RequestInfo) -> str:
    """The sentence kube-apiserver says when a request is not allowed."""
    full = f"{line.resource}.{line.group}" if line.group else line.resource
    subject = f'{full} "{line.name}"' if line.name else full
    where = f'in the namespace "{line.namespace}"' if line.namespace else "at the cluster scope"
    return (
        f'{subject} is forbidden: User "kube-sandbox-admin" cannot {line.verb} resource '
        f'"{line.resource}" in API group "{line.group}" {where}'
    )


def _expired(version: str) -> web.Response:
    status = _status_body(410, "Expired", f"too old resource version: {version}", None)
    event = {"type": "ERROR", "object": status}
    return web.Response(body=msgspec.json.encode(event) + b"\n", content_type="application/json")


def _status(
    code: int, reason: str, message: str, *, details: json.JsonObject | None = None
) -> web.Response:
    return web.json_response(_status_body(code, reason, message, details), status=code)


def _status_body(
    code: int, reason: str, message: str, details: json.JsonObject | None
) -> json.JsonObject:
    body: json.JsonObject = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    if details:
        body["details"] = {key: value for key, value in details.items() if value}
    return body
