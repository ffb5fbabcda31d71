"""Leases in a database."""

from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from volary.model import clocks
from volary.store import fencing, records
from volary.store.sql.database import database
from volary.store.sql.schema import tables


class Leases:
    """See `protocol.Leases`."""

    def __init__(self, base: database.Database, clock: clocks.Clock) -> None:
        self._base = base
        self._clock = clock

    @database.finished
    async def acquire(self, name: str, owner: str, ttl: timedelta) -> records.Lease | None:
        """Take a lease that is free, expired or already `owner`'s."""
        now = self._clock.now()
        leases = tables.leases
        async with self._base.writing(urgent=True) as connection:
            # The row is there from now on, so that whoever comes at the same time waits for it.
            await connection.execute(
                database.upsert(connection, leases, update=()),
                {"name": name, "owner": "", "number": 0, "expires": now},
            )
            row = (
                await connection.execute(
                    sa.select(leases).where(leases.c.name == name).with_for_update()
                )
            ).one()
            if row.owner not in ("", owner) and row.expires > now:
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
        """Hold it for another `ttl` from now."""
        expires = self._clock.now() + ttl
        changed = await self._change(lease, {"expires": expires})
        if not changed:
            raise fencing.LeaseLost(f"another process took over the lease {lease.name}")
        return records.Lease(lease.name, lease.owner, lease.number, expires)

    @database.finished
    async def release(self, lease: records.Lease) -> None:
        """Give it back."""
        await self._change(lease, {"owner": "", "expires": self._clock.now()})

    @database.finished
    async def current(self, name: str) -> records.Lease | None:
        """Return who holds it now."""
        query = sa.select(tables.leases).where(tables.leases.c.name == name)
        async with self._base.reading() as connection:
            row = (await connection.execute(query)).one_or_none()
        if row is None or not row.owner or row.expires <= self._clock.now():
            return None
        return records.Lease(row.name, row.owner, row.number, row.expires)

    async def _change(self, lease: records.Lease, values: dict[str, Any]) -> bool:
        leases = tables.leases
        statement = (
            sa.update(leases)
            .where(
                leases.c.name == lease.name,
                leases.c.owner == lease.owner,
                leases.c.number == lease.number,
            )
            .values(values)
        )
        async with self._base.writing(urgent=True) as connection:
            return (await connection.execute(statement)).rowcount == 1
