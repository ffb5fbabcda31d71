"""What tasks and applications remember, in a database."""

import sqlalchemy as sa
from sqlalchemy.ext import asyncio as sa_async

from volary.model import json
from volary.model.runs import run_records
from volary.store import records
from volary.store.sql.database import database
from volary.store.sql.schema import fences, tables


class TaskStates:
    """See `protocol.TaskStates`."""

    def __init__(self, base: database.Database) -> None:
        self._base = base

    @database.finished
    async def load(self, key: records.TaskKey) -> json.JsonObject:
        """Return what this attempt saved last; empty: nothing."""
        memories = tables.task_states.c
        query = sa.select(memories.document).where(
            memories.run_id == key.run_id,
            memories.stage_id == key.stage,
            memories.target == key.target,
            memories.attempt == key.attempt,
        )
        return await self._read(query)

    @database.finished
    async def save(
        self, key: records.TaskKey, document: json.JsonObject, *, fence: run_records.Fence | None
    ) -> None:
        """Keep it instead of what the task saved before; of an unknown run nothing is kept."""
        values = {
            "run_id": key.run_id,
            "stage_id": key.stage,
            "target": key.target,
            "attempt": key.attempt,
            "document": document,
        }
        async with self._base.writing() as connection:
            await fences.check(connection, fence)
            query = sa.select(tables.runs.c.id).where(tables.runs.c.id == key.run_id)
            if (await connection.execute(query)).first() is not None:
                await _put(connection, tables.task_states, values)

    @database.finished
    async def recall(self, application: str, target: str, name: str) -> json.JsonObject:
        """Return what was kept under a name; empty: nothing."""
        memories = tables.application_states.c
        query = sa.select(memories.document).where(
            memories.application == application, memories.target == target, memories.name == name
        )
        return await self._read(query)

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
            await _put(connection, tables.application_states, values)

    async def _read(self, query: sa.Select[tuple[dict[str, object]]]) -> json.JsonObject:
        async with self._base.reading() as connection:
            row = (await connection.execute(query)).first()
        return {} if row is None else dict(row.document)


async def _put(
    connection: sa_async.AsyncConnection, table: sa.Table, values: dict[str, object]
) -> None:
    names = [column.name for column in table.columns if not column.primary_key]
    await connection.execute(database.upsert(connection, table, update=names), [values])
