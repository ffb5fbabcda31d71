"""A real HTTP server whose answers a test writes, and which remembers what it was asked."""

import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import multidict
from aiohttp import web

Handler = Callable[["Asked"], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: "multidict.CIMultiDictProxy[str]"
    body: bytes
    #: Common name of the client's certificate; empty: none.
    certificate: str
    #: The client's port.
    port: int
    raw: web.BaseRequest = field(repr=False)

    @property
    def json(self) -> object:
        return json.loads(self.body)


def answer(body: object, status: int = 200, **headers: str) -> web.Response:
    return web.json_response(body, status=status, headers=headers)


def status(code: int, reason: str, message: str, **details: object) -> web.Response:
    """A Kubernetes Status of a failure."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return answer({**body, "reason": reason, "message": message, "details": details}, code)


@dataclass
class ScriptedServer:
    """Answers with `handler`; `seen` are the requests so far."""

    url: str = ""
    seen: list[Asked] = field(default_factory=list)
    handler: Handler | None = None
    script: list[web.StreamResponse | Handler] = field(default_factory=list)

    def say(self, *answers: web.StreamResponse | Handler) -> None:
        """Give the next answers in order; afterwards `handler` speaks again."""
        self.script += answers

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        asked = Asked(
            request.method,
            request.raw_path.partition("?")[0],
            dict(request.query),
            request.headers,
            await request.read(),
            _common_name(request),
            request.get_extra_info("peername")[1],
            request,
        )
        self.seen.append(asked)
        next_answer = self.script.pop(0) if self.script else self.handler
        if isinstance(next_answer, web.StreamResponse):
            return next_answer
        if next_answer is not None:
            return await next_answer(asked)
        return answer({"major": "1", "minor": "36", "gitVersion": "v1.36.0"})


def _common_name(request: web.BaseRequest) -> str:
    certificate = request.get_extra_info("peercert") or {}
    pairs = [pair for group in certificate.get("subject", ()) for pair in group]
    return dict(pairs).get("commonName", "")


@asynccontextmanager
async def serve(
    context: ssl.SSLContext | None = None, *, port: int = 0
) -> AsyncIterator[ScriptedServer]:
    """Start a server on the loopback address, with TLS when `context` is given."""
    scripted = ScriptedServer()
    server = web.Server(scripted.handle, access_log=None, handler_cancellation=True)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=context)
    await site.start()
    found = runner.addresses[0][1]
    scripted.url = f"{'https' if context else 'http'}://127.0.0.1:{found}"
    try:
        yield scripted
    finally:
        await runner.cleanup()
