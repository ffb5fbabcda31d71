"""Clocks that are set forward or back, or machines that were suspended: seen, and evened out.

The loop's time goes on evenly. What a clock is ahead of it by all at once, nobody had for work;
and what it is behind, nobody has once more.
"""

import asyncio
from datetime import datetime, timedelta

from volary.model import clocks

#: What is less is a busy machine, or a clock that is being adjusted.
_TOLERATED = timedelta(seconds=10)


class JumpMeter:
    """Compares a clock with the loop's time, from look to look."""

    def __init__(self, clock: clocks.Clock) -> None:
        self._clock = clock
        self._offset: timedelta | None = None

    def look(self) -> tuple[datetime, timedelta]:
        """Return the time, and how far the clock was set forward, or back, since the last look."""
        now = self._clock.now()
        passed = timedelta(seconds=asyncio.get_running_loop().time())
        offset = now - datetime.min.replace(tzinfo=now.tzinfo) - passed
        jump = offset - self._offset if self._offset is not None else timedelta()
        self._offset = offset
        return now, jump if abs(jump) > _TOLERATED else timedelta()


class SteadyClock:
    """Shows what a clock would show had nobody set it since this one was made."""

    def __init__(self, clock: clocks.Clock) -> None:
        self._meter = JumpMeter(clock)
        self._ahead = timedelta()
        self._meter.look()

    def now(self) -> datetime:
        """Return the current time in UTC."""
        now, jump = self._meter.look()
        self._ahead += jump
        return now - self._ahead
