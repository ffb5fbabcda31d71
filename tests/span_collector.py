"""A real collector of traces: takes OTLP over HTTP, and shows what it was sent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

import process_time


@dataclass(frozen=True)
class Received:
    """A span as it arrived."""

    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, Any]
    failed: bool
    seconds: float


@dataclass
class Collector:
    """What was sent, and with which headers."""

    url: str = ""
    spans: list[Received] = field(default_factory=list, repr=False)
    authorizations: set[str] = field(default_factory=set)
    #: What it answers; another one is a collector in trouble.
    status: int = 200
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def named(self, name: str) -> list[Received]:
        return [span for span in self.spans if span.name == name]

    def within(self, outer: Received) -> list[Received]:
        """Return all that a span consists of, at any depth."""
        inner = [span for span in self.spans if span.parent == outer.id]
        return [*inner, *(each for span in inner for each in self.within(span))]

    async def until(self, name: str, count: int = 1) -> Received:
        """Wait for so many spans of a name, and return the first."""
        async with asyncio.timeout(process_time.HANG):
            while len(self.named(name)) < count:
                self._changed.clear()
                await self._changed.wait()
        return self.named(name)[0]

    async def take(self, request: web.Request) -> web.Response:
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

        message = trace_service_pb2.ExportTraceServiceRequest()
        body = await request.read()
        message.ParseFromString(body)
        self.authorizations.add(request.headers.get("Authorization", ""))
        for resource in message.resource_spans:
            for scope in resource.scope_spans:
                self.spans += [_received(span) for span in scope.spans]
        self._changed.set()
        return web.Response(status=self.status)


def _received(span: Any) -> Received:
    return Received(
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes},
        span.status.code == span.status.STATUS_CODE_ERROR,
        (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
    )


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    """Listen on loopback."""
    made = Collector()
    application = web.Application(client_max_size=64 * 1024 * 1024)
    application.router.add_post("/v1/traces", made.take)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        made.url = f"http://{host}:{port}"
        yield made
    finally:
        await runner.cleanup()
