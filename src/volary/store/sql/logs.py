"""Logs of tasks in a database."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext import asyncio as sa_async

from volary.model import record
from volary.store import bounds, pages, records
from volary.store.sql import database, fences, group, tables

#: Run, stage and target: whose log it is.
_Task = tuple[str, str, str]


class Logs:
    """See `protocol.Logs`."""

    def __init__(self, base: database.Database, limits: records.Limits) -> None:
        self._base = base
        self._limits = limits
        self._group = group.GroupCommit(self._append_all, id, most=limits.group)

    async def append(self, lines: Sequence[records.LogLine], *, fence: record.Fence | None) -> None:
        """Keep lines in order; those of unknown runs are left out."""
        if lines:
            await self._group.keep(fences.Fenced(lines, fence))

    async def _append_all(
        self, writes: Sequence[fences.Fenced[Sequence[records.LogLine]]]
    ) -> list[Exception | None]:
        async with self._base.writing() as connection:
            refused = await fences.refusals(connection, [each.fence for each in writes])
            lines = [
                line
                for write, refusal in zip(writes, refused, strict=True)
                if refusal is None
                for line in write.item
            ]
            known = await _known(connection, {line.run_id for line in lines})
            kept = [line for line in lines if line.run_id in known]
            if kept:
                await self._append(connection, kept)
            return list(refused)

    async def _append(
        self, connection: sa_async.AsyncConnection, lines: Sequence[records.LogLine]
    ) -> None:
        last = Counter({task: await _last(connection, task) for task in _tasks(lines)})
        values = []
        for line in lines:
            last[_task(line)] += 1
            values.append(self._values(line, last[_task(line)]))
        await connection.execute(sa.insert(tables.logs), values)
        too_many = [
            {"of_run": run, "of_stage": stage, "of_target": target, "up_to": number - most}
            for most in (self._limits.lines_per_task,)
            for (run, stage, target), number in last.items()
            if number > most
        ]
        if not too_many:
            return
        logs = tables.logs.c
        await connection.execute(
            sa.delete(tables.logs).where(
                logs.run_id == sa.bindparam("of_run"),
                logs.stage_id == sa.bindparam("of_stage"),
                logs.target == sa.bindparam("of_target"),
                logs.number <= sa.bindparam("up_to"),
            ),
            too_many,
        )

    def _values(self, line: records.LogLine, number: int) -> dict[str, Any]:
        return {
            "run_id": line.run_id,
            "stage_id": line.stage,
            "target": line.target,
            "attempt": line.attempt,
            "number": number,
            "at": line.at,
            "level": line.level,
            "line": bounds.shorten(line.text, self._limits.line_length),
        }

    @database.finished
    async def after(
        self, run_id: str, position: int, *, stage: str = "", target: str = "", limit: int = 500
    ) -> tuple[records.KeptLine, ...]:
        """Return a run's lines after `position`, of one stage or cluster if given, in order."""
        logs = tables.logs
        query = (
            sa.select(logs)
            .where(logs.c.run_id == run_id, logs.c.position > position)
            .order_by(logs.c.position)
            .limit(pages.bounded(limit, self._limits.page))
        )
        if stage:
            query = query.where(logs.c.stage_id == stage)
        if target:
            query = query.where(logs.c.target == target)
        async with self._base.reading() as connection:
            return tuple(map(_line, await connection.execute(query)))


def _line(row: sa.Row[Any]) -> records.KeptLine:
    line = records.LogLine(
        run_id=row.run_id,
        stage=row.stage_id,
        target=row.target,
        attempt=row.attempt,
        at=row.at,
        level=row.level,
        text=row.line,
    )
    return records.KeptLine(row.position, row.number, line)


def _task(line: records.LogLine) -> _Task:
    return line.run_id, line.stage, line.target


def _tasks(lines: Iterable[records.LogLine]) -> list[_Task]:
    return list(dict.fromkeys(_task(line) for line in lines))


async def _known(connection: sa_async.AsyncConnection, runs: set[str]) -> set[str]:
    query = sa.select(tables.runs.c.id).where(tables.runs.c.id.in_(sorted(runs)))
    return set((await connection.execute(query)).scalars())


async def _last(connection: sa_async.AsyncConnection, task: _Task) -> int:
    """Return the number of the task's last line."""
    logs = tables.logs.c
    run, stage, target = task
    found = await connection.execute(
        sa.select(sa.func.coalesce(sa.func.max(logs.number), 0)).where(
            logs.run_id == run, logs.stage_id == stage, logs.target == target
        )
    )
    return int(found.scalar_one())
