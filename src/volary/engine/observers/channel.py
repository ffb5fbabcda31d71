"""A bounded queue between a run and a slow reader.

Events about the run, its stages and tasks are always delivered: their number is
bounded by the run. Progress and log lines are dropped, oldest first, when more than
`capacity` wait; the gap shows in the events' numbers.
"""

import asyncio
from collections import deque

from volary.engine.observers import feed


class Channel:
    """An observer that is read as an asynchronous iterator; ends after `RunFinished`."""

    def __init__(self, capacity: int = 10_000) -> None:
        self._waiting: deque[feed.RunEvent] = deque()
        self._capacity = capacity
        self._lossy = 0
        self._ready = asyncio.Event()
        self._closed = False
        #: How many progress and log events were dropped.
        self.dropped = 0

    def notify(self, event: feed.RunEvent) -> None:
        """Take one event; never blocks."""
        if isinstance(event, feed.LOSSY):
            if self._lossy >= self._capacity:
                self._drop_oldest()
            self._lossy += 1
        self._waiting.append(event)
        if isinstance(event, feed.RunFinished):
            self._closed = True
        self._ready.set()

    def close(self) -> None:
        """End the iteration after what is waiting, for a run that does not finish here."""
        self._closed = True
        self._ready.set()

    def __aiter__(self) -> "Channel":
        return self

    async def __anext__(self) -> feed.RunEvent:
        while not self._waiting:
            if self._closed:
                raise StopAsyncIteration
            self._ready.clear()
            await self._ready.wait()
        event = self._waiting.popleft()
        if isinstance(event, feed.LOSSY):
            self._lossy -= 1
        return event

    def _drop_oldest(self) -> None:
        for position, event in enumerate(self._waiting):
            if isinstance(event, feed.LOSSY):
                del self._waiting[position]
                self._lossy -= 1
                self.dropped += 1
                return
