"""How long to wait after failures: twice as long after each one, up to a limit. Pure."""

from dataclasses import dataclass
from datetime import timedelta

#: More doublings than any limit needs; keeps the product a timedelta.
_MOST_DOUBLINGS = 20


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays between attempts."""

    first: timedelta
    longest: timedelta

    def after(self, failures: int) -> timedelta:
        """Return the delay after so many failures in a row, at least one."""
        doublings = min(max(failures - 1, 0), _MOST_DOUBLINGS)
        return min(self.first * float(2**doublings), self.longest)
