"""What tables of many rows per task share: numbers per task, and only the newest are kept."""

from collections.abc import Iterable, Mapping

import sqlalchemy as sa
from sqlalchemy.ext import asyncio as sa_async

from volary.store.sql import tables

#: Run, stage and target.
Task = tuple[str, str, str]


async def known(connection: sa_async.AsyncConnection, runs: Iterable[str]) -> set[str]:
    """Return those of the runs that there are."""
    query = sa.select(tables.runs.c.id).where(tables.runs.c.id.in_(sorted(set(runs))))
    return set((await connection.execute(query)).scalars())


async def last(connection: sa_async.AsyncConnection, table: sa.Table, task: Task) -> int:
    """Return the number of a task's last row."""
    columns = table.c
    run, stage, target = task
    found = await connection.execute(
        sa.select(sa.func.coalesce(sa.func.max(columns.number), 0)).where(
            columns.run_id == run, columns.stage_id == stage, columns.target == target
        )
    )
    return int(found.scalar_one())


async def trim(
    connection: sa_async.AsyncConnection, table: sa.Table, last_of: Mapping[Task, int], most: int
) -> None:
    """Delete each task's oldest rows beyond `most`."""
    too_many = [
        {"of_run": run, "of_stage": stage, "of_target": target, "up_to": number - most}
        for (run, stage, target), number in last_of.items()
        if number > most
    ]
    if not too_many:
        return
    columns = table.c
    await connection.execute(
        sa.delete(table).where(
            columns.run_id == sa.bindparam("of_run"),
            columns.stage_id == sa.bindparam("of_stage"),
            columns.target == sa.bindparam("of_target"),
            columns.number <= sa.bindparam("up_to"),
        ),
        too_many,
    )
