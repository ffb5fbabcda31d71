"""A repository on this machine as the controller sees it: opened, and looked at often."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from volary.config import application as application_files
from volary.controller import inputs
from volary.gitops import seen
from volary.model import errors
from volary.sources import applications as found_files
from volary.sources import repository as source_repository

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

    async def repository(self, name: str) -> source_repository.Repository:
        if name != self.name:
            raise errors.user_error(f"there is no repository {name}")
        return await source_repository.open_repository(str(self.path))

    async def watch(self, on_seen: inputs.OnSeen) -> None:
        last = ""
        while True:
            found = await self.look()
            self.looks += 1
            if found.head is not None and found.head.id != last:
                last = found.head.id
                await on_seen(found)
                self.told.append(last)
            await asyncio.sleep(self.interval)

    async def look(self) -> seen.RepositorySeen:
        opened = await source_repository.open_repository(str(self.path))
        head = await opened.resolve("main")
        files = await opened.tree(head.id)
        found = []
        for each in found_files.find(files):
            text = files.read(each.path).decode()
            loaded = application_files.parse(
                text,
                file=each.path,
                default_name="app",
                directory=each.directory,
                neighbours=found_files.neighbours(files, each.path),
            )
            name = loaded.application.name if loaded.application else "app"
            found.append(
                seen.FoundApplication(
                    name, self.name, each.path, head.id, loaded.application, loaded.problems
                )
            )
        return seen.RepositorySeen(self.name, "main", head, tuple(found))
