"""Lists over the API of a real server: ``python -m benchmarks.listing URL SECONDS``.

The server is `volary server` on SQLite, with runs and applications that were put there before.
A second process asks for whole lists, page by page, several at once.
"""

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from urllib import request

import pygit2

from benchmarks import usage

RUNS, APPLICATIONS = 1_000, 10_000
_PAGE = 500
#: Readers at the same time.
_READERS = 8
_PATHS = {"runs": RUNS, "applications": APPLICATIONS}


@dataclass(frozen=True, slots=True)
class Listed:
    """How long one list took, while others were read as well."""

    noun: str
    items: int
    #: Milliseconds for a page of 500 items.
    page_median: float
    page_slowest: float
    #: Milliseconds for the whole list.
    median: float
    slowest: float
    lists: int


@dataclass(frozen=True, slots=True)
class Measured:
    """Both lists, and the server's memory afterwards."""

    lists: tuple[Listed, ...]
    #: Milliseconds of the server's CPU per page.
    cpu: float
    memory: float


def measure(seconds: float) -> Measured:
    """Measure for so long."""
    with tempfile.TemporaryDirectory(prefix="volary-bench-") as directory:
        base = Path(directory)
        asyncio.run(_fill(base / "volary.db"))
        with _server(base) as (url, pid):
            before = usage.cpu_of(pid)
            argv = [sys.executable, "-m", "benchmarks.listing", url, str(seconds)]
            found = json.loads(usage.output(argv))
            pages = sum(len(each["pages"]) for each in found.values())
            cpu = (usage.cpu_of(pid) - before) / pages * 1000
            memory = usage.memory_of(pid)
    return Measured(tuple(_listed(noun, each) for noun, each in found.items()), cpu, memory)


def _listed(noun: str, found: dict[str, list[float]]) -> Listed:
    pages, lists = sorted(found["pages"]), sorted(found["lists"])
    return Listed(
        noun,
        _PATHS[noun],
        _part(pages, 0.5),
        _part(pages, 0.99),
        _part(lists, 0.5),
        _part(lists, 0.99),
        len(lists),
    )


def _part(ordered: Sequence[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1000


async def _fill(path: Path) -> None:
    """Put runs and applications into a database."""
    from volary.controller.status import run_origins
    from volary.engine.persistence import transitions
    from volary.engine.runs import run_builder
    from volary.model import statuses
    from volary.model.pipeline import pipelines
    from volary.model.pipeline.stage_kinds import rollout_stages
    from volary.store import factory, records

    class Clock:
        def now(self) -> datetime:
            return datetime.now(UTC)  # noqa: TID251 (here the clock is made)

    clock = Clock()
    stages = tuple(
        pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions()) for _ in range(4)
    )
    async with factory.open_store(f"sqlite:{path}", clock=clock) as store:

        async def application(number: int) -> None:
            await store.applications.keep(
                records.ApplicationRecord(
                    f"app-{number:05}",
                    repository="shop",
                    path=f"apps/{number:05}/volary.yaml",
                    branch="main",
                    labels={"team": f"team-{number % 50}"},
                    status="synced",
                    reason="all clusters succeeded",
                    running_commit="0123456789abcdef0123456789abcdef01234567",
                    updated=clock.now(),
                ),
                fence=None,
            )

        async def run(number: int) -> None:
            groups = run_builder.one_group([f"cluster-{each}" for each in range(5)])
            made = run_builder.RunSpec(f"app-{number:05}", "new", groups, stages)
            origin = run_origins.to_document(
                run_origins.Origin(
                    "shop", "volary.yaml", subject="Release it", author="Ann", targets=("a", "b")
                )
            )
            now = clock.now()
            ended = replace(
                run_builder.new_run(f"run-{number:05}", made, now),
                status=statuses.RunStatus.SUCCEEDED,
                reason="all clusters succeeded",
                started=now,
                finished=now,
            )
            await store.keep_transition(
                transitions.first_transition(ended, origin, now), fence=None
            )

        for noun, number in ((application, APPLICATIONS), (run, RUNS)):
            for start in range(0, number, 500):
                async with asyncio.TaskGroup() as group:
                    for each in range(start, start + 500):
                        group.create_task(noun(each))


@contextlib.contextmanager
def _server(base: Path) -> Iterator[tuple[str, int]]:
    """Run `volary server` on the database; nobody drives, another holds the lease."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (base / "fleet.yaml").write_text(
        "apiVersion: volary.dev/v1\nkind: Fleet\nclusters: [{name: us, context: none}]\n"
    )
    pygit2.init_repository(str(base / "shop.git"), bare=True)
    (base / "server.yaml").write_text(
        "apiVersion: volary.dev/v1\nkind: Controller\nfleet: fleet.yaml\ndataDirectory: .\n"
        f"listen: 127.0.0.1:{port}\nauthentication: none\n"
        f"repositories: [{{name: shop, url: {base}/shop.git}}]\n"
    )
    argv = [sys.executable, "-m", "volary", "server", "--config", str(base / "server.yaml")]
    with (base / "log").open("wb") as log, subprocess.Popen(argv, stderr=log) as server:
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(url, base / "log")
            yield url, server.pid
        finally:
            server.terminate()
            server.wait(30)


def _wait(url: str, log: Path) -> None:
    for _ in range(200):
        with contextlib.suppress(OSError):
            request.urlopen(f"{url}/healthz", timeout=2).read()
            return
        time.sleep(0.1)
    raise RuntimeError(log.read_text())


async def _load(url: str, seconds: float) -> dict[str, dict[str, list[float]]]:
    import aiohttp

    found: dict[str, dict[str, list[float]]] = {noun: {"pages": [], "lists": []} for noun in _PATHS}
    end = time.monotonic() + seconds

    async def read(session: aiohttp.ClientSession, noun: str) -> None:
        began, cursor, count = time.perf_counter(), "", 0
        while True:
            page = time.perf_counter()
            query = {"limit": str(_PAGE), "cursor": cursor}
            async with session.get(f"{url}/api/v1/{noun}", params=query) as answer:
                body = await answer.json()
            found[noun]["pages"].append(time.perf_counter() - page)
            count += len(body["items"])
            cursor = body["cursor"]
            if not cursor:
                break
        if count != _PATHS[noun]:
            raise RuntimeError(f"{count} {noun}")
        found[noun]["lists"].append(time.perf_counter() - began)

    async def reader(number: int) -> None:
        nouns = list(_PATHS)
        async with aiohttp.ClientSession() as session:
            while time.monotonic() < end:
                await read(session, nouns[number % 2])
                number += 1

    async with asyncio.TaskGroup() as group:
        for each in range(_READERS):
            group.create_task(reader(each))
    return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_load(sys.argv[1], float(sys.argv[2])))))
