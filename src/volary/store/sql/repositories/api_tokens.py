"""API tokens in a database: every server of it knows the same ones."""

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from volary.store import records
from volary.store.sql.database import database
from volary.store.sql.schema import rows, tables

_TABLE = tables.api_tokens
_ALL = sa.select(_TABLE)
_STAMP: sa.Select[Any] = sa.select(  # type: ignore[assignment]
    sa.func.count(), sa.func.count(_TABLE.c.revoked), sa.func.max(_TABLE.c.used)
).select_from(_TABLE)


class ApiTokens:
    """API tokens. Only three things happen to one: it is made, used, and revoked for good."""

    def __init__(self, base: database.Database) -> None:
        self._base = base

    async def stamp(self) -> tuple[object, ...]:
        """Return what differs when there is something new about a token."""
        row = await self._base.row(_STAMP)
        assert row is not None
        return tuple(row)

    async def all(self) -> tuple[records.ApiTokenRecord, ...]:
        """Return every token."""
        return tuple(rows.read(records.ApiTokenRecord, row) for row in await self._base.rows(_ALL))

    @database.finished
    async def keep(
        self, tokens: Sequence[records.ApiTokenRecord], *, gone: Collection[str] = ()
    ) -> None:
        """Keep tokens: those that are new, what was revoked, and later uses. Forget those `gone`.

        What is revoked stays so, and what was used later too, whoever comes with less.
        """
        columns = _TABLE.c
        async with self._base.writing() as connection:
            made = database.upsert(connection, _TABLE, update=())
            for token in sorted(tokens, key=lambda token: token.id):
                await connection.execute(made, [rows.values(token)])
                for column, value in ((columns.revoked, token.revoked), (columns.used, token.used)):
                    if value is None:
                        continue
                    is_news = (
                        column.is_(None)
                        if column is columns.revoked
                        else sa.or_(column.is_(None), column < value)
                    )
                    await connection.execute(
                        sa.update(_TABLE)
                        .where(columns.id == token.id, is_news)
                        .values({column.name: value})
                    )
            if gone:
                await connection.execute(sa.delete(_TABLE).where(columns.id.in_(sorted(gone))))
