"""Leases in a database."""

import dataclasses
import functools
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from volary.model import clocks
from volary.store import fencing, records
from volary.store.sql.database import connections, database
from volary.store.sql.schema import rows, tables

#: As it goes on within a transaction, too.
_DATABASE_TIME = sa.select(sa.func.clock_timestamp())
# Made once: they are sent every few seconds.
_WANTED = sa.select(tables.leases).where(tables.leases.c.name == sa.bindparam("of_name"))
_WANTED_ALONE = _WANTED.with_for_update()


class Leases:
    """Who may lead. Whether a lease has expired is judged by the store's clock.

    Of a server that is the server's own: those of its clients differ. Whoever writes under a lease
    shares its row's key (`fences`), which a renewal leaves alone; to take it over is to wait for
    all of them.

    Args:
        base: The database.
        clock: The clock; None: the database's own.
    """

    def __init__(self, base: database.Database, clock: clocks.Clock | None) -> None:
        self._base = base
        self._clock = clock

    @database.finished
    async def acquire(
        self, name: str, owner: str, ttl: timedelta, *, stale: records.Lease | None = None
    ) -> records.Lease | None:
        """Take a lease that is free, expired or already `owner`'s; None: another holds it.

        Also one that is still as it was seen: the `stale` one. A taken lease always has a new
        number, so earlier holders (an earlier life of the same owner too) are fenced off.
        """
        leases = tables.leases
        wanted = {"of_name": name}

        def is_free(row: sa.Row[Any], now: datetime) -> bool:
            known = stale is not None and rows.read(records.Lease, row) == stale
            return known or row.owner in ("", owner) or row.expires <= now

        async with self._base.writing(urgent=True) as connection:
            now = await self.now(connection)
            seen = (await connection.execute(_WANTED, wanted)).first()
            # Who only looks locks nothing: the holder has to get through.
            if seen is not None and not is_free(seen, now):
                return None
            # The row is there from now on, so that whoever comes at the same time waits for it.
            await connection.execute(
                database.upsert(connection, leases, update=()),
                {"name": name, "owner": "", "number": 0, "expires": now},
            )
            row = (await connection.execute(_WANTED_ALONE, wanted)).one()
            now = await self.now(connection)
            if not is_free(row, now):
                return None
            taken = records.Lease(name, owner, row.number + 1, now + ttl)
            await connection.execute(
                sa.update(leases)
                .where(leases.c.name == name)
                .values(owner=owner, number=taken.number, expires=taken.expires)
            )
            return taken

    @database.finished
    async def renew(self, lease: records.Lease, ttl: timedelta) -> records.Lease:
        """Hold it for another `ttl` from now; also when it expired but nobody took it.

        Raises:
            fencing.LeaseLost: Somebody else has it, or it was released.
        """
        async with self._base.writing(urgent=True) as connection:
            expires = await self.now(connection) + ttl
            if not await _change(connection, lease, {"expires": expires}):
                raise fencing.LeaseLost(f"another process took over the lease {lease.name}")
        return dataclasses.replace(lease, expires=expires)

    @database.finished
    async def release(self, lease: records.Lease) -> None:
        """Give it back, so that another need not wait; nothing happens when overtaken."""
        async with self._base.writing(urgent=True) as connection:
            await _change(connection, lease, {"owner": "", "expires": await self.now(connection)})

    async def look(self, name: str) -> records.Lease | None:
        """Return the lease as it was taken or renewed last, expired or not; None: it is free."""
        row = await self._base.row(_WANTED, {"of_name": name})
        return rows.read(records.Lease, row) if row is not None and row.owner else None

    @database.finished
    async def current(self, name: str) -> records.Lease | None:
        """Return who holds it now; None: nobody does."""
        lease = await self.look(name)
        if lease is None:
            return None
        async with self._base.reading() as connection:
            now = await self.now(connection)
        return lease if lease.expires > now else None

    async def now(self, connection: connections.Connection) -> datetime:
        """Return the time by the store's clock."""
        if self._clock is not None:
            return self._clock.now()
        now: datetime = (await connection.execute(_DATABASE_TIME)).scalar_one()
        return now.astimezone(UTC)


async def _change(
    connection: connections.Connection, lease: records.Lease, values: dict[str, Any]
) -> bool:
    of_lease = {"of_name": lease.name, "of_owner": lease.owner, "of_number": lease.number}
    renamed = {f"new_{name}": value for name, value in values.items()}
    changed = await connection.execute(_changing(tuple(values)), {**of_lease, **renamed})
    return changed.rowcount == 1


@functools.cache
def _changing(names: tuple[str, ...]) -> sa.Update:
    """Return what changes columns of a lease, of one holder."""
    leases = tables.leases
    return (
        sa.update(leases)
        .where(
            leases.c.name == sa.bindparam("of_name"),
            leases.c.owner == sa.bindparam("of_owner"),
            leases.c.number == sa.bindparam("of_number"),
        )
        .values({name: sa.bindparam(f"new_{name}") for name in names})
    )
