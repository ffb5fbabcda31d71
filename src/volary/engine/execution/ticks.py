"""Common moments: what many do "soon" they do together, so that one transaction serves all.

A tick is a multiple of so many seconds of the event loop's time, the same for all tasks and
runs of a process.
"""

import math


def next_tick(now: float, seconds: float) -> float:
    """Return the time of the next tick after `now`; at most `seconds` away, never now."""
    return (math.floor(now / seconds) + 1) * seconds
