"""So many at once, and of one owner a part of them only, so that the others always find one free.

Those that wait are served in their order, of each owner by themselves: who has a thousand waiting
holds up nobody else by that.
"""

import asyncio
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class OwnerSlots:
    """Slots of one event loop.

    Args:
        at_once: How many are there.
        of_one_owner: How many of them one owner has at most.
    """

    def __init__(self, at_once: int, of_one_owner: int) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._of_one_owner = of_one_owner
        #: By owner; only of those that have or wait for one.
        self._owners: weakref.WeakValueDictionary[str, asyncio.Semaphore] = (
            weakref.WeakValueDictionary()
        )

    async def take(self, owner: str) -> Callable[[], None]:
        """Wait for a slot and take it; what is returned gives it back, once."""
        places = self._owners.get(owner)
        if places is None:
            places = self._owners[owner] = asyncio.Semaphore(self._of_one_owner)
        await places.acquire()
        try:
            await self._free.acquire()
        except BaseException:
            places.release()
            raise

        def give_back() -> None:
            self._free.release()
            places.release()

        return give_back

    @asynccontextmanager
    async def slot(self, owner: str) -> AsyncIterator[None]:
        """Wait for a slot and have it for the length of the block."""
        give_back = await self.take(owner)
        try:
            yield
        finally:
            give_back()
