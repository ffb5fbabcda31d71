"""Logs of tasks in a database."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext import asyncio as sa_async

from volary.model import record
from volary.store import bounds, pages, records
from volary.store.sql import database, fences, group, numbering, tables


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
            known = await numbering.known(connection, (line.run_id for line in lines))
            kept = [line for line in lines if line.run_id in known]
            if kept:
                await self._append(connection, kept)
            return list(refused)

    async def _append(
        self, connection: sa_async.AsyncConnection, lines: Sequence[records.LogLine]
    ) -> None:
        tasks = dict.fromkeys(map(_task, lines))
        last = Counter(
            {task: await numbering.last(connection, tables.logs, task) for task in tasks}
        )
        values = []
        for line in lines:
            last[_task(line)] += 1
            values.append(self._values(line, last[_task(line)]))
        await connection.execute(sa.insert(tables.logs), values)
        await numbering.trim(connection, tables.logs, last, self._limits.lines_per_task)

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


def _task(line: records.LogLine) -> numbering.Task:
    return line.run_id, line.stage, line.target
