"""The sandbox in a process of its own.

``python -m benchmarks.serving DIRECTORY NUMBER LATENCY SPEED [istio]``.

It says one line when all clusters answer. Each line on standard input is answered by a line of
JSON: how many requests there were since the last one, by verb. It ends when its standard input
does.
"""

import asyncio
import collections
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import usage


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A running sandbox process."""

    directory: Path
    names: tuple[str, ...]
    pid: int
    #: What it took until it answered; the peak is its memory then.
    start: usage.Usage
    _process: "subprocess.Popen[bytes]"

    def requests(self) -> dict[str, int]:
        """Return how many requests there were since the last call, by verb."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the sandbox has no pipes")
        self._process.stdin.write(b"count\n")
        self._process.stdin.flush()
        return dict(json.loads(self._process.stdout.readline()))

    @property
    def fleet_file(self) -> Path:
        """The file that names the clusters."""
        return self.directory / "fleet.yaml"

    def kubeconfig(self, name: str) -> Path:
        """The file that leads to one cluster."""
        return self.directory / f"{name}.kubeconfig"


@contextlib.contextmanager
def running(
    directory: Path,
    number: int,
    *,
    latency: float = 0.0,
    speed: float = 1.0,
    istio: bool = False,
) -> Iterator[Sandbox]:
    """Run a sandbox with `number` clusters for the length of the block.

    Args:
        directory: Where its files go.
        number: Of clusters.
        latency: Seconds before each answer.
        speed: Sandbox seconds per second, for pods that start and stop.
        istio: With VirtualServices and DestinationRules.
    """
    began = time.perf_counter()
    argv = [sys.executable, "-m", "benchmarks.serving", str(directory), str(number)]
    argv += [str(latency), str(speed), *(["istio"] if istio else [])]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        if server.stdout is None or not server.stdout.readline():
            raise RuntimeError("the sandbox did not start")
        wall = time.perf_counter() - began
        start = usage.Usage(wall, usage.cpu_of(server.pid), usage.memory_of(server.pid))
        try:
            yield Sandbox(directory, names(number), server.pid, start, server)
        finally:
            if server.stdin is not None:
                server.stdin.close()
            server.wait(timeout=60)


def names(number: int) -> tuple[str, ...]:
    """Return the names of the clusters."""
    return tuple(f"cluster-{each:02}" for each in range(number))


async def _serve(
    directory: Path, number: int, latency: float, speed: float, *, istio: bool
) -> None:
    # The parent process imports this module, but no sandbox.
    from aiohttp import web

    from kube_sandbox import fleet
    from kube_sandbox.apiserver import server
    from kube_sandbox.apiserver.access import request_info
    from kube_sandbox.crds import definitions
    from kube_sandbox.faults import faults

    counts: collections.Counter[str] = collections.Counter()

    @web.middleware
    async def count(request: web.Request, handler: server.Handler) -> web.StreamResponse:
        asked = request_info.read(request.method, request.path, request.query)
        verb = asked.verb if asked.resource else "discover"
        if asked.resource.startswith("selfsubject"):
            verb = "review"
        counts["try" if request.query.get("dryRun") else verb] += 1
        return await handler(request)

    settings = fleet.Settings(
        speed=speed, crds=definitions.istio() if istio else (), middlewares=(count,)
    )
    async with fleet.start(names(number), directory=directory, settings=settings) as started:
        for cluster in started.clusters.values():
            cluster.faults.set(faults.Faults(latency=latency))
        print("ready", flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(counts), flush=True)
            counts.clear()


if __name__ == "__main__":
    _, place, wanted, late, fast, *more = sys.argv
    asyncio.run(_serve(Path(place), int(wanted), float(late), float(fast), istio=bool(more)))
