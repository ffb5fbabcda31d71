"""The repository of simulated worlds: read from disk, its branch moved by hand."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from volary.config.application import application_files
from volary.controller import inputs
from volary.gitops import repository_state
from volary.model import errors
from volary.sources import application_discovery
from volary.sources.git import repositories

#: Its name in the settings.
NAME = "shop"
#: Seconds for which a commit is there after the branch has left it, whoever keeps it.
_GRACE = 20.0


@dataclass
class Source:
    """A repository on disk, and what its commits say, which is read once for all worlds."""

    path: Path
    commits: Sequence[str]
    _said: dict[str, repository_state.RepositoryState] = field(default_factory=dict)
    _opened: repositories.Repository | None = None

    async def open(self) -> repositories.Repository:
        if self._opened is None:
            self._opened = await repositories.open_repository(str(self.path))
        return self._opened

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


class Mirror:
    """An opened repository, without the commits that are lost."""

    def __init__(self, real: repositories.Repository, lost: Collection[str]) -> None:
        self._real, self._lost = real, lost

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def resolve(self, revision: str = "HEAD") -> repositories.Commit:
        return await self._real.resolve(self._there(revision))

    async def tree(self, commit: str) -> repositories.GitTree:
        return await self._real.tree(self._there(commit))

    async def changed_paths(self, old: str, new: str) -> tuple[str, ...]:
        return await self._real.changed_paths(self._there(old), self._there(new))

    def _there(self, commit: str) -> str:
        if commit in self._lost:
            raise errors.user_error(f"there is no commit {commit}")
        return commit


@dataclass
class Feed:
    """A repository with commits made beforehand; each push makes the next one the head.

    Its history may be rewritten and its garbage collected: then commits are lost that are not the
    head, unless they are kept.
    """

    source: "Source"
    now: Callable[[], float]
    #: Names of those that there are in this world.
    applications: Collection[str]
    at: int = 0
    lost: set[str] = field(default_factory=set)
    _kept: dict[str, frozenset[str]] = field(default_factory=dict)
    #: Since when commits are not the head any more.
    _left: dict[str, float] = field(default_factory=dict)

    @property
    def commits(self) -> Sequence[str]:
        return self.source.commits

    @property
    def head(self) -> str:
        return self.commits[self.at]

    def push(self) -> bool:
        """Make the next commit the head; False: there is none."""
        if self.at + 1 == len(self.commits):
            return False
        self._left[self.head] = self.now()
        self.at += 1
        return True

    def collect(self) -> frozenset[str]:
        """Rewrite the history but for the head, collect the garbage, and say what is lost by it."""
        kept = frozenset().union(*self._kept.values())
        old = {commit for commit, since in self._left.items() if self.now() - since > _GRACE}
        gone = frozenset(old - kept - self.lost)
        self.lost |= gone
        return gone

    async def repository(self, name: str) -> repositories.Repository:
        return cast("repositories.Repository", Mirror(await self.source.open(), self.lost))

    async def fetch_head(self, name: str) -> str:
        return self.head

    async def find(self, name: str, revision: str) -> str:
        raise errors.user_error(f"{name} has nothing called {revision}")

    async def keep(
        self, name: str, holder: str, commits: Collection[str], *, exclusively: bool
    ) -> None:
        there = frozenset(commits) - self.lost
        before = frozenset() if exclusively else self._kept.get(holder, frozenset())
        self._kept[holder] = before | there

    async def _look(self, commit: str) -> repository_state.RepositoryState:
        said = await self.source.look(commit)
        there = tuple(one for one in said.applications if one.name in self.applications)
        return replace(said, applications=there)

    async def watch(self, on_change: inputs.OnSeen) -> None:
        last = ""
        while True:
            if self.head != last:
                last = self.head
                await on_change(await self._look(last))
            await asyncio.sleep(5)
