"""Connections and transactions, with what differs between the two databases.

SQLite has one writer at a time: here it is one connection, and its transactions take the
write lock when they begin, so none fails half-way because another process came first.
Readers have connections of their own and see the state as of their beginning (WAL). A database
in memory is one connection for everybody, and works in the event loop's own thread.
"""

import asyncio
import contextlib
import functools
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from volary.model import errors
from volary.store import unreadable
from volary.store.sql.database import (
    connection_queue,
    connections,
    error_translation,
    sqlite_connections,
)

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

#: Connections at once, besides the one for what is urgent.
_READERS, _WRITERS = 4, 3

#: SQLite's number for `auto_vacuum = INCREMENTAL`; a file of another origin has another one.
_INCREMENTAL = 2

#: Seconds between two tries to have a database file written ahead.
_WAL_PAUSE = 0.01

#: Pages given back in one transaction, 4 KiB each: others wait for it.
_PAGES = 2_000

#: Seconds for which writes that failed say that writes fail. Longer than a process that leads, or
#: tries to, is without any; one that stands by may have no other for long.
_FAILING = 15.0

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def finished(
    method: Callable[Parameters, Coroutine[Any, Any, Result]],
) -> Callable[Parameters, Coroutine[Any, Any, Result]]:
    """Let a method that makes a transaction come to its end, also when its caller is cancelled.

    SQLite's driver works in a thread: a cancelled wait leaves behind a statement that is still
    carried out, and with it a lock that nobody gives back. The wait is bounded by the limits
    of locks and connections.
    """

    @functools.wraps(method)
    async def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        # Held and awaited here, whatever happens, so that it cannot be collected.
        work = asyncio.create_task(method(*args, **kwargs))  # noqa: TID251
        cancelled: asyncio.CancelledError | None = None
        while not work.done():
            try:
                await asyncio.wait({work})
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled from work.exception()
        return work.result()

    return wrapped


class Database:
    """One database; close it at the end.

    Args:
        url: With the driver named, ``sqlite+aiosqlite:///…`` or ``postgresql+asyncpg://…``.
        busy: How long to wait for another process's lock, and for a connection.
    """

    def __init__(self, url: sa.URL, *, busy: timedelta) -> None:
        self.is_sqlite = url.get_backend_name() == "sqlite"
        #: Logs rows that cannot be read.
        self.set_aside = unreadable.SetAside()
        #: What the last write failed with, when, and how many did in a row.
        self._failure = errors.TemporaryError("")
        self._failed = 0.0
        self._failures = 0
        #: SQLite's file could not be written when it was tried last.
        self._is_read_only = False
        if self.is_sqlite and not url.database:
            self._writer = self._reader = _in_memory()
            _prepare_sqlite(self._writer, "BEGIN", busy)
            self._writing = self._urgently = connection_queue.ConnectionQueue(1)
        elif self.is_sqlite:
            self._writer = _sqlite(url, busy, size=1)
            self._reader = _sqlite(url, busy, size=_READERS)
            _prepare_sqlite(self._writer, "BEGIN IMMEDIATE", busy)
            _prepare_sqlite(self._reader, "BEGIN", busy)
            self._writing = self._urgently = connection_queue.ConnectionQueue(1)
        else:
            self._writer = self._reader = _postgres(url, busy)
            self._writing, self._urgently = (
                connection_queue.ConnectionQueue(_WRITERS),
                connection_queue.ConnectionQueue(1),
            )
        self._reading = (
            self._writing
            if self._reader is self._writer and self.is_sqlite
            else connection_queue.ConnectionQueue(_READERS)
        )

    @contextlib.asynccontextmanager
    async def reading(self) -> AsyncIterator[connections.Connection]:
        """Read at one moment: several queries see the same state."""
        with error_translation.translated():
            async with self._reading.turn(), self._reader.connect() as connection:
                if not self.is_sqlite:
                    await connection.use(
                        isolation_level="REPEATABLE READ", postgresql_readonly=True
                    )
                yield connection

    @contextlib.asynccontextmanager
    async def writing(self, *, urgent: bool = False) -> AsyncIterator[connections.Connection]:
        """Write all or nothing: committed at the end, rolled back by an exception.

        What is `urgent` goes before everything that waits.
        """
        try:
            with error_translation.translated():
                queue = self._urgently if urgent else self._writing
                async with queue.turn(urgent=urgent):
                    if self._is_read_only:
                        await self._reconnect()
                    async with self._writer.begin() as connection:
                        yield connection
        except errors.TemporaryError as error:
            self._failure, self._failed = error, time.monotonic()
            self._failures += 1
            # One in memory has no file, and is one connection, which must stay.
            has_file = self.is_sqlite and self._reader is not self._writer
            self._is_read_only = has_file and error_translation.is_read_only(error)
            raise
        self._failures = 0

    def check_writes(self) -> None:
        """Raise what the last two writes failed with, unless that was a while ago.

        Raises:
            errors.TemporaryError: The database is locked, full, read-only or gone.
        """
        # One alone may have come after another's: it is tried again.
        if self._failures > 1 and time.monotonic() - self._failed < _FAILING:
            raise errors.TemporaryError(str(self._failure))

    @finished
    async def rows(
        self, query: sa.Select[Any], values: Mapping[str, Any] | None = None
    ) -> Sequence[sa.Row[Any]]:
        """Return what a single query finds, with the values of its parameters."""
        async with self.reading() as connection:
            rows: Sequence[sa.Row[Any]] = (await connection.execute(query, values)).all()
            return rows

    async def row(
        self, query: sa.Select[Any], values: Mapping[str, Any] | None = None
    ) -> sa.Row[Any] | None:
        """Return the first row that a single query finds; None: it finds nothing."""
        return next(iter(await self.rows(query, values)), None)

    @finished
    async def give_back_space(self) -> None:
        """Shrink SQLite's file by its free pages; PostgreSQL does its own housekeeping."""
        if not self.is_sqlite:
            return
        with error_translation.translated():
            async with self._writing.turn(), self._writer.connect() as connection:
                driver = await connection.driver()
                # As a script: the driver would stop after the first page.
                while await _free_pages(driver):
                    await driver.executescript(f"PRAGMA incremental_vacuum({_PAGES})")
                await driver.executescript("PRAGMA wal_checkpoint(TRUNCATE)")

    async def _reconnect(self) -> None:
        """Close SQLite's connections; the caller has the writer's turn.

        One that was opened while its file was read-only stays so, and so do others beside it.
        """
        async with contextlib.AsyncExitStack() as readers:
            for _ in range(_READERS):
                await readers.enter_async_context(self._reading.turn(urgent=True))
            await self.close()
            self._is_read_only = False

    async def close(self) -> None:
        """Close every connection."""
        await self._writer.dispose()
        if self._reader is not self._writer:
            await self._reader.dispose()


