"""Which repositories somebody wants looked at, told to whichever server, in a database."""

from collections.abc import Collection

import sqlalchemy as sa

from volary.store.sql.database import database
from volary.store.sql.schema import tables

_TABLE = tables.repository_refreshes
_ALL = sa.select(_TABLE)


class RepositoryRefreshes:
    """Counts for each repository how often somebody asked for a look at it."""

    def __init__(self, base: database.Database) -> None:
        self._base = base

    @database.finished
    async def ask(self, repositories: Collection[str]) -> None:
        """Ask for a look at each of these."""
        async with self._base.writing() as connection:
            # In one order, so that two servers do not wait for each other.
            for name in sorted(repositories):
                made = database.upsert(connection, _TABLE, update=())
                await connection.execute(made, [{"repository": name, "number": 0}])
                await connection.execute(
                    sa.update(_TABLE)
                    .where(_TABLE.c.repository == name)
                    .values(number=_TABLE.c.number + 1)
                )

    async def all(self) -> dict[str, int]:
        """Return how often each was asked for."""
        return {row.repository: row.number for row in await self._base.rows(_ALL)}
