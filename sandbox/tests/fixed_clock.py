"""A clock that a test turns."""

from datetime import UTC, datetime, timedelta


class FixedClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.moment = datetime(2030, 1, 1, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment

    def forward(self, **delta: float) -> None:
        self.moment += timedelta(**delta)