def upsert(
    connection: connections.Connection, table: sa.Table, *, update: Sequence[str] | None = None
) -> "sqlite.Insert | postgresql.Insert":
    """Return an insert that changes the columns `update` of a row that is there already.

    None: all but its key. With nothing to update, a row that is there already stays as it is.
    """
    return _upsert(table, connection.dialect.name, None if update is None else tuple(update))


@functools.cache
def _upsert(
    table: sa.Table, dialect: str, update: tuple[str, ...] | None
) -> "sqlite.Insert | postgresql.Insert":
    """Make a statement once: that takes longer than sending it."""
    statement = _insert(table, dialect)
    keys = [column.name for column in table.primary_key.columns]
    if update is None:
        update = tuple(column.name for column in table.columns if not column.primary_key)
    if not update:
        # Whichever of its unique columns says that it is there.
        return statement.on_conflict_do_nothing()
    changes = {name: statement.excluded[name] for name in update}
    return statement.on_conflict_do_update(index_elements=keys, set_=changes)


def insert_once(
    connection: connections.Connection, table: sa.Table, *, key: str
) -> "sqlite.Insert | postgresql.Insert":
    """Return an insert that leaves alone a row that has the same value in a unique column."""
    statement = _insert(table, connection.dialect.name)
    return statement.on_conflict_do_nothing(index_elements=[key])


def _insert(table: sa.Table, dialect: str) -> "sqlite.Insert | postgresql.Insert":
    if dialect == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # a run from the command line has SQLite alone

    return postgresql.insert(table)


def _sqlite(url: sa.URL, busy: timedelta, *, size: int) -> connections.Engine:
    return connections.Engine(
        url,
        pool_size=size,
        max_overflow=0,
        # Longer than a lock is waited for: the one ahead of us may be waiting for it.
        pool_timeout=busy.total_seconds() * 4,
        driver=functools.partial(
            sqlite_connections.open_file, url.database, timeout=busy.total_seconds()
        ),
        hide_parameters=True,
    )


def _in_memory() -> connections.Engine:
    return connections.Engine(
        "sqlite+aiosqlite://",
        driver=sqlite_connections.open_memory,
        poolclass=sa.StaticPool,
        hide_parameters=True,
    )


def _prepare_sqlite(engine: connections.Engine, begin: str, busy: timedelta) -> None:
    """Set up each connection, and begin transactions ourselves: the driver begins too late."""

    @sa.event.listens_for(engine.sync, "connect")
    def connected(connection: Any, _: object) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        # Of a new file only: it would be written to, which a full disk or a lock does not let us.
        cursor.execute("PRAGMA page_count")
        if not cursor.fetchone()[0]:
            # Pages of deleted rows can then be given back.
            cursor.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _use_wal(connection, cursor, busy)
        # What was committed survives a power cut too.
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    @sa.event.listens_for(engine.sync, "begin")
    def begun(connection: sa.Connection) -> None:
        # In one call of the driver; what is compiled, and returns rows, takes four.
        adapted: Any = connection.connection.dbapi_connection
        adapted.run_async(lambda driver: driver.execute(begin))


def _use_wal(connection: Any, cursor: Any, busy: timedelta) -> None:
    """Have changes written ahead, which a database file remembers.

    SQLite does not wait for a lock to change this: of processes that start at once with a new
    file one does it, and the others are refused.
    """
    until = time.monotonic() + busy.total_seconds()
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() >= until:
                raise
        connection.run_async(lambda _: asyncio.sleep(_WAL_PAUSE))


def _postgres(url: sa.URL, busy: timedelta) -> connections.Engine:
    seconds = busy.total_seconds()
    return connections.Engine(
        url,
        pool_size=_READERS,
        max_overflow=_WRITERS + 1,
        pool_timeout=seconds * 4,
        hide_parameters=True,
        connect_args={
            "timeout": seconds * 2,
            "command_timeout": 60.0,
            "server_settings": {
                "application_name": "volary",
                "lock_timeout": str(int(seconds * 1000)),
                # A process that stands still in mid-transaction must not hold the rows for ever.
                "idle_in_transaction_session_timeout": "60000",
            },
        },
    )


async def _free_pages(driver: Any) -> int:
    """Return how many pages SQLite's file could do without; 0 when it cannot shrink."""
    [[mode]] = await driver.execute_fetchall("PRAGMA auto_vacuum")
    [[pages]] = await driver.execute_fetchall("PRAGMA freelist_count")
    return int(pages) if mode == _INCREMENTAL else 0
