"""What tasks leave behind, bounded: lines of logs, and findings of analyses."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import sqlalchemy as sa

from volary.model.runs import run_records
from volary.store import encoding, pagination, records
from volary.store.sql.database import database, group_commit
from volary.store.sql.schema import fences, numbering, rows, tables

Item = TypeVar("Item")


class _TaskRows(Generic[Item]):
    """A table of which each task keeps its newest rows, `most` of them."""

    def __init__(
        self,
        base: database.Database,
        limits: records.Limits,
        kind: type[Item],
        table: sa.Table,
        *,
        most: int,
    ) -> None:
        self._base = base
        self._limits = limits
        self._kind = kind
        self._table = table
        self._most = most
        self._group = group_commit.GroupCommit(self._append_all, id, most=limits.group)

    async def append(self, items: Sequence[Item], *, fence: run_records.Fence | None) -> None:
        """Keep items in order; those of unknown runs are left out."""
        if items:
            await self._group.keep(fences.Fenced(items, fence))

    async def _append_all(
        self, writes: Sequence[fences.Fenced[Sequence[Item]]]
    ) -> list[Exception | None]:
        async with self._base.writing() as connection:
            refused = await fences.refusals(connection, writes)
            accepted = [
                self._values(item)
                for write, refusal in zip(writes, refused, strict=True)
                if refusal is None
                for item in write.item
            ]
            await numbering.append(connection, self._table, accepted, most=self._most)
            return list(refused)

    def _values(self, item: Item) -> rows.Values:
        return rows.values(item)

    async def _after(
        self, run_id: str, position: int, limit: int, **wanted: str
    ) -> tuple[Item, ...]:
        table, limit = self._table, pagination.bounded(limit, self._limits.page)
        query = (
            sa.select(table)
            .where(table.c.run_id == run_id, table.c.position > position)
            .where(*rows.matching(table, **wanted))
            .order_by(table.c.position)
            .limit(limit)
        )
        found = await self._base.rows(query)
        readable = rows.read_all(self._kind, found, self._base.set_aside)
        if not readable and len(found) == limit:
            # Who reads goes on after the last that is returned, so there has to be one.
            return await self._after(run_id, found[-1].position, limit, **wanted)
        return readable


class Logs(_TaskRows[records.LogLine]):
    """What tasks said."""

    def __init__(self, base: database.Database, limits: records.Limits) -> None:
        super().__init__(base, limits, records.LogLine, tables.logs, most=limits.lines_per_task)

    async def after(
        self, run_id: str, position: int, *, stage: str = "", target: str = "", limit: int = 500
    ) -> tuple[records.LogLine, ...]:
        """Return a run's lines after `position`, of one stage or cluster if given, in order."""
        return await self._after(run_id, position, limit, stage=stage, target=target)

    def _values(self, item: records.LogLine) -> rows.Values:
        return rows.values(item, text=encoding.shorten(item.text, self._limits.line_length))


class Findings(_TaskRows[records.Finding]):
    """What analyses measured and concluded."""

    def __init__(self, base: database.Database, limits: records.Limits) -> None:
        super().__init__(
            base, limits, records.Finding, tables.findings, most=limits.findings_per_task
        )

    async def after(
        self,
        run_id: str,
        position: int,
        *,
        wanted: records.FindingFilter | None = None,
        limit: int = 500,
    ) -> tuple[records.Finding, ...]:
        """Return a run's findings after `position`, those that are wanted, in order."""
        conditions = dataclasses.asdict(wanted or records.FindingFilter())
        return await self._after(run_id, position, limit, **conditions)

    async def newest(
        self, run_id: str, wanted: records.FindingFilter, most: int
    ) -> tuple[int, int, int]:
        """Return where a run's newest findings are: after which position, up to which, how many
        are older.

        Args:
            run_id: The run.
            wanted: Which of its findings count.
            most: How many are the newest.
        """
        table, position = self._table, self._table.c.position
        found = sa.and_(
            table.c.run_id == run_id, *rows.matching(table, **dataclasses.asdict(wanted))
        )
        totals: list[sa.ColumnElement[Any]] = [
            sa.func.count().label("many"),
            sa.func.max(position).label("last"),
        ]
        row = await self._base.row(sa.select(*totals).select_from(table).where(found))
        many, last = (row.many, row.last or 0) if row else (0, 0)
        if many <= most:
            return 0, last, 0
        first = sa.select(position).where(found).order_by(position.desc()).limit(1).offset(most)
        before = await self._base.row(first)
        return (before.position if before else 0), last, many - most
