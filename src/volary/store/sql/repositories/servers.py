"""The processes that serve, in a database: who is there, and who may be."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import sqlalchemy as sa

from volary.store import records, schema_versions
from volary.store.sql.database import connections, database
from volary.store.sql.repositories import leases
from volary.store.sql.schema import rows, schema_state, tables

_TABLE = tables.servers


@dataclass(frozen=True, slots=True)
class Standing:
    """How a server stands among the others."""

    #: Those that are there now, itself among them, by name and start.
    live: tuple[records.ServerRecord, ...]
    schema: schema_versions.SchemaState


class Servers:
    """The processes that serve. When one was there last is told by the database's clock.

    Args:
        base: The database.
        times: The database's clock, or another.
        known: The newest revision of the schema that this program knows.
    """

    def __init__(self, base: database.Database, times: leases.Leases, known: str) -> None:
        self._base = base
        self._times = times
        self._known = known

    @database.finished
    async def register(
        self, server: records.ServerRecord, *, keep: timedelta
    ) -> records.ServerRecord:
        """Take a server up, which nobody's contraction of the schema overtakes then.

        Args:
            server: Its times and its revision are set here.
            keep: What was not seen for so long is forgotten; and at once what the same machine
                had with the same schema, which this one has taken the place of.

        Raises:
            errors.UserError: Its program may not use this database any more.
        """
        columns = _TABLE.c
        async with self._base.writing() as connection:
            await schema_state.lock(connection)
            state = await schema_state.read(connection)
            if why := schema_versions.refusal(state, self._known):
                raise why
            now = await self._times.now(connection)
            replaced = sa.and_(
                columns.name == server.name,
                columns.address == server.address,
                columns.revision == self._known,
            )
            await connection.execute(
                sa.delete(_TABLE).where(sa.or_(columns.seen <= now - keep, replaced))
            )
            taken = replace(server, revision=self._known, started=now, seen=now, ended=None)
            await connection.execute(database.upsert(connection, _TABLE), [rows.values(taken)])
            return taken

    @database.finished
    async def beat(self, server: str, *, silence: timedelta) -> Standing | None:
        """Say that a server is there; return how it stands; None: it has to register again.

        Args:
            server: Its id.
            silence: Who was not seen for so long is not there.

        Raises:
            errors.UserError: Its program may not use this database any more: it stood still for
                so long that others took away what it needs.
        """
        columns = _TABLE.c
        async with self._base.writing(urgent=True) as connection:
            now = await self._times.now(connection)
            done = await connection.execute(
                sa.update(_TABLE)
                .where(columns.id == server, columns.ended.is_(None))
                .values(seen=now)
            )
            if done.rowcount != 1:
                return None
            state = await schema_state.read(connection)
            if why := schema_versions.refusal(state, self._known):
                raise why
            return Standing(await _live(connection, now - silence), state)

    @database.finished
    async def end(self, server: str) -> None:
        """Say goodbye: it is not there any more, and was until now."""
        async with self._base.writing() as connection:
            now = await self._times.now(connection)
            await connection.execute(
                sa.update(_TABLE).where(_TABLE.c.id == server).values(seen=now, ended=now)
            )

    @database.finished
    async def live(self, *, silence: timedelta) -> tuple[records.ServerRecord, ...]:
        """Return those that are there, by name and start."""
        async with self._base.reading() as connection:
            return await _live(connection, await self._times.now(connection) - silence)


async def _live(
    connection: connections.Connection, since: datetime
) -> tuple[records.ServerRecord, ...]:
    columns = _TABLE.c
    query = (
        sa.select(_TABLE)
        .where(columns.seen > since, columns.ended.is_(None))
        .order_by(columns.name, columns.started, columns.id)
    )
    return tuple(rows.read(records.ServerRecord, row) for row in await connection.execute(query))
