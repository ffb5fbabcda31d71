"""Releases in progressive steps by workers: ``python -m benchmarks.progression_workers``.

As `benchmarks.progression`, with everything in programs as people start them: ``volary server``,
workers that take its tasks from Temporal, Temporal, and the sandbox. Each of them is measured.
Writes ``progression_workers.md``.
"""

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from benchmarks import families, metrics_server, releasing, serving, temporal, watching

_PAGE = Path(__file__).with_name("progression_workers.md")
_TOGETHER = 50
_SERVER, _WORKERS, _TEMPORAL, _SANDBOX = "Server", "Workers", "Temporal", "Sandbox"
#: Seconds that a commit may take until it runs, or is at its checks.
_PATIENCE = 3600.0


@dataclass(frozen=True, slots=True)
class Size:
    """What is measured."""

    applications: int
    clusters: int
    workers: int
    #: Seconds between two checks of an application on a cluster.
    interval: int
    #: For how long.
    seconds: float

    @property
    def due(self) -> float:
        """Checks a second."""
        return self.applications * self.clusters / self.interval


FULL = (Size(30, 10, 4, 10, 60),)
QUICK = (Size(6, 3, 2, 10, 20),)


@dataclass(frozen=True, slots=True)
class Part:
    """What one kind of program used: a share of one core, and MiB at most."""

    busy: float
    memory: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One size."""

    size: Size
    #: Seconds from the first commit of a new version until all were at their checks.
    until_checks: float
    #: A second.
    checks: float
    parts: Mapping[str, Part]


@dataclass
class _Server:
    """A ``volary server`` that leaves its tasks to workers."""

    base: Path
    url: str
    pid: int
    session: aiohttp.ClientSession

    async def until(self, path: str, holds: Callable[[Any], bool], number: int) -> None:
        """Wait until so many of the items at a path are so."""
        deadline = time.monotonic() + _PATIENCE
        while (found := sum(map(holds, await self._items(path)))) < number:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{path}: only {found} of {number} got there")
            await asyncio.sleep(2)

    async def _items(self, path: str) -> list[Any]:
        found, cursor = [], ""
        while True:
            async with self.session.get(f"{self.url}{path}&limit=500&cursor={cursor}") as answer:
                answer.raise_for_status()
                page = await answer.json()
            found += page["items"]
            cursor = page["cursor"]
            if not cursor:
                return found


def measure(size: Size) -> Measured:
    """Measure one size."""
    with (
        tempfile.TemporaryDirectory(prefix="volary-bench-") as made,
        serving.running(Path(made, "sandbox"), size.clusters, speed=10, istio=True) as sandbox,
        metrics_server.running() as address,
        temporal.running() as engine,
    ):
        return asyncio.run(_measure(size, Path(made), sandbox, address, engine))


async def _measure(
    size: Size, base: Path, sandbox: serving.Sandbox, address: str, engine: temporal.Server
) -> Measured:
    names = [f"shop-{each:04}" for each in range(size.applications)]
    stages = releasing.progressive(size.interval)
    author = watching.Author(base / "repository.git")
    author.commit(releasing.files(names, stages, "v1"), "v1")
    async with (
        _serving(base, sandbox, address, engine.address) as server,
        contextlib.AsyncExitStack() as stack,
    ):
        workers = [
            stack.enter_context(_worker(server, sandbox, f"worker-{each}"))
            for each in range(size.workers)
        ]
        await server.until("/api/v1/applications?", _is_synced, size.applications)
        began = time.monotonic()
        for done in range(0, len(names), _TOGETHER):
            begun, rest = names[: done + _TOGETHER], names[done + _TOGETHER :]
            files = releasing.files(begun, stages, "v2") | releasing.files(rest, stages, "v1")
            commit = author.commit(files, "v2")
            await server.until(f"/api/v1/runs?commit={commit}", _checks, len(begun) - done)
            print(f"{len(begun)} at their checks", file=sys.stderr, flush=True)
        until_checks = time.monotonic() - began
        await asyncio.sleep(1.2 * size.interval)  # all have looked
        roots = {_SERVER: [server.pid], _WORKERS: workers, _TEMPORAL: [engine.pid]}
        watched = {
            name: [families.Family(each) for each in pids]
            for name, pids in {**roots, _SANDBOX: [sandbox.pid]}.items()
        }
        sandbox.requests()
        with families.watched([each for some in watched.values() for each in some]):
            await asyncio.sleep(size.seconds)
        steps = sandbox.requests().get("patch", 0)
    parts = {
        name: Part(sum(each.cpu for each in some) / size.seconds, sum(each.peak for each in some))
        for name, some in watched.items()
    }
    return Measured(size, until_checks, steps / size.seconds, parts)


def _is_synced(application: Any) -> bool:
    if application["status"] in ("failed", "rolled_back"):
        raise RuntimeError(f"{application['name']}: {application['reason']}")
    return bool(application["status"] == "synced")


def _checks(run: Any) -> bool:
    if run["status"] not in ("planned", "running"):
        raise RuntimeError(f"{run['application']}: {run['reason']}")
    return "K8S_PROGRESSIVE_TRAFFIC" in run["reason"]


@contextlib.asynccontextmanager
async def _serving(
    base: Path, sandbox: serving.Sandbox, address: str, engine: str
) -> AsyncIterator[_Server]:
    fleet = yaml.safe_load(sandbox.fleet_file.read_text())
    config = {"address": address, "clusterLabel": "cluster"}
    fleet["analysisProviders"] = [{"name": "metrics", "type": "prometheus", "config": config}]
    measured = sandbox.directory / "measured.yaml"
    measured.write_text(json.dumps(fleet))
    data = base / "data"
    data.mkdir(mode=0o700)
    settings = {
        "apiVersion": "volary.dev/v1",
        "kind": "Controller",
        "fleet": str(measured),
        "listen": "127.0.0.1:0",
        "dataDirectory": str(data),
        "authentication": "none",
        "store": f"sqlite:{data}/volary.db",
        "engine": {"temporal": {"address": engine, "workers": "apart"}},
        "repositories": [
            {
                "name": "shop",
                "url": str(base / "repository.git"),
                "branch": "main",
                "interval": "1s",
            }
        ],
    }
    file = base / "server.yaml"
    file.write_text(json.dumps(settings))
    with _volary(base / "server.log", "server", "--no-ui", "--config", str(file)) as process:
        said = _until_said(process, base / "server.log", "listening on ")
        url = said.partition("listening on ")[2].split()[0]
        async with aiohttp.ClientSession() as session:
            yield _Server(base, url, process.pid, session)


@contextlib.contextmanager
def _worker(server: _Server, sandbox: serving.Sandbox, name: str) -> Iterator[int]:
    """Run one more worker, for all clusters; gives its number."""
    clusters = [word for each in sandbox.names for word in ("--cluster", each)]
    argv = [sys.executable, "-m", "volary", "worker", "join", name, *clusters]
    joined = subprocess.run([*argv, "--server", server.url], capture_output=True, check=True)
    identity = server.base / f"{name}.json"
    identity.touch(mode=0o600)
    identity.write_bytes(joined.stdout)
    words = ("--identity", str(identity), "--fleet", str(sandbox.fleet_file))
    log = server.base / f"{name}.log"
    with _volary(log, "worker", *words) as process:
        _until_said(process, log, "takes tasks from")
        yield process.pid


@contextlib.contextmanager
def _volary(log: Path, *words: str) -> "Iterator[subprocess.Popen[bytes]]":
    """Run ``volary …``, which says what it says to a file."""
    argv = [sys.executable, "-m", "volary", *words]
    environment = {**os.environ, "HOME": str(log.parent)}
    with (
        log.open("wb") as said,
        subprocess.Popen(argv, stderr=said, cwd=log.parent, env=environment) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()


def _until_said(process: "subprocess.Popen[bytes]", log: Path, text: str) -> str:
    """Wait until it has said something; return all it has said."""
    while text not in log.read_text():
        if process.poll() is not None:
            raise RuntimeError(f"it ended: {log.read_text()}")
        time.sleep(0.1)
    return log.read_text()


def page(found: Sequence[Measured]) -> str:
    """Return what is written down."""
    rows = "".join(map(_row, found))
    head = f"| {' | '.join(_HEAD)} |\n|{' --- |' * len(_HEAD)}\n"
    return _TEXT.format(head=head, rows=rows, load=f"{os.getloadavg()[2]:.1f}")


def _row(found: Measured) -> str:
    size, parts = found.size, found.parts
    cells = (
        f"{size.applications:,} × {size.clusters}, {size.workers} workers",
        f"{size.interval} s",
        f"{found.until_checks:.0f} s",
        f"{size.due:.1f}",
        f"{found.checks:.1f}",
        *(_used(parts[name], found) for name in (_WORKERS, _SERVER, _TEMPORAL)),
        f"{parts[_SANDBOX].busy:.0%}",
    )
    return f"| {' | '.join(cells)} |\n"


def _used(part: Part, found: Measured) -> str:
    each = part.busy / found.checks * 1000 if found.checks else 0.0
    return f"{part.busy:.0%}, {each:.1f} ms, {part.memory:,.0f} MiB"


_HEAD = (
    "Applications × clusters",
    "A check every",
    "Until all are at their checks",
    "Checks/s due",
    "done",
    "Workers: of one core, per check, memory",
    "Server",
    "Temporal",
    "Sandbox",
)
_TEXT = """# What releases in progressive steps cost, by workers

Written by `python -m benchmarks.progression_workers` (`--quick`: a short form): the releases of
[many releases in progressive steps](progression.md), carried out by `volary worker` processes that
take tasks from Temporal (`workers: apart`). Everything is a program of its own: `volary server`
(SQLite), which answers what workers ask it (measurements, what a task may still do, what it
keeps), the workers (together), Temporal's development server, the sandbox with all clusters, and
a metrics system. They share two cores with whatever else the machine does (load over fifteen
minutes at the end: {load}). *Until all are at their checks*: 50 releases at a time, from the first
commit. A check that passes sends one request to its cluster, by which checks are counted.

{head}{rows}"""


def main() -> None:
    """Measure every size and write the page."""
    description = "Releases in progressive steps, carried out by workers."
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.progression_workers", description=description
    )
    parser.add_argument("--quick", action="store_true", help="few applications; two minutes")
    parser.add_argument("--output", type=Path, default=_PAGE, help="file to write")
    chosen = parser.parse_args()
    found = []
    for size in QUICK if chosen.quick else FULL:
        found.append(measure(size))
        print(found[-1], file=sys.stderr, flush=True)
    chosen.output.write_text(page(found))


if __name__ == "__main__":
    main()
