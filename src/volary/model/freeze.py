"""Words of windows: when clusters may be changed, and when they may not."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Window:
    """A time that comes again and again."""

    #: What it is about, for people.
    name: str
    #: When it begins, in the time of its zone (`model.schedule`); empty: see `recurrence`.
    schedule: str
    #: How long it lasts, in time that passes: a clock that is put forward does not shorten it.
    duration: timedelta
    #: Such as ``Europe/Berlin``.
    zone: str = "UTC"
    #: When it begins, as iCalendar has it (`model.recurrence`), likewise; empty: see `schedule`.
    recurrence: str = ""
