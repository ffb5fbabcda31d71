"""Time as the machine has it."""

import time
from datetime import UTC, datetime


class SystemClock:
    """Time as the machine has it."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - this is the clock others take


#: Goes on while the machine sleeps. Where it has no name, the monotonic clock is that one.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def elapsed() -> float:
    """Return seconds that only go forward, also while this process or machine stands still."""
    return time.clock_gettime(_CLOCK)
