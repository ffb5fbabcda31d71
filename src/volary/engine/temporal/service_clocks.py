"""The service's clock, set forward or back: seen by those who keep steps, and evened out.

The service says when it had an activity begun, and the process has a clock that nobody sets. What
one of them is ahead of the other all at once, nobody had for work.
"""

from datetime import datetime, timedelta

#: What is less is a busy machine, or a clock that is being adjusted.
_TOLERATED = timedelta(seconds=10)


class JumpMeter:
    """Compares the service's clock with the process' own, from look to look."""

    def __init__(self) -> None:
        self._offset: timedelta | None = None

    def look(self, shown: datetime, elapsed: float, *, is_sure: bool) -> timedelta | None:
        """Return how far the clock was set forward, or back, since the last look.

        Args:
            shown: What the service's clock showed, a moment before.
            elapsed: Seconds of a clock that nobody sets.
            is_sure: A jump that is seen counts. It may also be that the moment was a long one.

        Returns:
            None: it looks as if the clock was set; look again.
        """
        offset = shown - datetime.min.replace(tzinfo=shown.tzinfo) - timedelta(seconds=elapsed)
        jump = offset - self._offset if self._offset is not None else timedelta()
        if abs(jump) <= _TOLERATED:
            jump = timedelta()
        elif not is_sure:
            return None
        self._offset = offset
        return jump
