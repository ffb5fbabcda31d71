"""A controller that watches a bare repository, in this process; and what it asks of others.

The repository is written without a checkout: each commit gives every application its files anew.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pygit2

if TYPE_CHECKING:
    from volary.controller.api import service
    from volary.model import metric_providers
    from volary.model.runs import run_records
    from volary.store import records


class Author:
    """Commits to a bare repository."""

    def __init__(self, path: Path) -> None:
        self._opened = pygit2.init_repository(str(path), bare=True, initial_head="main")

    def commit(self, directories: Mapping[str, Mapping[str, str]], message: str) -> str:
        """Replace everything by these files of these directories; return the commit."""
        opened = self._opened
        root = opened.TreeBuilder()
        for name, files in directories.items():
            directory = opened.TreeBuilder()
            for file, content in files.items():
                blob = opened.create_blob(content.encode())
                directory.insert(file, blob, pygit2.enums.FileMode.BLOB)
            root.insert(name, directory.write(), pygit2.enums.FileMode.TREE)
        who = pygit2.Signature("Ann", "ann@example.com")
        parents = [] if opened.head_is_unborn else [opened.head.target]
        made = opened.create_commit("refs/heads/main", who, who, message, root.write(), parents)
        return str(made)


@dataclass(frozen=True, slots=True)
class Watched:
    """A controller that runs."""

    service: "service.Service"
    #: Looks at the repository at once.
    request_refresh: Callable[[], object]

    async def until_applications(
        self, number: int, holds: "Callable[[records.ApplicationRecord], bool]"
    ) -> None:
        """Wait until so many applications stand so; looks seldom, to cost little."""
        from volary.store import records

        found, filtered = 0, records.ApplicationFilter()
        for _ in range(2400):
            found, cursor = 0, ""
            while True:
                page = await self.service.store.applications.list(
                    filtered, cursor=cursor, limit=500
                )
                found += sum(map(holds, page.items))
                cursor = page.cursor
                if not cursor:
                    break
            if found == number:
                return
            await asyncio.sleep(0.5)
        raise RuntimeError(f"only {found} of {number} got there")

    async def until_ended(self, commit: str, number: int) -> list[float]:
        """Wait until so many runs to a commit have succeeded; return how long each took.

        Raises:
            RuntimeError: One did not.
        """
        found = await self._until_runs(commit, number, lambda each: each.finished is not None)
        return [
            (each.finished - each.started).total_seconds()
            for each in found
            if each.finished and each.started
        ]

    async def until_at(self, commit: str, number: int, stage: str) -> None:
        """Wait until so many runs to a commit are at a stage.

        Raises:
            RuntimeError: One has failed.
        """
        await self._until_runs(commit, number, lambda each: stage in each.reason)

    async def _until_runs(
        self, commit: str, number: int, holds: "Callable[[run_records.RunHead], bool]"
    ) -> "list[run_records.RunHead]":
        from volary.model import statuses
        from volary.store import records

        good = (
            statuses.RunStatus.PLANNED,
            statuses.RunStatus.RUNNING,
            statuses.RunStatus.SUCCEEDED,
        )
        found: list[run_records.RunHead] = []
        for _ in range(4800):
            found, cursor = [], ""
            while True:
                page = await self.service.store.runs.list(
                    records.RunFilter(commit=commit), cursor=cursor, limit=500
                )
                found += [each.head for each in page.items]
                cursor = page.cursor
                if not cursor:
                    break
            for each in found:
                if each.status not in good:
                    raise RuntimeError(f"{each.application}: {each.reason}")
            if sum(map(holds, found)) >= number:
                return found
            await asyncio.sleep(0.25)
        raise RuntimeError(f"only {len(found)} of {number} were begun, or did not get there")


@contextlib.asynccontextmanager
async def controller(
    fleet_file: Path, base: Path, *, providers: "Sequence[metric_providers.Provider]" = ()
) -> AsyncIterator[Watched]:
    """Run a controller on ``base/repository.git``, with a database beside it.

    Its lease lasts long: on a machine with too much to do it would else be lost now and then, and
    what is measured is work, not who does it.
    """
    from volary.config.fleet import fleet_files
    from volary.controller import composition
    from volary.controller.leadership import election
    from volary.gitops import watcher
    from volary.model import server_settings
    from volary.sources.git import mirrors

    class Clock:
        def now(self) -> datetime:
            return datetime.now(UTC)  # noqa: TID251 (here the clock is made)

    spec = server_settings.Repository("bench", str(base / "repository.git"), "main")
    settings = server_settings.Settings(
        str(fleet_file),
        str(base),
        f"sqlite:{base}/volary.db",
        repositories=(spec,),
        providers=tuple(providers),
    )
    members = fleet_files.parse(
        fleet_file.read_text(), file=str(fleet_file), directory=str(fleet_file.parent)
    ).require()
    async with mirrors.open_mirrors(base / "mirrors") as opened:
        pace = watcher.PollIntervals(gap=timedelta(seconds=0.1))
        watching = watcher.Watcher(settings, opened, pace=pace)
        parts = composition.ControllerParts(
            clock=Clock(),
            members=members,
            repositories=watcher.WatchedRepositories(settings, opened),
            watch=watching.watch,
            timing=election.LeaseTiming(ttl=timedelta(minutes=10)),
        )
        async with (
            composition.open_controller(settings, parts) as made,
            asyncio.TaskGroup() as group,
        ):
            running = group.create_task(made.run())
            yield Watched(made.service, lambda: watching.request_refresh("bench"))
            running.cancel()


@contextlib.contextmanager
def counting(
    owner: type[Any], method: str, name: Callable[..., str] = lambda *_args, **_named: ""
) -> Iterator[Counter[str]]:
    """Count the calls of a method of a class, by what `name` makes of their arguments."""
    real = getattr(owner, method)
    seen: Counter[str] = Counter()

    def counted(self: object, *arguments: object, **named: object) -> object:
        seen[name(*arguments, **named)] += 1
        return real(self, *arguments, **named)

    setattr(owner, method, counted)
    try:
        yield seen
    finally:
        setattr(owner, method, real)
