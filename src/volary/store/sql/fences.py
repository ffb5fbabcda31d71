"""The fence of a write, checked in the write's own transaction."""

from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.ext import asyncio as sa_async

from volary.model import record
from volary.store import verdicts
from volary.store.sql import tables


async def numbers(connection: sa_async.AsyncConnection, names: Collection[str]) -> dict[str, int]:
    """Return the newest number of each lease; none of them is taken over before the commit."""
    if not names:
        return {}
    found = await connection.execute(
        sa.select(tables.leases.c.name, tables.leases.c.number)
        .where(tables.leases.c.name.in_(sorted(names)))
        .order_by(tables.leases.c.name)
        .with_for_update(read=True)
    )
    return {row.name: row.number for row in found}


async def check(connection: sa_async.AsyncConnection, fence: record.Fence | None) -> None:
    """Let the holder of the lease pass.

    Raises:
        faults.Overtaken: It was taken over.
    """
    if fence is not None:
        verdicts.check_fence(fence, await numbers(connection, {fence.name}))
