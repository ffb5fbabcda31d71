"""Time is a parameter: whoever needs it takes a `Clock`, tests turn their own."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where the current time comes from."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...


def rfc3339(at: datetime) -> str:
    """Return a moment as documents have it: in UTC, with ``Z`` at the end."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
