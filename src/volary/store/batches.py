"""Collects log lines and keeps them in batches, so that no task waits for the database."""

import asyncio
import logging
from collections import Counter
from datetime import timedelta

from volary.model import errors
from volary.model.runs import run_records
from volary.store import protocol, records

_LOG = logging.getLogger(__name__)


class LogBatches:
    """Takes lines at once and keeps them soon; one for each process.

    Args:
        logs: Where they are kept.
        fence: Shown with every batch.
        every: How long a line waits at most while the database works.
        most: Lines of one batch.
        room: Lines that wait at most; when the database is away for long, further ones are
            dropped, and their task's log says how many.
    """

    def __init__(
        self,
        logs: protocol.Logs,
        *,
        fence: run_records.Fence | None,
        every: timedelta = timedelta(milliseconds=500),
        most: int = 500,
        room: int = 20_000,
    ) -> None:
        self._logs = logs
        self._fence = fence
        self._every = every
        self._most = most
        self._room = room
        self._waiting: list[records.LogLine] = []
        #: How many lines of each task were dropped, and the last one.
        self._dropped: Counter[tuple[str, str, str]] = Counter()
        self._last: dict[tuple[str, str, str], records.LogLine] = {}
        self._full = asyncio.Event()
        self._is_away = False

    def add(self, line: records.LogLine) -> None:
        """Take a line; never waits and never fails."""
        if len(self._waiting) >= self._room:
            task = (line.run_id, line.stage, line.target)
            self._dropped[task] += 1
            self._last[task] = line
            return
        self._waiting.append(line)
        if len(self._waiting) >= self._most:
            self._full.set()

    async def run(self) -> None:
        """Keep lines until cancelled; the owner then calls `flush` for the rest.

        Raises:
            faults.Overtaken: Another process holds the leader lease now.
        """
        while True:
            try:
                async with asyncio.timeout(self._every.total_seconds()):
                    await self._full.wait()
            except TimeoutError:
                pass  # what waits is kept now, however little it is
            self._full.clear()
            if not await self._try():
                # No hurry while the database is away, however much waits.
                await asyncio.sleep(self._every.total_seconds())

    async def flush(self) -> None:
        """Keep all that waits.

        Raises:
            errors.TemporaryError: The database does not work; the lines wait on.
            faults.Overtaken: Another process holds the leader lease now.
        """
        while self._waiting:
            batch = self._waiting[: self._most]
            await self._logs.append(batch, fence=self._fence)
            del self._waiting[: len(batch)]
        if self._dropped:
            lines = [_missing(line, self._dropped[task]) for task, line in self._last.items()]
            await self._logs.append(lines, fence=self._fence)
            self._dropped.clear()
            self._last.clear()

    async def _try(self) -> bool:
        """Keep what waits; say once when the database goes away, and once when it is back."""
        try:
            await self.flush()
        except errors.TemporaryError as error:
            if not self._is_away:
                _LOG.warning("logs of tasks are kept later: %s", error)
            self._is_away = True
            return False
        if self._is_away:
            _LOG.warning("logs of tasks are kept again")
        self._is_away = False
        return True


def _missing(last: records.LogLine, count: int) -> records.LogLine:
    return records.LogLine(
        run_id=last.run_id,
        stage=last.stage,
        target=last.target,
        attempt=last.attempt,
        at=last.at,
        level="warning",
        text=f"{count} lines are missing here: the database was away for too long",
    )
