"""Deadlines of requests whose task was told to stop.

Without them, a cluster that takes connections and answers nothing holds its task for as long as
requests are tried again, minutes after the task's time is over, and all who wait for the task.
What is being written is waited for as ever; but nothing is tried again, and a read that has no
answer yet gets a moment.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from datetime import timedelta


class StopDeadline:
    """What the requests of one task have to know."""

    def __init__(self) -> None:
        self._told = asyncio.Event()
        self._limits: dict[asyncio.Timeout, float] = {}

    def begin(self) -> None:
        """The task was told to stop."""
        self._told.set()
        now = asyncio.get_running_loop().time()
        for limit, moment in self._limits.items():
            limit.reschedule(now + moment)

    async def rest(self, delay: timedelta) -> bool:
        """Wait before the next try; returns whether there may be one."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(delay.total_seconds()):
                await self._told.wait()
        return not self._told.is_set()

    @contextlib.asynccontextmanager
    async def limited(self, moment: float) -> AsyncIterator[None]:
        """Give the block `moment` seconds once the task is told to stop.

        Raises:
            TimeoutError: They are over.
        """
        async with asyncio.timeout(moment if self._told.is_set() else None) as limit:
            self._limits[limit] = moment
            try:
                yield
            finally:
                del self._limits[limit]


_CURRENT: ContextVar[StopDeadline | None] = ContextVar("haste", default=None)


@contextlib.contextmanager
def of_task() -> Iterator[StopDeadline]:
    """Have the requests that are sent in the block heed what is yielded."""
    haste = StopDeadline()
    token = _CURRENT.set(haste)
    try:
        yield haste
    finally:
        _CURRENT.reset(token)


async def sleep(delay: timedelta) -> bool:
    """Wait before the next try of a request; returns whether there may be one."""
    haste = _CURRENT.get()
    if haste is not None:
        return await haste.rest(delay)
    await asyncio.sleep(delay.total_seconds())
    return True


@contextlib.asynccontextmanager
async def limited(moment: float) -> AsyncIterator[None]:
    """Give the block `moment` seconds once its task is told to stop; else all the time it takes.

    Raises:
        TimeoutError: They are over.
    """
    haste = _CURRENT.get()
    if haste is None:
        yield
        return
    async with haste.limited(moment):
        yield
