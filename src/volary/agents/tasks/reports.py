"""What tasks say, on its way to the server: gathered, then sent."""

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from volary.agents.tasks import services
from volary.engine.observers import feed
from volary.model import errors

_LOG = logging.getLogger(__name__)
#: Items that wait at most; the oldest are dropped beyond that.
_MOST = 10_000
_SECONDS = 0.5


class RunReports:
    """An observer of one run on one cluster that keeps for the server what its tasks say."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.waiting: deque[services.Said] = deque()
        self.dropped = 0
        #: What was sent last may have been kept, or not.
        self.is_doubtful = False

    def notify(self, event: feed.RunEvent) -> None:
        """Take what is kept; other events are not for the server."""
        if isinstance(event, services.Said):
            self.waiting.append(event)
            if len(self.waiting) > _MOST:
                self.waiting.popleft()
                self.dropped += 1

    def first(self, most: int) -> services.Report:
        """Return what is sent next."""
        return services.Report(
            self.run, tuple(itertools.islice(self.waiting, most)), self.is_doubtful
        )

    def forget(self, sent: services.Report, refusal: str) -> None:
        """Forget what was sent; meanwhile the oldest may have been dropped."""
        if refusal:
            _LOG.warning("what tasks of run %s said is not kept: %s", self.run, refusal)
        self.is_doubtful = False
        for item in sent.said:
            if self.waiting and self.waiting[0] is item:
                self.waiting.popleft()
        if self.dropped:
            _LOG.warning("%d lines of run %s were dropped", self.dropped, self.run)
            self.dropped = 0


class Reports:
    """What tasks of all runs say that a process carries out, sent together.

    What could not be sent is sent again: the server takes the same once.
    """

    def __init__(self, server: services.Services, runs: Callable[[], Iterable[RunReports]]) -> None:
        self._server = server
        #: Those that there are now.
        self._runs = runs
        self._sending = asyncio.Lock()

    async def keep_sending(self) -> None:
        """Send what has gathered, again and again, until cancelled."""
        while True:
            await asyncio.sleep(_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """Send what has gathered; what the server cannot take now waits for the next time."""
        async with self._sending:
            while batch := self._next():
                for run, _ in batch:
                    run.is_doubtful = True
                try:
                    refusals = await self._send([report for _, report in batch])
                except errors.TemporaryError:
                    return
                for (run, report), refusal in zip(batch, refusals, strict=True):
                    run.forget(report, refusal)

    async def _send(self, reports: Sequence[services.Report]) -> Sequence[str]:
        """Send reports and return why each is refused; empty: it is kept.

        Raises:
            errors.TemporaryError: The server takes nothing now.
        """
        try:
            return await self._server.report(reports)
        except errors.PermanentError as error:
            if len(reports) == 1:
                return [str(error)]
        # One of them cannot be taken, which is no reason to keep none.
        return [refusal for each in reports for refusal in await self._send([each])]

    def _next(self) -> list[tuple[RunReports, services.Report]]:
        batch: list[tuple[RunReports, services.Report]] = []
        room = services.MOST_SAID
        for run in self._runs():
            if room and run.waiting:
                report = run.first(room)
                room -= len(report.said)
                batch.append((run, report))
        return batch
