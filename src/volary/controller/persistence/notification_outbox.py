"""Undelivered notifications in the store: the next leader delivers them."""

import msgspec

from volary.controller.persistence import retry
from volary.model import json
from volary.model.runs import run_records
from volary.notifying import outbox
from volary.store import stores

_NAME = "notifications"


class _Places(msgspec.Struct, frozen=True):
    places: dict[str, str] = msgspec.field(default_factory=dict)


class StoreOutbox:
    """See `outbox.Outbox`; it belongs to no application and no cluster.

    Args:
        store: Where it is kept.
    """

    def __init__(self, store: stores.Store) -> None:
        self._store = store
        #: Proof that this process is the leader: nobody else may say what is delivered.
        self.fence: run_records.Fence | None = None

    async def load(self) -> outbox.Contents:
        """Return what is kept, once the store can be read."""
        return await retry.until_available(self._load, "reading notifications")

    async def _load(self) -> outbox.Contents:
        document = await self._store.memories.recall("", "", _NAME)
        try:
            places = json.convert(document, _Places).places
        except msgspec.ValidationError:
            places = {}
        return outbox.Contents(await self._store.notifications.waiting(), places)

    async def save(self, change: outbox.Change) -> None:
        """Keep a change; where messages are before they count as delivered."""
        if change.places is not None:
            document = msgspec.to_builtins(_Places(dict(change.places)))
            await self._store.memories.keep("", "", _NAME, document, fence=self.fence)
        if change.added or change.removed:
            await self._store.notifications.change(change.added, change.removed, fence=self.fence)
