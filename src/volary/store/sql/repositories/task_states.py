"""What tasks and applications remember, in a database."""

import sqlalchemy as sa

from volary.model import json
from volary.model.runs import run_records
from volary.store import records, unreadable
from volary.store.sql.database import database
from volary.store.sql.schema import fences, rows, tables


class TaskStates:
    """What tasks remember over a restart, and applications over their runs."""

    def __init__(self, base: database.Database) -> None:
        self._base = base

    async def load(self, key: records.TaskKey) -> json.JsonObject:
        """Return what this attempt saved last; empty: nothing.

        Raises:
            unreadable.UnreadableError: It cannot be read.
        """
        table = tables.task_states
        own = (table.c[name] == value for name, value in rows.values(key).items())
        of = f"{key.run_id}/{key.stage}/{key.target}"
        return await self._read(sa.select(table.c.document).where(*own), of)

    @database.finished
    async def save(
        self, key: records.TaskKey, document: json.JsonObject, *, fence: run_records.Fence | None
    ) -> None:
        """Keep it instead of what the task saved before; of an unknown run nothing is kept."""
        async with self._base.writing() as connection:
            await fences.check(connection, fence)
            query = sa.select(tables.runs.c.id).where(tables.runs.c.id == key.run_id)
            if (await connection.execute(query)).first() is not None:
                put = database.upsert(connection, tables.task_states)
                await connection.execute(put, rows.values(key, document=document))

    async def recall(self, application: str, target: str, name: str) -> json.JsonObject:
        """Return what was kept under a name; empty: nothing.

        Raises:
            unreadable.UnreadableError: It cannot be read.
        """
        memories = tables.application_states.c
        query = sa.select(memories.document).where(
            memories.application == application, memories.target == target, memories.name == name
        )
        return await self._read(query, f"{application}/{target}/{name}")

    @database.finished
    async def keep(
        self,
        application: str,
        target: str,
        name: str,
        document: json.JsonObject,
        *,
        fence: run_records.Fence | None,
    ) -> None:
        """Keep it under a name instead of what was there."""
        values: dict[str, object] = {
            "application": application,
            "target": target,
            "name": name,
            "document": document,
        }
        async with self._base.writing() as connection:
            await fences.check(connection, fence)
            await connection.execute(database.upsert(connection, tables.application_states), values)

    async def _read(self, query: sa.Select[tuple[dict[str, object]]], of: str) -> json.JsonObject:
        row = await self._base.row(query)
        if row is None:
            return {}
        (document,), why = rows.documents(row, "document")
        if why:
            raise unreadable.UnreadableError(unreadable.UnreadableRow("state", of, why))
        return dict(document)
