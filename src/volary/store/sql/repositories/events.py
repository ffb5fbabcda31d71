"""The feeds of the runs in a database."""

from collections.abc import Collection
from dataclasses import replace

import sqlalchemy as sa

from volary.model.runs import run_records
from volary.store import pagination, records
from volary.store.sql.database import database
from volary.store.sql.schema import rows, tables

#: What an event is called that cannot be read; its document says why.
UNREADABLE = "unreadable"


class Events:
    """The feeds of the runs."""

    def __init__(self, base: database.Database, limits: records.Limits) -> None:
        self._base = base
        self._limits = limits

    async def after(
        self, run_id: str, number: int, *, names: Collection[str] = (), limit: int = 500
    ) -> tuple[records.FeedEvent, ...]:
        """Return a run's events after the one with `number`, in order.

        Only those of these `names`; empty: of every name.
        """
        events = tables.events
        query = (
            sa.select(events)
            .where(events.c.run_id == run_id, events.c.number > number)
            .order_by(events.c.number)
        )
        if names:
            query = query.where(events.c.event.in_(sorted(names)))
        return await self._read(query, limit)

    async def all_after(
        self,
        position: int,
        *,
        applications: Collection[str] | None = None,
        limit: int = 500,
    ) -> tuple[records.FeedEvent, ...]:
        """Return events of some applications' runs, None: of every one's, after `position`, in
        order.
        """
        events = tables.events
        query = sa.select(events).where(events.c.position > position).order_by(events.c.position)
        if applications is not None:
            query = query.where(events.c.application.in_(sorted(applications)))
        return await self._read(query, limit)

    async def position(self) -> int:
        """Return the position of the newest event; 0 when there was never one."""
        newest = await self._base.row(sa.select(sa.func.max(tables.events.c.position)))
        return (newest[0] if newest else None) or 0

    async def _read(
        self, query: sa.Select[tuple[object, ...]], limit: int
    ) -> tuple[records.FeedEvent, ...]:
        query = query.limit(pagination.bounded(limit, self._limits.page))
        return tuple(map(_event, await self._base.rows(query)))


def _event(row: rows.Row) -> records.FeedEvent:
    record, why = rows.recover(run_records.EventRecord, row)
    if why:
        # In its place: who reads goes on after it.
        record = replace(record, event=UNREADABLE, document={"reason": why})
    return records.FeedEvent(row.position, row.run_id, row.application, row.number, record)
