"""A repository on this machine as the controller sees it: opened, and looked at often."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from volary.config.application import application_files
from volary.controller import inputs
from volary.gitops import repository_state
from volary.model import errors
from volary.sources import application_discovery
from volary.sources.git import repositories

NAME = "shop"


@dataclass
class Feed:
    """Repositories and a watch for one local repository."""

    path: Path
    #: What the settings call it.
    name: str = NAME
    interval: float = 0.05
    #: How often it was looked at.
    looks: int = 0
    told: list[str] = field(default_factory=list)

    async def repository(self, name: str) -> repositories.Repository:
        if name != self.name:
            raise errors.user_error(f"there is no repository {name}")
        return await repositories.open_repository(str(self.path))

    async def fetch_head(self, name: str) -> str:
        return (await (await self.repository(name)).resolve("main")).id

    async def find(self, name: str, revision: str) -> str:
        return (await (await self.repository(name)).resolve(revision)).id

    async def keep(
        self, name: str, holder: str, commits: Collection[str], *, exclusively: bool
    ) -> None:
        """Nothing is ever collected here."""

    async def watch(self, on_change: inputs.OnSeen) -> None:
        last = ""
        while True:
            head = await self.fetch_head(self.name)
            self.looks += 1
            if head != last:
                found = await self.look()
                assert found.head is not None
                last = found.head.id
                await on_change(found)
                self.told.append(last)
            await asyncio.sleep(self.interval)

    async def look(self) -> repository_state.RepositoryState:
        opened = await repositories.open_repository(str(self.path))
        head = await opened.resolve("main")
        files = await opened.tree(head.id)
        found = []
        for each in application_discovery.find(files):
            text = files.read(each.path).decode()
            loaded = application_files.parse(
                text,
                file=each.path,
                default_name="app",
                directory=each.directory,
                neighbours=application_discovery.sibling_files(files, each.path),
            )
            name = loaded.application.name if loaded.application else "app"
            found.append(
                repository_state.DiscoveredApplication(
                    name, self.name, each.path, head.id, loaded.application, loaded.problems
                )
            )
        return repository_state.RepositoryState(self.name, "main", head, tuple(found))
