"""The database of simulated worlds: in memory, opened once, empty at the beginning of each world.

What SQLAlchemy compiled for one world serves the next: with that a world takes half the time.
"""

import sqlite3
from datetime import timedelta
from typing import Any

from volary.store import factory
from volary.store.sql.database import connection_queue, database
from volary.store.sql.schema import tables


class Databases:
    """Lends its database to one world after another."""

    def __init__(self) -> None:
        self._free: database.Database | None = None
        self._empty: sqlite3.Connection | None = None

    async def take(self) -> database.Database:
        """Return an empty database."""
        base, self._free = self._free or _opened(), None
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


async def _connection_of(base: database.Database) -> sqlite3.Connection:
    async with base._writer.connect() as connection:
        driver: Any = (await connection.get_raw_connection()).driver_connection
        found: sqlite3.Connection = driver._conn
        return found


#: Of this process.
DATABASES = Databases()
