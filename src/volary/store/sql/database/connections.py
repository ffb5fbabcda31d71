"""SQLAlchemy's connections for asyncio, without its mapper of objects.

`sqlalchemy.ext.asyncio` imports the whole of the mapper, of which nothing here makes use: a
twentieth of all that a command takes to start.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, TypeVar, TypeVarTuple

import sqlalchemy as sa
from sqlalchemy import util

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")
Values = Mapping[str, Any] | Sequence[Mapping[str, Any]]


class Connection:
    """A connection of `Engine`, which carries statements out beside other work."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    @property
    def dialect(self) -> sa.Dialect:
        """How this database speaks SQL."""
        return self._connection.dialect

    async def execute(
        self, statement: sa.Executable, values: Values | None = None
    ) -> sa.CursorResult[Any]:
        """Carry a statement out, once for each of several values; all its rows are there then."""
        return await util.greenlet_spawn(self._connection.execute, statement, values)

    async def run_sync(
        self,
        work: Callable[[sa.Connection, *Arguments], Result],
        *arguments: *Arguments,
    ) -> Result:
        """Have `work` done with a connection that looks as if it did not wait."""
        return await util.greenlet_spawn(work, self._connection, *arguments)

    async def use(self, **options: Any) -> None:
        """Set what SQLAlchemy calls execution options, for as long as the connection is used."""
        await util.greenlet_spawn(lambda: self._connection.execution_options(**options))

    async def driver(self) -> Any:
        """Return the driver's own connection."""
        raw = await util.greenlet_spawn(lambda: self._connection.connection)
        if raw.driver_connection is None:
            raise AssertionError("the pool gave out a closed connection")
        return raw.driver_connection


class Engine:
    """A pool of connections.

    Args:
        url: With an asynchronous driver named.
        driver: Opens a connection of that driver; None: as the URL says.
        options: Those of `sqlalchemy.create_engine`.
    """

    def __init__(
        self, url: sa.URL | str, *, driver: Callable[..., Any] | None = None, **options: Any
    ) -> None:
        if driver is not None:
            options["creator"] = lambda: self.sync.dialect.loaded_dbapi.connect(
                async_creator_fn=driver
            )
        #: The pool as those see it who do not wait: its events are SQLAlchemy's.
        self.sync: sa.Engine = sa.create_engine(url, **options)

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncIterator[Connection]:
        """Take a connection; what is not committed at the end is rolled back."""
        connection = await util.greenlet_spawn(self.sync.connect)
        try:
            yield Connection(connection)
        finally:
            # To its end, also when the caller is cancelled: nobody else gives it back.
            closing = util.greenlet_spawn(connection.close)
            await asyncio.shield(asyncio.create_task(closing))  # noqa: TID251

    @contextlib.asynccontextmanager
    async def begin(self) -> AsyncIterator[Connection]:
        """Take a connection with a transaction: committed at the end, or rolled back."""
        async with self.connect() as connection:
            transaction = await connection.run_sync(sa.Connection.begin)
            try:
                yield connection
                await util.greenlet_spawn(transaction.commit)
            except BaseException:
                await util.greenlet_spawn(transaction.rollback)
                raise

    async def dispose(self) -> None:
        """Close every connection."""
        await util.greenlet_spawn(self.sync.dispose)
