"""The fence of a write, checked in the write's own transaction."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import sqlalchemy as sa

from volary.model.runs import run_records
from volary.store import fencing
from volary.store.sql.database import connections
from volary.store.sql.schema import tables

Item = TypeVar("Item", covariant=True)

#: The newest number of each lease; made once, for it is a part of every write.
_NUMBERS = (
    sa.select(tables.leases.c.name, tables.leases.c.number)
    .where(tables.leases.c.name.in_(sa.bindparam("names", expanding=True)))
    .order_by(tables.leases.c.name)
    # Only the key: renewals go through, and a takeover waits for what was let through.
    .with_for_update(read=True, key_share=True)
)


@dataclass(frozen=True, slots=True)
class Fenced(Generic[Item]):
    """Something to be kept, with the fence that is shown for it."""

    item: Item
    fence: run_records.Fence | None


async def _numbers(connection: connections.Connection, names: Collection[str]) -> dict[str, int]:
    """Return the newest number of each lease; none of them is taken over before the commit."""
    if not names:
        return {}
    rows = await connection.execute(_NUMBERS, {"names": sorted(names)})
    return {row.name: row.number for row in rows}


async def check(connection: connections.Connection, fence: run_records.Fence | None) -> None:
    """Let the holder of the lease pass.

    Raises:
        fencing.LeaseLost: It was taken over.
    """
    if fence is not None:
        refusal = fencing.fence_refusal(fence, await _numbers(connection, {fence.name}))
        if refusal is not None:
            raise refusal


async def refusals(
    connection: connections.Connection, writes: Sequence[Fenced[Item]]
) -> list[fencing.LeaseLost | None]:
    """Return of each write why its fence lets nobody pass; None: it does."""
    known = await _numbers(connection, {write.fence.name for write in writes if write.fence})
    return [fencing.fence_refusal(write.fence, known) for write in writes]
