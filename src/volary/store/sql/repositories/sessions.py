"""The logins of browsers, in a database: every server of this store knows them."""

from collections.abc import Collection
from datetime import timedelta

import sqlalchemy as sa

from volary.store import records
from volary.store.sql.database import database
from volary.store.sql.schema import rows, tables

_TABLE = tables.sessions
_BY_HASH = (
    sa.select(_TABLE)
    .where(
        sa.or_(
            _TABLE.c.hash == sa.bindparam("wanted"),
            _TABLE.c.previous == sa.bindparam("wanted"),
        )
    )
    .limit(1)
)
_BY_IDS = sa.select(_TABLE).where(_TABLE.c.id.in_(sa.bindparam("wanted", expanding=True)))


class Sessions:
    """The logins of browsers."""

    def __init__(self, base: database.Database) -> None:
        self._base = base

    @database.finished
    async def begin(self, session: records.SessionRecord, *, most: int, idle: timedelta) -> None:
        """Keep a new one, and forget those that are over.

        Args:
            session: The new one; its `created` is now.
            most: Sessions of one person; those used longest ago go first.
            idle: One that was not used for so long is over.
        """
        columns, now = _TABLE.c, session.created
        newest = (
            sa.select(columns.id)
            .where(columns.by == session.by)
            .order_by(columns.seen.desc(), columns.id)
            .limit(most - 1)
        )
        async with self._base.writing() as connection:
            await connection.execute(
                sa.delete(_TABLE).where(sa.or_(columns.expires <= now, columns.seen <= now - idle))
            )
            kept = [row.id for row in await connection.execute(newest)]
            await connection.execute(
                sa.delete(_TABLE).where(columns.by == session.by, columns.id.not_in(kept))
            )
            await connection.execute(sa.insert(_TABLE).values(rows.values(session)))

    async def find(self, digest: str) -> records.SessionRecord | None:
        """Return the one whose present or previous secret has this hash; None: there is none."""
        if not digest:
            return None
        row = await self._base.row(_BY_HASH, {"wanted": digest})
        return None if row is None else rows.read(records.SessionRecord, row)

    async def get(self, ids: Collection[str]) -> dict[str, records.SessionRecord]:
        """Return those of these ids that there are, by id."""
        known = await self._base.rows(_BY_IDS, {"wanted": sorted(ids)})
        return {row.id: rows.read(records.SessionRecord, row) for row in known}

    @database.finished
    async def change(self, session: records.SessionRecord, *, expected: str) -> bool:
        """Keep a changed one; False: its hash is no longer `expected`, and nothing was changed."""
        columns = _TABLE.c
        changed = sa.update(_TABLE).where(columns.id == session.id, columns.hash == expected)
        async with self._base.writing() as connection:
            done = await connection.execute(changed.values(rows.values(session)))
            return done.rowcount == 1

    @database.finished
    async def end(self, session: str) -> None:
        """Forget the one of this id."""
        async with self._base.writing() as connection:
            await connection.execute(sa.delete(_TABLE).where(_TABLE.c.id == session))

    async def of_person(self, name: str) -> tuple[records.SessionRecord, ...]:
        """Return those of a person, the last used first; also those that are over."""
        columns = _TABLE.c
        query = sa.select(_TABLE).where(columns.by == name).order_by(columns.seen.desc())
        return tuple(rows.read(records.SessionRecord, row) for row in await self._base.rows(query))
