"""Doing something once for all clusters whose tasks come to it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Result(Generic[T]):
    """What was done, and for whom it was done by somebody else."""

    value: T
    #: The cluster whose task did it.
    by: str


class Once:
    """Shared by the tasks of a run in one process.

    Who comes first does it; who comes meanwhile or later gets the result. When the one that
    does it is broken off or raises, the next one that waits does it.
    """

    def __init__(self) -> None:
        self._known: dict[str, asyncio.Future[Result[object] | None]] = {}

    async def do(
        self,
        key: str,
        target: str,
        work: Callable[[], Awaitable[T]],
        *,
        is_kept: Callable[[T], bool],
        stop: Callable[[], Awaitable[None]],
    ) -> Result[T] | None:
        """Have `work` done once for `key`.

        Args:
            key: What it is.
            target: Who comes.
            work: Does it; what it raises is raised to the one that does it only.
            is_kept: Says whether a value stays for those that come after it is known; those
                that wait get it in any case.
            stop: Returns when this one waits no longer.

        Returns:
            The result; None when this one stopped waiting.
        """
        while True:
            running = self._known.get(key)
            if running is None:
                return await self._do(key, target, work, is_kept)
            if not await _either(running, stop):
                return None
            found = None if running.cancelled() else running.result()
            if found is not None:
                return found  # type: ignore[return-value] # of the same key, so the same work

    def forget(self, key: str) -> None:
        """Know nothing of a key any more, unless it is just being done."""
        known = self._known.get(key)
        if known is not None and known.done():
            del self._known[key]

    async def _do(
        self, key: str, target: str, work: Callable[[], Awaitable[T]], is_kept: Callable[[T], bool]
    ) -> Result[T]:
        future: asyncio.Future[Result[object] | None] = asyncio.get_running_loop().create_future()
        self._known[key] = future
        result: Result[T] | None = None
        try:
            result = Result(await work(), target)
        finally:
            if result is None or not is_kept(result.value):
                del self._known[key]
            future.set_result(result)  # type: ignore[arg-type] # as above
        return result


async def _either(
    future: "asyncio.Future[Result[object] | None]", stop: Callable[[], Awaitable[None]]
) -> bool:
    """Wait for a future or for a wish to stop; say whether it was the future."""

    async def stopping() -> None:
        await stop()

    async with asyncio.TaskGroup() as group:
        asked = group.create_task(stopping())
        await asyncio.wait((future, asked), return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
    return future.done()
