"""Logs of tasks on their way into the store: gathered, and written in batches.

Lines are kept for at most half a second or until there are many. When the store is gone they
pile up to a bound; then the oldest are dropped, and a line says how many.
"""

import asyncio
from collections import deque

from volary.engine.execution import ticks
from volary.engine.observers import feed
from volary.model import errors
from volary.model.runs import run_records
from volary.store import protocol, records

#: Lines written at once, and kept in memory at most.
_BATCH, _MOST = 500, 10_000
#: Seconds between two writes; the books of all runs are written at the same moments.
_INTERVAL = 0.5


class LogWriter:
    """An observer of one run that keeps what its tasks say."""

    def __init__(self, store: protocol.Store, *, fence: run_records.Fence | None) -> None:
        self._store = store
        self._fence = fence
        self._waiting: deque[records.LogLine] = deque()
        self._dropped = 0
        self._full = asyncio.Event()

    def notify(self, event: feed.RunEvent) -> None:
        """Take a line of a task's log; other events are not for the log."""
        if not isinstance(event, feed.TaskLogged):
            return
        self._waiting.append(_line(event, event.line))
        self._shorten()
        if len(self._waiting) >= _BATCH:
            self._full.set()

    async def keep_writing(self) -> None:
        """Write what has gathered, again and again; `flush` writes the rest at the end."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                async with asyncio.timeout_at(ticks.next_tick(loop.time(), _INTERVAL)):
                    await self._full.wait()
            except TimeoutError:
                pass
            await self.flush()

    async def flush(self) -> None:
        """Write what has gathered; what the store cannot take now waits for the next time."""
        self._full.clear()
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
            gap = [_gap(batch[0], self._dropped)] if self._dropped else []
            written = False
            try:
                await self._store.logs.append([*gap, *batch], fence=self._fence)
                written = True
            except errors.TemporaryError:
                return
            finally:
                if written:
                    self._dropped = 0
                else:
                    self._waiting.extendleft(reversed(batch))
                    self._shorten()

    def _shorten(self) -> None:
        while len(self._waiting) > _MOST:
            self._waiting.popleft()
            self._dropped += 1


def _line(event: feed.TaskLogged, text: str) -> records.LogLine:
    return records.LogLine(
        run_id=event.run,
        stage=event.stage,
        target=event.target,
        attempt=event.attempt,
        at=event.at,
        level=event.level.value,
        text=text,
    )


def _gap(first: records.LogLine, dropped: int) -> records.LogLine:
    return records.LogLine(
        run_id=first.run_id,
        stage=first.stage,
        target=first.target,
        attempt=first.attempt,
        at=first.at,
        level="warning",
        text=f"{dropped} lines were dropped here: they could not be written in time",
    )
