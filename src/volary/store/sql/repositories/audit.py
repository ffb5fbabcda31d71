"""Who did what, in a database: there is no method that changes or deletes an entry."""

import dataclasses

import sqlalchemy as sa

from volary.store import pagination, records
from volary.store.sql.database import database
from volary.store.sql.schema import rows, tables


class Audit:
    """Append-only: who did what."""

    def __init__(self, base: database.Database, limits: records.Limits) -> None:
        self._base = base
        self._limits = limits

    @database.finished
    async def write(self, entry: records.AuditRecord) -> None:
        """Keep one entry."""
        values = rows.values(entry)
        del values["position"]
        async with self._base.writing() as connection:
            await connection.execute(sa.insert(tables.audit), values)

    async def list(
        self, wanted: records.AuditFilter, *, cursor: str = "", limit: int = 50
    ) -> records.Page[records.AuditRecord]:
        """Return entries, the newest first."""
        position = tables.audit.c.position
        limit = pagination.bounded(limit, self._limits.page)
        conditions = rows.matching(tables.audit, **dataclasses.asdict(wanted))
        query = sa.select(tables.audit).where(*conditions)
        if (before := pagination.by_position(cursor)) is not None:
            query = query.where(position < before)
        entries = await self._base.rows(query.order_by(position.desc()).limit(limit + 1))
        items = [rows.read(records.AuditRecord, row) for row in entries]
        return pagination.cut(items, limit, lambda item: (item.position,))
