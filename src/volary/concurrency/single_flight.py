"""What several ask for at a time is done once, for all of them."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from volary.concurrency import races

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SharedResult(Generic[T]):
    """What was done, and for whom it was done by somebody else."""

    value: T
    #: Who did it.
    by: str


class SingleFlight:
    """Who comes first does it; who comes meanwhile or later gets the result.

    When the one that does it is broken off or raises, the next one that waits does it.
    """

    def __init__(self) -> None:
        # Of a key the same work is asked for always, so its result is of the type of that work.
        self._known: dict[Hashable, asyncio.Future[SharedResult[Any] | None]] = {}

    async def do(
        self,
        key: Hashable,
        target: str,
        work: Callable[[], Awaitable[T]],
        *,
        is_kept: Callable[[T], bool] = lambda _: False,
        stop: Callable[[], Awaitable[None]] | None = None,
    ) -> SharedResult[T] | None:
        """Have `work` done once for `key`.

        Args:
            key: What it is.
            target: Who comes.
            work: Does it; what it raises is raised to the one that does it only.
            is_kept: Says whether a value stays for those that come after it is known; those
                that wait get it in any case.
            stop: Returns when this one waits no longer; None: it waits for the result.

        Returns:
            The result; None when this one stopped waiting.
        """
        while True:
            running = self._known.get(key)
            if running is None:
                return await self._do(key, target, work, is_kept)
            # Shielded: whoever does it goes on when this one leaves.
            shared = asyncio.shield(running)
            if stop is None:
                await shared
            else:
                await races.first(shared, stop())
            if not running.done():
                return None
            shared_result = None if running.cancelled() else running.result()
            if shared_result is not None:
                return shared_result

    def forget(self, key: Hashable) -> None:
        """Know nothing of a key any more, unless it is just being done."""
        known = self._known.get(key)
        if known is not None and known.done():
            del self._known[key]

    async def _do(
        self,
        key: Hashable,
        target: str,
        work: Callable[[], Awaitable[T]],
        is_kept: Callable[[T], bool],
    ) -> SharedResult[T]:
        self._known[key] = future = asyncio.get_running_loop().create_future()
        result: SharedResult[T] | None = None
        try:
            result = SharedResult(await work(), target)
        finally:
            if result is None or not is_kept(result.value):
                del self._known[key]
            future.set_result(result)
        return result
