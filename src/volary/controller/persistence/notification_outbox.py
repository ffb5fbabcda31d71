"""Undelivered notifications in the store: the next leader delivers them."""

import msgspec

from volary.model.runs import run_records
from volary.notifying import outbox
from volary.store import stores

_NAME = "notifications"


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
        """Return what was saved last; what cannot be understood counts as nothing."""
        document = await self._store.memories.recall("", "", _NAME)
        try:
            return msgspec.convert(document, outbox.Contents)
        except msgspec.ValidationError:
            return outbox.Contents()

    async def save(self, contents: outbox.Contents) -> None:
        """Keep `contents` in the place of what was there."""
        document = msgspec.to_builtins(contents)
        await self._store.memories.keep("", "", _NAME, document, fence=self.fence)
