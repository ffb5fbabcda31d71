"""A connection to a database in memory, without a thread.

Nothing there waits for a disk or a lock, so a statement is carried out where it is sent. To tests
in virtual time it takes no time at all.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any

import aiosqlite

#: Rows that a cursor takes at once.
_ROWS = 64


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


async def connect() -> aiosqlite.Connection:
    """Return a connection to a new database."""
    connection = aiosqlite.Connection(lambda: sqlite3.connect(":memory:"), _ROWS)
    connection._tx = _NoThread()  # type: ignore[assignment]
    return await connection._connect()
