"""Group commit: while one batch of writes is on its way, the next one gathers.

Whoever comes to the lock first writes for all who wait; when their turn comes, their answer
is there. No waiting for company: a lonely write is made at once.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

from volary.model import errors
from volary.store.sql.database import database

Write = TypeVar("Write")
Kept = TypeVar("Kept")


class GroupCommit(Generic[Write, Kept]):
    """Hands writes to `writer` in batches.

    Args:
        writer: Writes a batch in one transaction, and says of each what became of it.
        key: What a write is about: of two about the same, the second waits for the next batch.
        most: Writes in one batch at most.
    """

    def __init__(
        self,
        writer: Callable[[Sequence[Write]], Awaitable[list[Kept | Exception]]],
        key: Callable[[Write], Hashable],
        *,
        most: int,
    ) -> None:
        self._writer = writer
        self._key = key
        self._most = most
        self._waiting: deque[tuple[Write, asyncio.Future[Kept | Exception]]] = deque()
        self._lock = asyncio.Lock()

    async def keep(self, write: Write) -> Kept:
        """Return once `write` is safe; raises what it was refused with."""
        answer: asyncio.Future[Kept | Exception] = asyncio.get_running_loop().create_future()
        self._waiting.append((write, answer))
        try:
            while not answer.done():
                async with self._lock:
                    if not answer.done():
                        await self._write_some()
        except asyncio.CancelledError:
            # Nobody waits for the answer; a batch it is part of is written all the same.
            answer.cancel()
            raise
        result = answer.result()
        if isinstance(result, Exception):
            raise result
        return result

    @database.finished
    async def _write_some(self) -> None:
        batch = self._take()
        results = await self._results([write for write, _ in batch])
        for (_, answer), result in zip(batch, results, strict=True):
            if not answer.done():
                answer.set_result(result)

    def _take(self) -> list[tuple[Write, asyncio.Future[Kept | Exception]]]:
        batch: list[tuple[Write, asyncio.Future[Kept | Exception]]] = []
        later: list[tuple[Write, asyncio.Future[Kept | Exception]]] = []
        keys: set[Hashable] = set()
        while self._waiting and len(batch) < self._most:
            write, answer = self._waiting.popleft()
            if answer.done():
                continue  # whoever asked has gone
            if self._key(write) in keys:
                later.append((write, answer))
                continue
            keys.add(self._key(write))
            batch.append((write, answer))
        self._waiting.extendleft(reversed(later))
        return batch

    async def _results(self, writes: Sequence[Write]) -> list[Kept | Exception]:
        """Write a batch; when something is wrong with one of it, each by itself."""
        try:
            return await self._writer(writes)
        except errors.TemporaryError as error:
            return [error] * len(writes)
        except Exception as error:  # noqa: BLE001 (raised by `keep`, for whom it concerns)
            if len(writes) == 1:
                return [error]
        return [result for write in writes for result in await self._results([write])]
