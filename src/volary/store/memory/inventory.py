"""What was applied where, in memory."""

from collections.abc import Sequence

from volary.model.runs import run_records
from volary.store import records
from volary.store.memory import shelves


class Inventory:
    """See `protocol.Inventory`."""

    def __init__(self, shelf: shelves.Shelves) -> None:
        self._shelf = shelf

    async def replace(
        self,
        application: str,
        target: str,
        items: Sequence[records.InventoryItem],
        *,
        fence: run_records.Fence | None,
    ) -> None:
        """Keep exactly `items` for an application in a cluster."""
        self._shelf.check_fence(fence)
        unique = {item.key: shelves.own(item) for item in items}
        self._shelf.inventory[application, target] = tuple(unique[key] for key in sorted(unique))

    async def list(self, application: str, target: str) -> tuple[records.InventoryItem, ...]:
        """Return what is kept, in order of the key."""
        return self._shelf.inventory.get((application, target), ())
