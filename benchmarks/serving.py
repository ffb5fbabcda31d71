"""The sandbox in a process of its own.

``python -m benchmarks.serving DIRECTORY NUMBER LATENCY SPEED [istio]``.

It says one line when all clusters answer, and ends when its standard input does.
"""

import asyncio
import contextlib
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
            yield Sandbox(directory, names(number), server.pid, start)
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
    from kube_sandbox import fleet
    from kube_sandbox.crds import definitions
    from kube_sandbox.faults import faults

    settings = fleet.Settings(speed=speed, crds=definitions.istio() if istio else ())
    async with fleet.start(names(number), directory=directory, settings=settings) as started:
        for cluster in started.clusters.values():
            cluster.faults.set(faults.Faults(latency=latency))
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    _, place, wanted, late, fast, *more = sys.argv
    asyncio.run(_serve(Path(place), int(wanted), float(late), float(fast), istio=bool(more)))
