"""How long something has been observed without a break. Pure, and fit to be kept.

Only time that was observed counts: what lies between two probes that are too far apart (a
restart, a stalled process, a clock that was set) is no evidence, so it adds nothing. The first
observation is kept for people; decisions stand on what was observed.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class ObservedDuration:
    """One thing that goes on."""

    #: When it was seen first.
    since: datetime
    #: When it was seen last.
    last: datetime
    #: For how long it was watched.
    lasted: timedelta = timedelta()


def observe(
    clock: ObservedDuration | None, now: datetime, longest_gap: timedelta
) -> ObservedDuration:
    """Return the clock after one more look that found the thing."""
    if clock is None:
        return ObservedDuration(now, now)
    passed = now - clock.last
    if not timedelta() <= passed <= longest_gap:
        return replace(clock, last=now)
    return replace(clock, last=now, lasted=clock.lasted + passed)


def describe(duration: timedelta) -> str:
    """Return a duration in words: ``90 s``, ``5 min``, ``2 h``."""
    seconds = int(duration.total_seconds())
    if seconds < 120:
        return f"{round(duration.total_seconds(), 1):g} s" if seconds < 10 else f"{seconds} s"
    minutes = seconds // 60
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"
