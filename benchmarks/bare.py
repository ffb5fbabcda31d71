"""The floor of a controller at work: the same requests, and nothing else is done with them.

``python -m benchmarks.bare FLEET ADDRESS REQUESTS QUERIES``; writes among the requests become
reads, so it is a little lower than it could be.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import aiohttp
import msgspec

from benchmarks import raw, usage

_BASES = {
    "virtualservices": "/apis/networking.istio.io/v1",
    "destinationrules": "/apis/networking.istio.io/v1",
    "deployments": "/apis/apps/v1",
    "replicasets": "/apis/apps/v1",
}
_SELECTOR = "labelSelector=volary.dev%2Fapplication%3Dshop-000"
_AT_ONCE = 16


def measure(fleet_file: Path, address: str, requests: Mapping[str, int], queries: int) -> float:
    """Return the seconds of CPU it takes, in a process of its own."""
    argv = [sys.executable, "-m", "benchmarks.bare", str(fleet_file), address]
    return float(usage.output([*argv, json.dumps(requests), str(queries)]))


async def _send(fleet_file: Path, address: str, requests: Mapping[str, int], queries: int) -> float:
    async with raw.connected(fleet_file) as clusters, aiohttp.ClientSession() as metrics:
        paths = [(kind, number) for kind, number in requests.items() if number]
        gate = asyncio.Semaphore(_AT_ONCE)

        async def read(session: aiohttp.ClientSession, url: str) -> None:
            async with gate, session.get(url) as answer:
                msgspec.json.decode(await answer.read())

        for cluster in clusters:  # connections are open before
            await read(cluster.session, f"{cluster.url}/api/v1/namespaces")
        meter = usage.Meter()
        async with asyncio.TaskGroup() as group:
            for kind, number in paths:
                for turn in range(number):
                    cluster = clusters[turn % len(clusters)]
                    group.create_task(read(cluster.session, cluster.url + _path(kind)))
            for turn in range(queries):
                url = f"{address}/api/v1/query?query=sum(up)&time={turn}"
                group.create_task(read(metrics, url))
        return meter.read().cpu


def _path(kind: str) -> str:
    """Return what is read instead of a request of that kind."""
    plural, _, single = kind.partition(" ")[2].partition("/")
    place = f"{_BASES.get(plural, '/api/v1')}/namespaces/default/{plural}"
    return f"{place}/shop-000" if single else f"{place}?{_SELECTOR}"


if __name__ == "__main__":
    _, place, where, told, number = sys.argv
    print(asyncio.run(_send(Path(place), where, json.loads(told), int(number))))
