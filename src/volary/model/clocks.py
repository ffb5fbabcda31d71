"""Time is a parameter: whoever needs it takes a `Clock`, tests turn their own."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Where the current time comes from."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...
