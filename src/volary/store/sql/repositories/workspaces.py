"""The workspaces and how they are on their clusters, in a database."""

from collections.abc import Sequence

import sqlalchemy as sa

from volary.model.runs import run_records
from volary.store import records
from volary.store.sql.database import database
from volary.store.sql.schema import answers as request_answers
from volary.store.sql.schema import fences, rows, tables


class Workspaces:
    """The workspaces. There are as many as people write, and those not deleted everywhere yet."""

    def __init__(self, base: database.Database) -> None:
        self._base = base

    @database.finished
    async def keep(
        self,
        workspaces: Sequence[records.WorkspaceRecord],
        *,
        gone: Sequence[str] = (),
        fence: run_records.Fence | None,
        answers: Sequence[run_records.RequestAnswer] = (),
    ) -> None:
        """Keep workspaces, new or changed, forget others, and answer what led to it; all or none.

        With answers this is safe to repeat: what was kept with the very same answers is not kept
        again.

        Raises:
            fencing.RequestAnswered: A request has another answer, so nothing is kept.
            fencing.LeaseLost: Another process took the lease over.
        """
        async with self._base.writing() as connection:
            await fences.check(connection, fence)
            if not await request_answers.take(connection, answers):
                return
            if workspaces:
                put = database.upsert(connection, tables.workspaces)
                await connection.execute(put, [rows.values(one) for one in workspaces])
            for name in gone:
                table = tables.workspaces
                await connection.execute(sa.delete(table).where(table.c.name == name))

    async def list(self) -> tuple[records.WorkspaceRecord, ...]:
        """Return all that are known, by name."""
        table = tables.workspaces
        known = await self._base.rows(sa.select(table).order_by(table.c.name))
        return tuple(rows.read(records.WorkspaceRecord, row) for row in known)
