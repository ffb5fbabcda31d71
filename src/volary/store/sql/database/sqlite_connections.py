"""SQLite's connections as SQLAlchemy's driver for asyncio wants them: one step for each statement.

aiosqlite gives each call to the thread of its connection, and waits for the thread's word. Opening
a cursor, executing, fetching and closing are four calls, which take longer than what they do: a
small query is carried out in a few microseconds. Here they are one, whose rows come back with it.

What is in memory waits for no disk and no lock: its statements are carried out where they are
sent, without a thread, and take no time at all to tests in virtual time.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable
from typing import Any, Self

import aiosqlite

#: Rows that a cursor of aiosqlite's own takes at once.
_ROWS = 64


class Cursor:
    """A cursor of `Connection`: all rows of a statement are read with it."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self._rows: list[Any] = []
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid: int | None = None

    async def __aenter__(self) -> Self:
        return self

    async def execute(self, statement: str, parameters: Iterable[Any] = ()) -> Self:
        """Carry a statement out, and read what it finds; raises what SQLite does."""
        await self._connection.carry_out(self._execute, statement, parameters)
        return self

    async def executemany(self, statement: str, parameters: Iterable[Iterable[Any]]) -> Self:
        """Carry a statement out for several values; raises what SQLite does."""
        await self._connection.carry_out(self._execute_many, statement, parameters)
        return self

    async def fetchall(self) -> list[Any]:
        """Return the rows that were read; nothing is left of them."""
        found, self._rows = self._rows, []
        return found

    async def close(self) -> None:
        """Nothing: the database's cursor was closed when its rows were read."""

    # In the thread of the connection.

    def _execute(
        self, database: sqlite3.Connection, statement: str, parameters: Iterable[Any]
    ) -> None:
        self._read(database.execute(statement, parameters))  # type: ignore[arg-type]

    def _execute_many(
        self, database: sqlite3.Connection, statement: str, parameters: Iterable[Iterable[Any]]
    ) -> None:
        self._read(database.executemany(statement, parameters))  # type: ignore[arg-type]

    def _read(self, cursor: sqlite3.Cursor) -> None:
        try:
            self.description = cursor.description
            self._rows = cursor.fetchall()
            self.rowcount, self.lastrowid = cursor.rowcount, cursor.lastrowid
        finally:
            cursor.close()


class Connection(aiosqlite.Connection):
    """A connection whose cursors take one step for each statement."""

    def cursor(self) -> Cursor:  # type: ignore[override]
        """Return a cursor; opening it asks for nothing."""
        return Cursor(self)

    async def carry_out(self, work: Callable[..., None], *values: Any) -> None:
        """Have `work` done with SQLite's own connection, in the connection's thread."""
        await self._execute(work, self._conn, *values)  # type: ignore[no-untyped-call]

    async def rollback(self) -> None:
        """Roll back the current transaction, where there is one."""
        if self.in_transaction:
            await super().rollback()


class _NoThread:
    """Carries out at once what aiosqlite queues for its thread."""

    def put_nowait(self, work: tuple[asyncio.Future[Any] | None, Callable[[], Any]]) -> None:
        future, function = work
        try:
            result = function()
        except Exception as error:  # noqa: BLE001 (raised where the future is awaited)
            if future is not None:
                future.set_exception(error)
        else:
            if future is not None:
                future.set_result(result)


def open_file(*arguments: Any, **options: Any) -> Connection:
    """Return a connection to a database file, to be awaited; takes what `sqlite3.connect` does."""
    connection = Connection(lambda: sqlite3.connect(*arguments, **options), _ROWS)
    # A process may end though nobody closed it.
    connection._thread.daemon = True
    return connection


async def open_memory(*_: Any, **__: Any) -> Connection:
    """Return a connection to a new database in memory."""
    connection = Connection(lambda: sqlite3.connect(":memory:"), _ROWS)
    connection._tx = _NoThread()  # type: ignore[assignment]
    await connection._connect()
    return connection
