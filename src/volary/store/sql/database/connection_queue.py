"""Who may use the database next, when more want to than there are connections.

First come, first served, without a limit of time: each turn is short, and a queue is no fault of
the database. What keeps this process in charge, its lease, goes before everything that waits.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class ConnectionQueue:
    """Lets `width` in at once."""

    def __init__(self, width: int) -> None:
        self._free = width
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._urgent: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def turn(self, *, urgent: bool = False) -> AsyncIterator[None]:
        """Wait for a turn and have it for the length of the block."""
        await self._wait(self._urgent if urgent else self._waiting)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, queue: deque[asyncio.Future[None]]) -> None:
        if self._free:
            self._free -= 1
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self._pass_on()  # it was our turn just now
            raise

    def _pass_on(self) -> None:
        for queue in (self._urgent, self._waiting):
            while queue:
                following = queue.popleft()
                if not following.done():
                    following.set_result(None)
                    return
        self._free += 1
