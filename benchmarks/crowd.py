"""A controller with many applications in one repository: ``python -m benchmarks.crowd FLEET APPS``.

Each application is a ConfigMap on one cluster. Measured: from a commit that changes all of them
until a run of each is planned (tried on the cluster and kept), how often the repository was
fetched for it, and the CPU time of the controller once nothing happens any more.
"""

import asyncio
import contextlib
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pygit2

from benchmarks import serving, usage

if TYPE_CHECKING:
    from volary.store import protocol, records

_APPLICATION = """apiVersion: volary.dev/v1
kind: Application
metadata: {{name: {name}}}
spec:
  input: {{manifests: [config.yaml]}}
"""
_OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{text: '{text}'}}\n"


@dataclass(frozen=True, slots=True)
class Measured:
    """What a controller with so many applications used."""

    applications: int
    #: From the commit to the last run that is planned.
    planned: usage.Usage
    #: From the commit until what it says runs everywhere.
    done: usage.Usage
    fetches: int
    #: Of one minute in which nothing happened.
    idle: usage.Usage
    #: Seconds that were measured for it.
    idle_seconds: float

    @property
    def idle_per_minute(self) -> float:
        """Seconds of CPU per minute."""
        return self.idle.cpu / self.idle_seconds * 60


def measure(applications: int, *, idle_seconds: float) -> Measured:
    """Measure with a sandbox and a controller in processes of their own."""
    with (
        tempfile.TemporaryDirectory(prefix="volary-bench-") as directory,
        serving.running(Path(directory), 1) as sandbox,
    ):
        argv = [sys.executable, "-m", "benchmarks.crowd", str(sandbox.fleet_file)]
        found = json.loads(usage.output([*argv, str(applications), str(idle_seconds)]))
    used = {name: usage.Usage(**found[name]) for name in ("planned", "done", "idle")}
    return Measured(applications, fetches=found["fetches"], idle_seconds=idle_seconds, **used)


class _Author:
    """Commits to a bare repository, without a checkout."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self._opened = pygit2.init_repository(str(path), bare=True, initial_head="main")
        self._names = names

    def commit(self, text: str) -> str:
        """Give every application's object this text; return the commit."""
        opened = self._opened
        root = opened.TreeBuilder()
        for name in self._names:
            directory = opened.TreeBuilder()
            for file, content in (
                ("volary.yaml", _APPLICATION.format(name=name)),
                ("config.yaml", _OBJECT.format(name=name, text=text)),
            ):
                blob = opened.create_blob(content.encode())
                directory.insert(file, blob, pygit2.enums.FileMode.BLOB)
            root.insert(name, directory.write(), pygit2.enums.FileMode.TREE)
        who = pygit2.Signature("Ann", "ann@example.com")
        parents = [] if opened.head_is_unborn else [opened.head.target]
        made = opened.create_commit("refs/heads/main", who, who, text, root.write(), parents)
        return str(made)


@contextlib.contextmanager
def _counting() -> Iterator[list[str]]:
    """Note every fetch of the block."""
    from volary.sources import library

    seen: list[str] = []
    real = library.LibraryRemote.fetch

    async def fetch(self: library.LibraryRemote, refspecs: Sequence[str], *, depth: int) -> None:
        seen.extend(refspecs)
        await real(self, refspecs, depth=depth)

    library.LibraryRemote.fetch = fetch  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        library.LibraryRemote.fetch = real  # type: ignore[method-assign]


async def _work(
    fleet_file: Path, number: int, idle_seconds: float, base: Path
) -> dict[str, object]:
    names = [f"app-{each:05}" for each in range(number)]
    author = _Author(base / "crowd.git", names)
    first = author.commit("first")
    with _counting() as fetched:
        async with _controller(fleet_file, base) as (store, hasten):
            await _until(store, names, lambda each: each.running_commit == first)
            fetched.clear()
            second = author.commit("second")
            meter = usage.Meter()
            hasten()
            await _until_runs(store, second, number)
            planned = meter.read()
            await _until(store, names, lambda each: each.running_commit == second)
            done, fetches = meter.read(), len(fetched)
            await asyncio.sleep(5)  # what is written behind
            meter = usage.Meter()
            await asyncio.sleep(idle_seconds)
            idle = meter.read()
    return {
        "planned": asdict(planned),
        "done": asdict(done),
        "fetches": fetches,
        "idle": asdict(idle),
    }


@contextlib.asynccontextmanager
async def _controller(
    fleet_file: Path, base: Path
) -> AsyncIterator[tuple["protocol.Store", Callable[[], object]]]:
    from volary.config import fleet as fleet_files
    from volary.controller import server_loop
    from volary.gitops import repositories, watcher
    from volary.model import controller
    from volary.sources import mirrors

    class Clock:
        def now(self) -> datetime:
            return datetime.now(UTC)  # noqa: TID251 (here the clock is made)

    spec = controller.Repository("crowd", str(base / "crowd.git"), "main")
    settings = controller.Settings(
        str(fleet_file), str(base), f"sqlite:{base}/volary.db", repositories=(spec,)
    )
    members = fleet_files.parse(
        fleet_file.read_text(), file=str(fleet_file), directory=str(fleet_file.parent)
    ).require()
    async with mirrors.open_mirrors(base / "mirrors") as opened:
        watching = watcher.Watcher(settings, opened, pace=watcher.Pace(gap=timedelta(seconds=0.1)))
        parts = server_loop.Parts(
            clock=Clock(),
            members=members,
            repositories=repositories.WatchedRepositories(settings, opened),
            watch=watching.watch,
        )
        async with (
            server_loop.open_controller(settings, parts) as made,
            asyncio.TaskGroup() as group,
        ):
            running = group.create_task(made.run())
            yield made.service.store, lambda: watching.hasten("crowd")
            running.cancel()


async def _until(
    store: "protocol.Store",
    names: Sequence[str],
    holds: "Callable[[records.ApplicationRecord], bool]",
) -> None:
    """Wait until every application stands so; looks seldom, to cost little."""
    from volary.store import records

    found = 0
    for _ in range(1200):
        cursor, found = "", 0
        while True:
            page = await store.applications.list(
                records.ApplicationFilter(), cursor=cursor, limit=500
            )
            found += sum(map(holds, page.items))
            cursor = page.cursor
            if not cursor:
                break
        if found == len(names):
            return
        await asyncio.sleep(0.5)
    raise RuntimeError(f"only {found} of {len(names)} got there")


async def _until_runs(store: "protocol.Store", commit: str, number: int) -> None:
    """Wait until there is a run of every application to a commit."""
    from volary.store import records

    found = 0
    for _ in range(1200):
        cursor, found = "", 0
        while True:
            page = await store.runs.list(records.RunFilter(commit=commit), cursor=cursor, limit=500)
            found += len(page.items)
            cursor = page.cursor
            if not cursor:
                break
        if found >= number:
            return
        await asyncio.sleep(0.5)
    raise RuntimeError(f"only {found} of {number} were planned")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="volary-bench-") as made:
        work = _work(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), Path(made))
        print(json.dumps(asyncio.run(work)))
