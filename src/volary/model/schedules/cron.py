"""Schedules with cron's five fields: minute, hour, day of the month, month, weekday.

Fields are ``*``, numbers, ranges, lists and steps; months and weekdays also by their first three
letters, Sunday is 0 or 7. When both days are restricted, either is enough (Vixie cron).
"""

import zoneinfo
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
#: 29 February may be as far away as from 2096 to 2104.
_LONGEST_WAIT = 366 * 9


@dataclass(frozen=True, slots=True)
class Field:
    """One of the five fields: what it is called, its bounds, and words for its numbers."""

    name: str
    least: int
    most: int
    words: tuple[str, ...] = ()


_FIELDS = (
    Field("minute", 0, 59),
    Field("hour", 0, 23),
    Field("day of the month", 1, 31),
    Field("month", 1, 12, _MONTHS),
    Field("weekday", 0, 7, _WEEKDAYS),
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """When something begins, in the time of some place."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    #: From 0, Sunday, to 6.
    weekdays: frozenset[int]
    #: Both days are restricted, and either is enough.
    either_day: bool

    def falls_on(self, day: date) -> bool:
        """Say whether it begins at some time of `day`."""
        if day.month not in self.months:
            return False
        by_date, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return by_date or by_weekday if self.either_day else by_date and by_weekday

    def next_day(self, day: date) -> date | None:
        """Return the first day, not before `day`, on which it begins; None: there is none."""
        for offset in range(_LONGEST_WAIT):
            candidate = day + timedelta(days=offset)
            if self.falls_on(candidate):
                return candidate
        return None


@lru_cache(maxsize=256)
def parse(text: str) -> Schedule:
    """Read a schedule.

    Raises:
        ValueError: It is none, or never begins; with a sentence for people.
    """
    written = text.split()
    if len(written) != len(_FIELDS):
        raise ValueError("must have five fields: minute, hour, day of the month, month, weekday")
    read = [_field(field, part) for field, part in zip(_FIELDS, written, strict=True)]
    minutes, hours, days, months, weekdays = read
    either = not written[2].startswith("*") and not written[4].startswith("*")
    schedule = Schedule(
        tuple(sorted(minutes)),
        tuple(sorted(hours)),
        days,
        months,
        frozenset(weekday % 7 for weekday in weekdays),
        either,
    )
    if schedule.next_day(date(2096, 1, 1)) is None:
        raise ValueError("never happens: no month has that day")
    return schedule


@lru_cache(maxsize=256)
def zone(name: str) -> zoneinfo.ZoneInfo:
    """Return a time zone by its name, such as ``Europe/Berlin``.

    Raises:
        ValueError: It is not known; with a sentence for people.
    """
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"{name[:60]!r} is not a known time zone") from error


def _field(field: Field, text: str) -> frozenset[int]:
    numbers: set[int] = set()
    for part in text.split(","):
        numbers.update(_part(field, part))
    return frozenset(numbers)


def _part(field: Field, text: str) -> Sequence[int]:
    written, has_step, step_text = text.partition("/")
    step = _number(step_text, field) if has_step else 1
    if step < 1:
        raise ValueError(f"{text!r} is not a step of the {field.name}")
    if written == "*":
        last = 6 if field.name == "weekday" else field.most
        return range(field.least, last + 1, step)
    low, is_range, high = written.partition("-")
    first = _number_of(low, field)
    last = _number_of(high, field) if is_range else (field.most if has_step else first)
    if last < first:
        raise ValueError(f"{text!r} is not a range of the {field.name}: it ends before it begins")
    return range(first, last + 1, step)


def _number_of(text: str, field: Field) -> int:
    lower = text.lower()
    if lower in field.words:
        return field.words.index(lower) + field.least
    number = _number(text, field)
    if not field.least <= number <= field.most:
        raise ValueError(f"the {field.name} must be from {field.least} to {field.most}")
    return number


def _number(text: str, field: Field) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        raise ValueError(f"{text[:20]!r} is no {field.name}")
    return int(text)
