"""The repository of simulated worlds: read from disk, its branch moved by hand."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from volary.config.application import application_files
from volary.controller import inputs
from volary.gitops import repository_state
from volary.sources import application_discovery
from volary.sources.git import repositories

#: Its name in the settings.
NAME = "shop"


@dataclass
class Source:
    """A repository on disk, and what its commits say, which is read once for all worlds."""

    path: Path
    commits: Sequence[str]
    _said: dict[str, repository_state.RepositoryState] = field(default_factory=dict)

    async def open(self) -> repositories.Repository:
        return await repositories.open_repository(str(self.path))

    async def look(self, commit: str) -> repository_state.RepositoryState:
        if commit not in self._said:
            self._said[commit] = await self._look(commit)
        return self._said[commit]

    async def _look(self, commit: str) -> repository_state.RepositoryState:
        opened = await self.open()
        found, files = [], await opened.tree(commit)
        for one in application_discovery.find(files):
            loaded = application_files.parse(
                files.read(one.path).decode(),
                file=one.path,
                default_name="app",
                directory=one.directory,
            )
            assert loaded.application is not None, loaded.problems
            found.append(
                repository_state.DiscoveredApplication(
                    loaded.application.name, NAME, one.path, commit, loaded.application
                )
            )
        return repository_state.RepositoryState(
            NAME, "main", await opened.resolve(commit), tuple(found)
        )


@dataclass
class Feed:
    """A repository with commits made beforehand; each push makes the next one the head."""

    source: "Source"
    at: int = 0

    @property
    def commits(self) -> Sequence[str]:
        return self.source.commits

    @property
    def head(self) -> str:
        return self.commits[self.at]

    def push(self) -> bool:
        """Make the next commit the head; False: there is none."""
        is_new = self.at + 1 < len(self.commits)
        self.at += is_new
        return is_new

    async def repository(self, name: str) -> repositories.Repository:
        return await self.source.open()

    async def fetch_head(self, name: str) -> str:
        return self.head

    async def keep(
        self, name: str, holder: str, commits: Collection[str], *, exclusively: bool
    ) -> None:
        """Nothing is ever lost here."""

    async def watch(self, on_change: inputs.OnSeen) -> None:
        last = ""
        while True:
            if self.head != last:
                last = self.head
                await on_change(await self.source.look(last))
            await asyncio.sleep(5)
