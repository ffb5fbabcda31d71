"""Processes whose wall clock is set while they run, by libfaketime.

Only that clock: the ones that count how long something takes go on evenly, as on a machine whose
clock is set.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import command_world

_LIBRARIES = "usr/lib/*/faketime/libfaketimeMT.so.1"
#: Lines of a log may be long, and nobody reads it for a while.
_LIMIT = 1 << 22


def library() -> Path | None:
    """Return the library of Debian's package `faketime`; None: it is not installed."""
    return next(Path("/").glob(_LIBRARIES), None)


@dataclass(frozen=True, slots=True)
class SetClock:
    """The wall clock of some processes; `by` says how far it is from the machine's."""

    file: Path

    def set(self, by: timedelta) -> None:
        """Set it, also for those that run: they see it within two seconds."""
        new = self.file.with_suffix(".new")
        new.write_text(f"{by.total_seconds():+.0f}\n")
        new.replace(self.file)

    @contextlib.asynccontextmanager
    async def start(
        self, world: command_world.World, *words: str
    ) -> AsyncIterator[command_world.Started]:
        """Run ``volary …`` by this clock; it is killed at the end of the block."""
        found = library()
        assert found is not None
        environment = {
            **world.environment,
            "LD_PRELOAD": str(found),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            # Read once a second. Each time the clock is looked at would be too often: threads
            # that wait for their turn do so all the time, and a slow machine gets to nothing else.
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "volary", *words),
            cwd=world.directory,
            env=environment,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            limit=_LIMIT,
        )
        try:
            yield command_world.Started(process)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.communicate()
