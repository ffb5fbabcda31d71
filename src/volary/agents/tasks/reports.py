"""What tasks say, on its way to the server: gathered, then sent."""

import asyncio
import logging
from collections import deque
from collections.abc import Iterable

from volary.agents.tasks import services
from volary.engine.observers import feed
from volary.model import errors

_LOG = logging.getLogger(__name__)
#: Items that wait at most; the oldest are dropped beyond that.
_MOST = 10_000
_SECONDS = 0.5


class Reports:
    """An observer of one run that sends what is kept of its tasks.

    What could not be sent is sent again: the server takes the same once.
    """

    def __init__(self, server: services.Services, run: str) -> None:
        self._server = server
        self._run = run
        self._waiting: deque[services.Said] = deque()
        self._sending = asyncio.Lock()
        self._dropped = 0
        #: What was sent last may have been kept, or not.
        self._is_doubtful = False

    def notify(self, event: feed.RunEvent) -> None:
        """Take what is kept; other events are not for the server."""
        if isinstance(event, services.Said):
            self._waiting.append(event)
            if len(self._waiting) > _MOST:
                self._waiting.popleft()
                self._dropped += 1

    async def keep_sending(self) -> None:
        """Send what has gathered, again and again, until cancelled."""
        while True:
            await asyncio.sleep(_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """Send what has gathered; what the server cannot take now waits for the next time."""
        async with self._sending:
            while self._waiting:
                count = min(len(self._waiting), services.MOST_SAID)
                batch = [self._waiting[index] for index in range(count)]
                again, self._is_doubtful = self._is_doubtful, True
                try:
                    await self._server.report(self._run, batch, again=again)
                except errors.TemporaryError:
                    return
                except errors.PermanentError as error:
                    _LOG.warning("what tasks of run %s said is not kept: %s", self._run, error)
                self._is_doubtful = False
                self._forget(batch)
                if self._dropped:
                    _LOG.warning("%d lines of run %s were dropped", self._dropped, self._run)
                    self._dropped = 0

    def _forget(self, sent: Iterable[services.Said]) -> None:
        """Forget what was sent; meanwhile the oldest may have been dropped."""
        for item in sent:
            if self._waiting and self._waiting[0] is item:
                self._waiting.popleft()
