"""Controllers as real processes that can be killed at any moment.

Run as a program it is a *nursery*: it has imported everything once, and makes a controller in
a process of its own for each line it reads, within milliseconds.
"""

import asyncio
import contextlib
import functools
import importlib
import json
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import git_feed
from controller_world import QUICK, parts_of, settings_of
from volary.controller import inputs, server_loop


async def _drive(wanted: dict[str, str]) -> None:
    fleet_file, feed = Path(wanted["fleet"]), git_feed.Feed(Path(wanted["repository"]))
    parts = parts_of(
        feed,
        fleet_file,
        owner=wanted["owner"],
        timing=QUICK,
        rules=inputs.Rules(first_delay=0.2, look=timedelta(seconds=0.05)),
    )
    async with server_loop.open_controller(settings_of(wanted["store"], fleet_file), parts) as made:
        await made.run()


def _bear(line: str) -> int:
    """Make a controller in a process of its own and return its number."""
    child = os.fork()
    if child == 0:
        # What it says at its end, when it is told to end politely, is of no interest.
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_drive(json.loads(line)))
        os._exit(0)
    return child


@dataclass
class Nursery:
    """Makes controllers for one database."""

    process: asyncio.subprocess.Process
    #: The file of SQLite, or the address of a server.
    database: Path | str
    repository: Path
    fleet: str

    @property
    def address(self) -> str:
        """The address of the store."""
        return f"sqlite:{self.database}" if isinstance(self.database, Path) else self.database

    async def start(self, owner: str = "the only one") -> int:
        """Start a controller and return its process number."""
        wanted = {
            "owner": owner,
            "store": self.address,
            "repository": str(self.repository),
            "fleet": self.fleet,
        }
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(wanted).encode() + b"\n")
        line = await self.process.stdout.readline()
        return int(line)

    @contextlib.asynccontextmanager
    async def life(self, owner: str = "the only one") -> AsyncIterator[int]:
        """A controller that is killed with SIGKILL at the end of the block."""
        process = await self.start(owner)
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            await self.gone(process)

    async def gone(self, process: int) -> None:
        """Wait until a process is no more."""
        async with asyncio.timeout(10):
            with contextlib.suppress(ProcessLookupError):
                while True:
                    os.kill(process, 0)
                    await asyncio.sleep(0.002)

    def ask(self, query: str, *arguments: object) -> list[Any]:
        """Look into the database; nothing when it is not there yet."""
        if not isinstance(self.database, Path) or not self.database.exists():
            return []
        with contextlib.closing(sqlite3.connect(self.database, timeout=5)) as connection:
            try:
                return connection.execute(query, arguments).fetchall()
            except sqlite3.OperationalError:
                return []


@contextlib.asynccontextmanager
async def nursery() -> AsyncIterator[Callable[[Path, Path, str], Nursery]]:
    """Start the process; what is given makes a nursery for a database, repository and fleet."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        __file__,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield functools.partial(Nursery, process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


if __name__ == "__main__":
    for late in ("aiosqlite", "alembic.command", "alembic.ddl.sqlite", "encodings.utf_8_sig"):
        importlib.import_module(late)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for said in sys.stdin:
        sys.stdout.write(f"{_bear(said)}\n")
        sys.stdout.flush()
