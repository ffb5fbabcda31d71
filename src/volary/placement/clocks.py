"""How long something has been seen without a break. Pure, and fit to be kept.

Only time that was watched counts: what lies between two looks that are too far apart (a restart,
a stalled process, a clock that was set) is no evidence, so it adds nothing. The first sight is
kept for people; decisions stand on what was watched.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Clock:
    """One thing that goes on."""

    #: When it was seen first.
    since: datetime
    #: When it was seen last.
    last: datetime
    #: For how long it was watched.
    lasted: timedelta = timedelta()


def tick(clock: Clock | None, now: datetime, longest_gap: timedelta) -> Clock:
    """Return the clock after one more look that found the thing."""
    if clock is None:
        return Clock(now, now)
    passed = now - clock.last
    if not timedelta() <= passed <= longest_gap:
        return replace(clock, last=now)
    return replace(clock, last=now, lasted=clock.lasted + passed)


def told(duration: timedelta) -> str:
    """Return a duration in words: ``90 s``, ``5 min``, ``2 h``."""
    seconds = int(duration.total_seconds())
    if seconds < 120:
        return f"{round(duration.total_seconds(), 1):g} s" if seconds < 10 else f"{seconds} s"
    minutes = seconds // 60
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"
