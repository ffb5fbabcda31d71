"""Letters on their way, and where they survive a restart."""

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from volary.model import json


class Letter(msgspec.Struct, frozen=True):
    """One delivery to one receiver."""

    #: Unique; receivers can tell repetitions by it.
    id: str
    receiver: str
    body: json.JsonObject
    #: A newer letter of the same topic takes the place of one that waits; empty: it does not.
    topic: str = ""
    #: Said below the topic's message, so that it reaches people; such a letter has no body.
    reply: str = ""


class Contents(msgspec.Struct, frozen=True):
    """What is kept."""

    #: Not delivered yet, in order.
    letters: tuple[Letter, ...] = ()
    #: By receiver and topic, where the message is that can be edited.
    places: dict[str, str] = msgspec.field(default_factory=dict)


class Outbox(Protocol):
    """Keeps what is on its way. Nothing here may fail a run: errors are logged."""

    async def load(self) -> Contents:
        """Return what was saved last; nothing when there is nothing to be read.

        Raises:
            OSError: It cannot be read now.
        """
        ...

    async def save(self, contents: Contents) -> None:
        """Keep `contents` in the place of what was there.

        Raises:
            OSError: It cannot be written now.
        """
        ...


@dataclass(slots=True)
class MemoryOutbox:
    """Forgets at the end of the process."""

    contents: Contents = field(default_factory=Contents)

    async def load(self) -> Contents:
        """Return what was saved last."""
        return self.contents

    async def save(self, contents: Contents) -> None:
        """Keep it."""
        self.contents = contents


@dataclass(frozen=True, slots=True)
class FileOutbox:
    """One file, readable by its owner only, replaced as a whole."""

    path: Path

    async def load(self) -> Contents:
        """Return what was saved last; a file that cannot be understood counts as none."""
        return await asyncio.to_thread(self._read)

    async def save(self, contents: Contents) -> None:
        """Replace the file."""
        await asyncio.to_thread(self._write, msgspec.json.encode(contents))

    def _read(self) -> Contents:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=Contents)
        except (FileNotFoundError, msgspec.MsgspecError):
            return Contents()

    def _write(self, data: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_name(f"{self.path.name}.new")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        beside.replace(self.path)
