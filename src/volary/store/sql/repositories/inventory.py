"""What was applied where, in a database."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from volary.model.objects import manifest
from volary.model.runs import run_records
from volary.store import records
from volary.store.sql.database import database
from volary.store.sql.schema import fences, tables


class Inventory:
    """See `protocol.Inventory`."""

    def __init__(self, base: database.Database) -> None:
        self._base = base

    @database.finished
    async def replace(
        self,
        application: str,
        target: str,
        items: Sequence[records.InventoryItem],
        *,
        fence: run_records.Fence | None,
    ) -> None:
        """Keep exactly `items` for an application in a cluster."""
        inventory = tables.inventory
        async with self._base.writing() as connection:
            await fences.check(connection, fence)
            await connection.execute(
                sa.delete(inventory).where(
                    inventory.c.application == application, inventory.c.target == target
                )
            )
            unique = {item.key: item for item in items}
            if unique:
                await connection.execute(
                    sa.insert(inventory),
                    [_values(application, target, item) for item in unique.values()],
                )

    @database.finished
    async def list(self, application: str, target: str) -> tuple[records.InventoryItem, ...]:
        """Return what is kept, in order of the key."""
        inventory = tables.inventory.c
        query = (
            sa.select(tables.inventory)
            .where(inventory.application == application, inventory.target == target)
            .order_by(inventory.api_group, inventory.kind, inventory.namespace, inventory.name)
        )
        async with self._base.reading() as connection:
            return tuple(map(_item, await connection.execute(query)))


def _values(application: str, target: str, item: records.InventoryItem) -> dict[str, Any]:
    return {
        "application": application,
        "target": target,
        "api_group": item.key.group,
        "kind": item.key.kind,
        "namespace": item.key.namespace,
        "name": item.key.name,
        "api_version": item.api_version,
        "commit_hash": item.commit,
    }


def _item(row: sa.Row[Any]) -> records.InventoryItem:
    key = manifest.ResourceKey(row.api_group, row.kind, row.namespace, row.name)
    return records.InventoryItem(key, row.api_version, row.commit_hash)
