"""Commits of applications in a database."""

from typing import Any

import sqlalchemy as sa

from volary.model import record
from volary.store import pages, records
from volary.store.sql import database, fences, tables

#: What a later word on the same commit changes; when it was seen first stays.
_CHANGING = ("subject", "author", "status", "reason", "run_id")


class Commits:
    """See `protocol.Commits`."""

    def __init__(self, base: database.Database, limits: records.Limits) -> None:
        self._base = base
        self._limits = limits

    @database.finished
    async def keep(self, commit: records.CommitRecord, *, fence: record.Fence | None) -> None:
        """Keep it, new or changed; the time it was seen first stays."""
        values = {name: getattr(commit, name) for name in ("application", "seen", *_CHANGING)}
        async with self._base.writing() as connection:
            await fences.check(connection, fence)
            await connection.execute(
                database.upsert(connection, tables.commits, update=_CHANGING),
                values | {"commit_hash": commit.commit},
            )

    @database.finished
    async def get(self, application: str, commit: str) -> records.CommitRecord | None:
        """Return it."""
        commits = tables.commits
        query = sa.select(commits).where(
            commits.c.application == application, commits.c.commit_hash == commit
        )
        async with self._base.reading() as connection:
            row = (await connection.execute(query)).one_or_none()
        return _record(row) if row else None

    @database.finished
    async def list(
        self, application: str, *, cursor: str = "", limit: int = 50
    ) -> records.Page[records.CommitRecord]:
        """Return an application's commits, the last seen first."""
        commits = tables.commits.c
        limit = pages.bounded(limit, self._limits.page)
        query = sa.select(tables.commits).where(commits.application == application)
        if after := pages.by_time(cursor):
            query = query.where(sa.tuple_(commits.seen, commits.commit_hash) < sa.tuple_(*after))
        query = query.order_by(commits.seen.desc(), commits.commit_hash.desc()).limit(limit + 1)
        async with self._base.reading() as connection:
            items = [_record(row) for row in await connection.execute(query)]
        return pages.cut(items, limit, lambda item: (item.seen, item.commit))


def _record(row: sa.Row[Any]) -> records.CommitRecord:
    values = row._asdict()
    return records.CommitRecord(commit=values.pop("commit_hash"), **values)
