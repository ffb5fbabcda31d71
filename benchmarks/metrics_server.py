"""A metrics system that only counts: ``python -m benchmarks.metrics_server``.

Every query is answered with one value, as Prometheus does it; ``/count`` says how many there were,
and how many different ones (text and time). It says its address in one line, and ends when its
standard input does.
"""

import asyncio
import contextlib
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass

from aiohttp import web

_VALUE = "99.9"


@dataclass(frozen=True, slots=True)
class Count:
    """Queries that arrived since the start."""

    queries: int
    different: int


@contextlib.contextmanager
def running() -> Iterator[str]:
    """Run it in a process of its own for the length of the block; gives its address."""
    argv = [sys.executable, "-m", "benchmarks.metrics_server"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        address = server.stdout.readline().strip() if server.stdout else ""
        if not address:
            raise RuntimeError("the metrics server did not start")
        try:
            yield address
        finally:
            if server.stdin is not None:
                server.stdin.close()
            server.wait(timeout=30)


def count(address: str) -> Count:
    """Ask how many queries there were."""
    with urllib.request.urlopen(f"{address}/count") as answer:
        return Count(**json.load(answer))


def application() -> web.Application:
    """The server's routes."""
    queries, different = 0, set[tuple[str, str]]()

    async def query(request: web.Request) -> web.Response:
        nonlocal queries
        given = request.query or await request.post()
        queries += 1
        different.add((str(given.get("query")), str(given.get("time"))))
        value = [float(str(given.get("time") or 0)), _VALUE]
        data = {"resultType": "vector", "result": [{"metric": {}, "value": value}]}
        return web.json_response({"status": "success", "data": data})

    async def say(_: web.Request) -> web.Response:
        return web.json_response({"queries": queries, "different": len(different)})

    made = web.Application()
    made.router.add_route("*", "/api/v1/query", query)
    made.router.add_get("/count", say)
    return made


async def _serve() -> None:
    runner = web.AppRunner(application(), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(_serve())
