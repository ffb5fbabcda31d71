"""Time: where it comes from, one reading for dates and one for durations, how dates are written."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Instant:
    """An instant of a sandbox.

    Dates in objects are those of the wall clock, so that ages shown by kubectl
    are right. Durations (pull, back-off, deadlines) are measured in sandbox
    seconds, which run `speed` times as fast. Dates in Kubernetes have whole
    seconds only, too coarse to measure anything in a fast sandbox.
    """

    #: Aware, UTC.
    now: datetime
    #: Sandbox seconds since some fixed instant.
    seconds: float
    #: Sandbox seconds per real second.
    speed: float = 1.0

    def since(self, date: str) -> float:
        """Sandbox seconds since a date in an object; as coarse as such dates are."""
        return (self.now - parse(date)).total_seconds() * self.speed

    @property
    def stamp(self) -> str:
        """The date as Kubernetes writes it, ``2026-01-31T12:00:00Z``."""
        return stamp(self.now)


def stamp(when: datetime) -> str:
    """Write a date as ``metav1.Time`` does: UTC, whole seconds."""
    # Quicker than strftime, and asked for with every write.
    return when.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def micro_stamp(when: datetime) -> str:
    """Write a date as ``metav1.MicroTime`` does: UTC, microseconds."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse(text: str) -> datetime:
    """Read a date written by `stamp` or `micro_stamp`."""
    return datetime.fromisoformat(text)


class Clock(Protocol):
    """Where the current time comes from."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...
