"""Deadlines of requests whose task has to stop.

Without them, a cluster that takes connections and answers nothing holds its task for as long as
requests are tried again, minutes after the task's time is over, and all who wait for the task.
What is being written is waited for as ever; but nothing is tried again, and a read that has no
answer yet gets a few seconds.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from datetime import timedelta


class StopDeadline:
    """What the requests of one task have to know."""

    def __init__(self) -> None:
        self._stopping = asyncio.Event()
        self._limits: dict[asyncio.Timeout, float] = {}

    def begin(self) -> None:
        """The task has to stop."""
        self._stopping.set()
        now = asyncio.get_running_loop().time()
        for limit, grace in self._limits.items():
            limit.reschedule(now + grace)

    async def rest(self, delay: timedelta) -> bool:
        """Wait before the next try; returns whether there may be one."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(delay.total_seconds()):
                await self._stopping.wait()
        return not self._stopping.is_set()

    @contextlib.asynccontextmanager
    async def limited(self, grace: float) -> AsyncIterator[None]:
        """Give the block `grace` seconds once the task has to stop.

        Raises:
            TimeoutError: They are over.
        """
        async with asyncio.timeout(grace if self._stopping.is_set() else None) as limit:
            self._limits[limit] = grace
            try:
                yield
            finally:
                del self._limits[limit]


_CURRENT: ContextVar[StopDeadline | None] = ContextVar("stop deadline", default=None)


@contextlib.contextmanager
def of_task() -> Iterator[StopDeadline]:
    """Have the requests that are sent in the block heed what is yielded."""
    deadline = StopDeadline()
    token = _CURRENT.set(deadline)
    try:
        yield deadline
    finally:
        _CURRENT.reset(token)


async def sleep(delay: timedelta) -> bool:
    """Wait before the next try of a request; returns whether there may be one."""
    deadline = _CURRENT.get()
    if deadline is not None:
        return await deadline.rest(delay)
    await asyncio.sleep(delay.total_seconds())
    return True


def limited(grace: float) -> contextlib.AbstractAsyncContextManager[None]:
    """Give the block `grace` seconds once its task has to stop; else all the time it takes.

    Raises:
        TimeoutError: They are over.
    """
    deadline = _CURRENT.get()
    return contextlib.nullcontext() if deadline is None else deadline.limited(grace)
