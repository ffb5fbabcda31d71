"""A server that keeps lines of logs and counts them, as Loki does by its HTTP API.

Of LogQL it knows `sum(count_over_time({label="value"} |= "part" [1s]))` with or without the filter
and `or vector(0)`: what a metric of logs needs, and an error for anything else.
"""

import contextlib
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass

from aiohttp import web

import scripted_server

#: The lines of a stream, by its labels; those of any time.
Lines = Callable[[Mapping[str, str]], Iterable[str]]
_QUERY = re.compile(
    r"sum\(count_over_time\(\{(?P<labels>[^}]*)\}(?:\s*\|=\s*\"(?P<part>[^\"]*)\")?"
    r"\s*\[\w+\]\)\)(?P<zero> or vector\(0\))?"
)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass
class LokiServer:
    """Answers by `lines`, for the one tenant there is."""

    server: scripted_server.ScriptedServer
    tenant: str = "web"
    lines: Lines = lambda labels: ()

    async def handle(self, asked: scripted_server.Asked) -> web.StreamResponse:
        if asked.headers.get("X-Scope-OrgID") != self.tenant:
            return web.Response(text="no org id\n", status=401)
        if asked.path != "/loki/api/v1/query" or not asked.query["time"].isdigit():
            return web.Response(text="404 page not found\n", status=404)
        found = _QUERY.fullmatch(asked.query["query"].strip())
        if found is None:
            return web.Response(text="parse error at line 1, col 1: syntax error\n", status=400)
        lines = [*self.lines(dict(_LABEL.findall(found["labels"])))]
        count = sum((found["part"] or "") in line for line in lines)
        sample = [int(asked.query["time"]) / 10**9, str(count)]
        # Without a line there is no stream, and so nothing to add up.
        has_answer = count or found["zero"]
        result = [{"metric": {}, "value": sample}] if has_answer else []
        data = {"resultType": "vector", "result": result, "stats": {}}
        return scripted_server.answer({"status": "success", "data": data})


@contextlib.asynccontextmanager
async def serve() -> AsyncIterator[LokiServer]:
    """Start one."""
    async with scripted_server.serve() as server:
        made = LokiServer(server)
        server.handler = made.handle
        yield made
