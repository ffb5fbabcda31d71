"""The database of simulated worlds: in memory, opened once, empty at the beginning of each world.

What SQLAlchemy compiled for one world serves the next: with that a world takes half the time.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from volary.store import factory
from volary.store.sql.database import connection_queue, database
from volary.store.sql.schema import tables


@dataclass(frozen=True, slots=True)
class Fault:
    """What a database may say to whoever writes, until somebody mends it."""

    #: The name of SQLite's result code, or an SQLSTATE of PostgreSQL.
    code: str
    sentence: str
    #: SQLite's number of it; None: PostgreSQL says it.
    number: int | None = None

    def error(self) -> sqlite3.OperationalError:
        """Return the driver's error, with what tells drivers' errors from one another."""
        error: Any = sqlite3.OperationalError(self.sentence)
        if self.number is None:
            error.sqlstate = self.code
        else:
            error.sqlite_errorname, error.sqlite_errorcode = self.code, self.number
        found: sqlite3.OperationalError = error
        return found


FAULTS = (
    Fault("SQLITE_FULL", "database or disk is full", sqlite3.SQLITE_FULL),
    Fault("SQLITE_READONLY", "attempt to write a readonly database", sqlite3.SQLITE_READONLY),
    Fault("SQLITE_IOERR_WRITE", "disk I/O error", sqlite3.SQLITE_IOERR_WRITE),
    Fault("53100", "could not extend file: No space left on device"),
    Fault("58030", "could not write block: Input/output error"),
)
_WRITES = ("INSERT", "UPDATE", "DELETE")


class Disk:
    """What the database writes to; while it has a fault, nothing is written."""

    def __init__(self) -> None:
        #: One of `FAULTS`; None: it works.
        self.fault: Fault | None = None
        #: Whether it is said at the commit, and not before.
        self.is_noticed_late = False

    def watch(self, driver: Any) -> None:
        """Stand between a driver's connection and what carries out its calls."""
        queue, put = driver._tx, driver._tx.put_nowait

        def checked(work: tuple[Any, Callable[[], Any]]) -> None:
            future, call = work
            put((future, partial(self._carry_out, call)))

        queue.put_nowait = checked

    def _carry_out(self, call: Any) -> Any:
        if self.fault is not None:
            concerns = _commits if self.is_noticed_late else _writes
            if concerns(call):
                raise self.fault.error()
        return call()


def _commits(call: Any) -> bool:
    return isinstance(call, partial) and getattr(call.func, "__name__", "") == "commit"


def _writes(call: Any) -> bool:
    statement = call.args[0] if isinstance(call, partial) and call.args else ""
    return isinstance(statement, str) and statement.lstrip().startswith(_WRITES)


class Databases:
    """Lends its database to one world after another."""

    def __init__(self) -> None:
        self.disk = Disk()
        self._free: database.Database | None = None
        self._empty: sqlite3.Connection | None = None

    async def take(self) -> database.Database:
        """Return an empty database."""
        base, self._free = self._free, None
        if base is None:
            base = _opened()
            self.disk.watch(await _driver_of(base))
        self.disk.fault = None
        # Its waiting places belong to an event loop.
        base._writing = base._urgently = base._reading = connection_queue.ConnectionQueue(1)
        if self._empty is None:
            async with base.writing() as connection:
                await connection.run_sync(tables.METADATA.create_all)
            self._empty = sqlite3.connect(":memory:")
            (await _connection_of(base)).backup(self._empty)
        else:
            self._empty.backup(await _connection_of(base))
        return base

    def give_back(self, base: database.Database) -> None:
        """Take back a database that nobody uses any more."""
        self._free = base


def _opened() -> database.Database:
    return database.Database(factory.parse("memory:"), busy=timedelta(seconds=5))


async def _driver_of(base: database.Database) -> Any:
    async with base._writer.connect() as connection:
        return await connection.driver()


async def _connection_of(base: database.Database) -> sqlite3.Connection:
    found: sqlite3.Connection = (await _driver_of(base))._conn
    return found


#: Of this process.
DATABASES = Databases()
