"""Controllers as real processes that can be killed at any moment."""

import asyncio
import contextlib
import os
import signal
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import sqlalchemy
import sqlalchemy.event
import sqlalchemy.pool

import git_feed
import process_time
import warm_processes
from controller_world import BACKOFF, QUICK, parts_of, settings_of
from volary.controller import composition, inputs


async def _run(owner: str, store: str, repository: str, fleet: str, lease: str) -> None:
    fleet_file, feed = Path(fleet), git_feed.Feed(Path(repository))
    parts = parts_of(
        feed,
        fleet_file,
        owner=owner,
        timing=replace(QUICK, ttl=timedelta(seconds=float(lease))),
        rules=inputs.Rules(backoff=BACKOFF, look=timedelta(seconds=0.05)),
    )
    async with composition.open_controller(settings_of(store, fleet_file), parts) as made:
        await made.run()


def run_one_step(owner: str, store: str, repository: str, fleet: str, lease: str) -> None:
    """Be a controller that dies as soon as it has kept a state of the runs that is new.

    States that an earlier one died at do not count, nor does progress within a stage: on a slow
    machine all would die before a stage is done.
    """
    database = store.removeprefix("sqlite:")
    deaths = Path(f"{database}.deaths")
    deaths.touch()
    known = set(deaths.read_text().splitlines())

    def give_back(*_: Any) -> None:
        with contextlib.closing(sqlite3.connect(database)) as connection:
            statuses = connection.execute(_STATUSES).fetchall()
        state = repr(statuses)
        if not known:
            # As it was before the first of them.
            known.add(state)
            deaths.write_text(f"{state}\n")
        elif state not in known:
            deaths.write_text("".join(f"{one}\n" for one in (*known, state)))
            os.kill(os.getpid(), signal.SIGKILL)

    # A connection is given back when its transaction was committed.
    sqlalchemy.event.listen(sqlalchemy.pool.Pool, "checkin", give_back)
    run(owner, store, repository, fleet, lease)


_STATUSES = """
select 'run', id, '', status from runs
union all select run_id, stage, target, status from tasks
order by 1, 2, 3
"""


def run_to_commit(
    owner: str, store: str, repository: str, fleet: str, lease: str, query: str, least: str
) -> None:
    """Be a controller that dies at the commit after which `query` counts so many.

    The database has its schema already.
    """

    def give_back(*_: Any) -> None:
        with contextlib.closing(sqlite3.connect(store.removeprefix("sqlite:"))) as connection:
            if connection.execute(query).fetchone()[0] >= int(least):
                os.kill(os.getpid(), signal.SIGKILL)

    sqlalchemy.event.listen(sqlalchemy.pool.Pool, "checkin", give_back)
    run(owner, store, repository, fleet, lease)


def run(owner: str, store: str, repository: str, fleet: str, lease: str) -> None:
    """Be a controller until the end."""
    # What it says at its end, when it is told to end gracefully, is of no interest.
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_run(owner, store, repository, fleet, lease))


@dataclass
class ControllerProcesses:
    """Makes controllers for one database."""

    #: The file of SQLite, or the address of a server.
    database: Path | str
    repository: Path
    fleet: str
    #: Seconds. By itself longer than a busy machine keeps a process waiting; whoever has the same
    #: name gets it at once.
    lease: float = process_time.HANG

    @property
    def address(self) -> str:
        """The address of the store."""
        return f"sqlite:{self.database}" if isinstance(self.database, Path) else self.database

    def _words(self, owner: str = "the only one") -> tuple[str, ...]:
        return owner, self.address, str(self.repository), self.fleet, str(self.lease)

    @contextlib.asynccontextmanager
    async def started(self, owner: str = "the only one") -> AsyncIterator[int]:
        """A controller, by its process number; it is killed at the end of the block."""
        words = self._words(owner)
        async with warm_processes.call("controller_process:run", *words) as process:
            yield process.pid

    @contextlib.asynccontextmanager
    async def started_for_one_step(self) -> AsyncIterator[warm_processes.Process]:
        """A controller that dies when it has kept a step, at the latest at the end of the block."""
        words = self._words()
        async with warm_processes.call("controller_process:run_one_step", *words) as process:
            yield process

    async def run_until(self, query: str, least: int) -> None:
        """A controller that kills itself at the commit after which `query` counts so many."""
        words = *self._words(), query, str(least)
        async with warm_processes.call("controller_process:run_to_commit", *words) as process:
            assert await process.wait() == -signal.SIGKILL

    def ask(self, query: str, *arguments: object) -> list[Any]:
        """Look into the database; nothing when it is not there yet."""
        if not isinstance(self.database, Path) or not self.database.exists():
            return []
        with contextlib.closing(sqlite3.connect(self.database, timeout=5)) as connection:
            try:
                return connection.execute(query, arguments).fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" not in str(error):
                    raise
                return []


async def stop_between_writes(controllers: ControllerProcesses, process: int) -> None:
    """Have a process stand still while it holds no lock of the database."""
    while True:
        os.kill(process, signal.SIGSTOP)
        with (
            contextlib.closing(sqlite3.connect(controllers.database, timeout=0.3)) as connection,
            contextlib.suppress(sqlite3.OperationalError),
        ):
            connection.execute("begin immediate")
            connection.rollback()
            return
        os.kill(process, signal.SIGCONT)
        await asyncio.sleep(0.01)
