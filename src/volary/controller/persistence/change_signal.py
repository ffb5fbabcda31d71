"""Wakes those who look for changes, within this process; others look from time to time."""

import asyncio


class ChangeSignal:
    """Signals when something was stored."""

    def __init__(self) -> None:
        self._next = asyncio.Event()
        #: Counts up with each signal.
        self.count = 0

    def notify_all(self) -> None:
        """Wake everybody who waits."""
        self.count += 1
        self._next.set()
        self._next = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Return at the next signal, at the latest after `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._next.wait()
        except TimeoutError:
            return
