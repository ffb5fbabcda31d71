"""Notifications that are not delivered yet, in a database."""

from collections.abc import Collection, Sequence

import sqlalchemy as sa

from volary.model.runs import run_records
from volary.store.sql.database import connections, database
from volary.store.sql.schema import fences, rows, tables

#: Ids in one statement.
_MOST = 500

_WAITING = sa.select(tables.notifications).order_by(tables.notifications.c.position)


class Notifications:
    """What receivers have not got yet; steps of runs put theirs here in their own transaction."""

    def __init__(self, base: database.Database) -> None:
        self._base = base

    async def waiting(self) -> tuple[run_records.OutboxMessage, ...]:
        """Return what is not delivered yet, in the order in which it was kept.

        What cannot be read is left where it is, and delivered to nobody.
        """
        kept = await self._base.rows(_WAITING)
        return rows.read_all(run_records.OutboxMessage, kept, self._base.set_aside)

    @database.finished
    async def change(
        self,
        added: Sequence[run_records.OutboxMessage],
        removed: Collection[str],
        *,
        fence: run_records.Fence | None,
    ) -> None:
        """Keep some more, unless they are there, and drop others by their ids."""
        dropped = sorted(removed)
        async with self._base.writing() as connection:
            await fences.check(connection, fence)
            await add(connection, added)
            for begin in range(0, len(dropped), _MOST):
                some = tables.notifications.c.id.in_(dropped[begin : begin + _MOST])
                await connection.execute(sa.delete(tables.notifications).where(some))


async def add(
    connection: connections.Connection, messages: Sequence[run_records.OutboxMessage]
) -> None:
    """Write messages in the transaction of whoever sends them; what is there stays as it is."""
    if messages:
        put = database.upsert(connection, tables.notifications, update=())
        await connection.execute(put, [rows.values(message) for message in messages])
