"""Commits of applications in a database."""

from collections.abc import Sequence

import sqlalchemy as sa

from volary.store import pagination, records
from volary.store.sql.database import connections, database
from volary.store.sql.schema import rows, tables

#: What a later word on the same commit changes; when it was seen first stays.
_CHANGING = ("subject", "author", "status", "reason", "run_id")

_ONE = sa.select(tables.commits).where(
    tables.commits.c.application == sa.bindparam("application"),
    tables.commits.c.commit == sa.bindparam("commit"),
)


class Commits:
    """The commits of the applications and what became of them."""

    def __init__(self, base: database.Database, limits: records.Limits) -> None:
        self._base = base
        self._limits = limits

    async def get(self, application: str, commit: str) -> records.CommitRecord | None:
        """Return it; None when it was never seen."""
        row = await self._base.row(_ONE, {"application": application, "commit": commit})
        return rows.read(records.CommitRecord, row) if row else None

    async def list(
        self, application: str, *, cursor: str = "", limit: int = 50
    ) -> records.Page[records.CommitRecord]:
        """Return an application's commits, the last seen first."""
        commits = tables.commits.c
        limit = pagination.bounded(limit, self._limits.page)
        query = sa.select(tables.commits).where(commits.application == application)
        if after := pagination.by_time(cursor):
            query = query.where(sa.tuple_(commits.seen, commits.commit) < sa.tuple_(*after))
        query = query.order_by(commits.seen.desc(), commits.commit.desc()).limit(limit + 1)
        items = [rows.read(records.CommitRecord, row) for row in await self._base.rows(query)]
        return pagination.cut(items, limit, lambda item: (item.seen, item.commit))


async def write(
    connection: connections.Connection, changed: Sequence[records.CommitRecord]
) -> None:
    """Write commits, new or changed, with what is kept of their applications."""
    if changed:
        statement = database.upsert(connection, tables.commits, update=_CHANGING)
        await connection.execute(statement, [rows.values(commit) for commit in changed])
