"""Who did what, in a database: there is no method that changes or deletes an entry."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from volary.store import pagination, records
from volary.store.sql.database import database
from volary.store.sql.schema import tables


class Audit:
    """See `protocol.Audit`."""

    def __init__(self, base: database.Database, limits: records.Limits) -> None:
        self._base = base
        self._limits = limits

    @database.finished
    async def write(self, entry: records.AuditRecord) -> None:
        """Keep one entry."""
        names = ("at", "action", "result", "source", "application", "run_id", "document")
        values = {name: getattr(entry, name) for name in names}
        async with self._base.writing() as connection:
            await connection.execute(sa.insert(tables.audit), values | {"actor": entry.by})

    @database.finished
    async def list(
        self, wanted: records.AuditFilter, *, cursor: str = "", limit: int = 50
    ) -> records.Page[records.AuditRecord]:
        """Return entries, the newest first."""
        position = tables.audit.c.position
        limit = pagination.bounded(limit, self._limits.page)
        query = sa.select(tables.audit).where(*_conditions(wanted))
        if (before := pagination.by_position(cursor)) is not None:
            query = query.where(position < before)
        query = query.order_by(position.desc()).limit(limit + 1)
        async with self._base.reading() as connection:
            items = [_record(row) for row in await connection.execute(query)]
        return pagination.cut(items, limit, lambda item: (item.position,))


def _conditions(wanted: records.AuditFilter) -> Sequence[sa.ColumnElement[bool]]:
    audit = tables.audit.c
    asked = (
        (audit.actor, wanted.by),
        (audit.application, wanted.application),
        (audit.run_id, wanted.run_id),
        (audit.action, wanted.action),
    )
    return [column == value for column, value in asked if value]


def _record(row: sa.Row[Any]) -> records.AuditRecord:
    values = row._asdict()
    return records.AuditRecord(by=values.pop("actor"), **values)
