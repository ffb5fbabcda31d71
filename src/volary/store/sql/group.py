"""Group commit: while one batch of transitions is written, the next one gathers.

Whoever comes to the lock first writes for all who wait; when their turn comes, their answer
is there. No waiting for company: a lonely transition is written at once.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from volary.model import errors, record
from volary.store.sql import database, transitions

Writer = Callable[[Sequence[transitions.Write]], Awaitable[list[transitions.Result]]]

_Waiting = tuple[transitions.Write, asyncio.Future[transitions.Result]]


class GroupCommit:
    """Hands transitions to `writer` in batches of at most `most`, one of each run."""

    def __init__(self, writer: Writer, *, most: int) -> None:
        self._writer = writer
        self._most = most
        self._waiting: deque[_Waiting] = deque()
        self._lock = asyncio.Lock()

    async def keep(self, write: transitions.Write) -> record.Kept:
        """Return once `write` is safe; raises what it was refused with."""
        answer: asyncio.Future[transitions.Result] = asyncio.get_running_loop().create_future()
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

    def _take(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        later: list[_Waiting] = []
        runs: set[str] = set()
        while self._waiting and len(batch) < self._most:
            write, answer = self._waiting.popleft()
            if answer.done():
                continue  # whoever asked has gone
            if write.run_id in runs:
                later.append((write, answer))
                continue
            runs.add(write.run_id)
            batch.append((write, answer))
        self._waiting.extendleft(reversed(later))
        return batch

    async def _results(self, writes: Sequence[transitions.Write]) -> list[transitions.Result]:
        """Write a batch; when something is wrong with one of it, each by itself."""
        try:
            return await self._writer(writes)
        except errors.VolaryError as error:
            return [error] * len(writes)
        except Exception as error:  # noqa: BLE001 (raised by `keep`, for whom it concerns)
            if len(writes) == 1:
                return [error]
        return [result for write in writes for result in await self._results([write])]
