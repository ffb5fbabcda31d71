"""A server that speaks like Prometheus, with the answers a test wants."""

import contextlib
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from aiohttp import web

import scripted_server

#: What is said to a query at a time: a number, nothing, or a word for an error.
Answer = Callable[[str, float], float | str | None]


@dataclass
class MetricsServer:
    """Answers queries by `answer`."""

    server: scripted_server.ScriptedServer
    answer: Answer = lambda query, time: 0.0

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def queries(self) -> list[str]:
        """The queries that were asked, in their order."""
        return [each.query["query"] for each in self.server.seen if "query" in each.query]

    async def handle(self, asked: scripted_server.Asked) -> web.StreamResponse:
        if "query" not in asked.query:
            return scripted_server.answer({"status": "success", "data": {}})
        is_range = "end" in asked.query
        time = float(asked.query.get("end" if is_range else "time", "0"))
        found = self.answer(asked.query["query"], time)
        if isinstance(found, str):
            return scripted_server.answer({"status": "error", "error": found}, 422)
        point = [time, str(found)]
        series = {"values": [point]} if is_range else {"value": point}
        result = [] if found is None else [{"metric": {}, **series}]
        data = {"resultType": "matrix" if is_range else "vector", "result": result}
        return scripted_server.answer({"status": "success", "data": data})

    def fleet_text(self, written: str) -> str:
        """Return a fleet file with this provider added."""
        added = (
            "analysisProviders:\n"
            f"- {{name: prom, type: prometheus, config: {{address: '{self.url}'}}}}\n"
        )
        return re.sub(r"\n*$", "\n", written) + added


@contextlib.asynccontextmanager
async def serve() -> AsyncIterator[MetricsServer]:
    """Start one."""
    async with scripted_server.serve() as server:
        made = MetricsServer(server)
        server.handler = made.handle
        yield made
