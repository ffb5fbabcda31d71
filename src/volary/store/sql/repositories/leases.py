"""Leases in a database."""

import dataclasses
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from volary.model import clocks
from volary.store import fencing, records
from volary.store.sql.database import database
from volary.store.sql.schema import rows, tables


class Leases:
    """Who may lead. Whether a lease has expired is judged by the store's clock."""

    def __init__(self, base: database.Database, clock: clocks.Clock) -> None:
        self._base = base
        self._clock = clock

    @database.finished
    async def acquire(self, name: str, owner: str, ttl: timedelta) -> records.Lease | None:
        """Take a lease that is free, expired or already `owner`'s; None: another holds it.

        A taken lease always has a new number, so earlier holders (an earlier life of the
        same owner too) are fenced off.
        """
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
        """Hold it for another `ttl` from now; also when it expired but nobody took it.

        Raises:
            fencing.LeaseLost: Somebody else has it, or it was released.
        """
        expires = self._clock.now() + ttl
        changed = await self._change(lease, {"expires": expires})
        if not changed:
            raise fencing.LeaseLost(f"another process took over the lease {lease.name}")
        return dataclasses.replace(lease, expires=expires)

    @database.finished
    async def release(self, lease: records.Lease) -> None:
        """Give it back, so that another need not wait; nothing happens when overtaken."""
        await self._change(lease, {"owner": "", "expires": self._clock.now()})

    async def current(self, name: str) -> records.Lease | None:
        """Return who holds it now; None: nobody does."""
        row = await self._base.row(sa.select(tables.leases).where(tables.leases.c.name == name))
        if row is None or not row.owner or row.expires <= self._clock.now():
            return None
        return rows.read(records.Lease, row)

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
