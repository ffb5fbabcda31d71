"""Logs of tasks in a database."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from volary.model.runs import run_records
from volary.store import encoding, pagination, records
from volary.store.sql.database import database, group_commit
from volary.store.sql.schema import fences, numbering, tables


class Logs:
    """See `protocol.Logs`."""

    def __init__(self, base: database.Database, limits: records.Limits) -> None:
        self._base = base
        self._limits = limits
        self._group = group_commit.GroupCommit(self._append_all, id, most=limits.group)

    async def append(
        self, lines: Sequence[records.LogLine], *, fence: run_records.Fence | None
    ) -> None:
        """Keep lines in order; those of unknown runs are left out."""
        if lines:
            await self._group.keep(fences.Fenced(lines, fence))

    async def _append_all(
        self, writes: Sequence[fences.Fenced[Sequence[records.LogLine]]]
    ) -> list[Exception | None]:
        async with self._base.writing() as connection:
            refused = await fences.refusals(connection, [write.fence for write in writes])
            rows = [
                self._values(line)
                for write, refusal in zip(writes, refused, strict=True)
                if refusal is None
                for line in write.item
            ]
            most = self._limits.lines_per_task
            await numbering.append(connection, tables.logs, rows, most=most)
            return list(refused)

    def _values(self, line: records.LogLine) -> dict[str, Any]:
        return {
            "run_id": line.run_id,
            "stage_id": line.stage,
            "target": line.target,
            "attempt": line.attempt,
            "at": line.at,
            "level": line.level,
            "line": encoding.shorten(line.text, self._limits.line_length),
        }

    @database.finished
    async def after(
        self, run_id: str, position: int, *, stage: str = "", target: str = "", limit: int = 500
    ) -> tuple[records.StoredLogLine, ...]:
        """Return a run's lines after `position`, of one stage or cluster if given, in order."""
        logs = tables.logs
        query = (
            sa.select(logs)
            .where(logs.c.run_id == run_id, logs.c.position > position)
            .order_by(logs.c.position)
            .limit(pagination.bounded(limit, self._limits.page))
        )
        if stage:
            query = query.where(logs.c.stage_id == stage)
        if target:
            query = query.where(logs.c.target == target)
        async with self._base.reading() as connection:
            return tuple(map(_line, await connection.execute(query)))


def _line(row: sa.Row[Any]) -> records.StoredLogLine:
    line = records.LogLine(
        run_id=row.run_id,
        stage=row.stage_id,
        target=row.target,
        attempt=row.attempt,
        at=row.at,
        level=row.level,
        text=row.line,
    )
    return records.StoredLogLine(row.position, row.number, line)
