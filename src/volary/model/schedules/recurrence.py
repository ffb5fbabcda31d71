"""Recurrences as iCalendar has them (RFC 5545): a beginning, a rule, days left out.

Read are ``DTSTART``, ``RRULE`` and ``EXDATE``. Of rules those that choose days: ``FREQ`` from
``DAILY`` to ``YEARLY`` with ``INTERVAL``, ``BYDAY``, ``BYMONTHDAY``, ``BYMONTH``, ``WKST``, and
``COUNT`` or ``UNTIL``. The time of day is always that of the beginning. Everything else (hours,
minutes, ``BYSETPOS``, weeks and days of the year) is refused by name: a freeze that is read
wrongly is worse than none.
"""

import calendar
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from functools import lru_cache
from itertools import islice

from volary.model.schedules import cron

_DAY = timedelta(days=1)
_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_PARTS = ("FREQ", "INTERVAL", "BYDAY", "BYMONTHDAY", "BYMONTH", "WKST", "COUNT", "UNTIL")
_BYDAY = re.compile(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)")
#: How far a rule is followed to count its occurrences, and to find the next one.
_HORIZON = timedelta(days=366 * 50)
_LONGEST_WAIT = timedelta(days=366 * 9)
_MOST_COUNT = 5_000
#: Of times: far from where dates end, so that any of them can be counted with.
_FIRST_YEAR, _LAST_YEAR = 1970, 2200


class Frequency(StrEnum):
    """What an interval counts."""

    DAILY = "DAILY"
    WEEKLY = "WEEKLY"
    MONTHLY = "MONTHLY"
    YEARLY = "YEARLY"


@dataclass(frozen=True, slots=True)
class Rule:
    """An ``RRULE``."""

    frequency: Frequency
    interval: int = 1
    #: From 0, Monday; with the which-th of the month or year, 0: each.
    weekdays: tuple[tuple[int, int], ...] = ()
    #: From 1; below 0 counted from the end.
    month_days: tuple[int, ...] = ()
    months: tuple[int, ...] = ()
    week_start: int = 0
    count: int = 0
    #: The last day; None: for ever.
    until: date | None = None

    def falls_on(self, day: date, start: date) -> bool:
        """Say whether it recurs on `day`, counted from `start`; `count` is not looked at."""
        if day < start or (self.until is not None and day > self.until):
            return False
        if self._periods(day, start) % self.interval:
            return False
        if self.months and day.month not in self.months:
            return False
        return self._is_chosen(day, start)

    def after(self, day: date, start: date) -> date:
        """Return the day to look at after `day`: months that have none are passed over."""
        following_day = day + _DAY
        if self._may_fall_in_month_of(following_day, start):
            return following_day
        _, length = calendar.monthrange(following_day.year, following_day.month)
        return following_day.replace(day=length) + _DAY

    def _may_fall_in_month_of(self, day: date, start: date) -> bool:
        if self.months and day.month not in self.months:
            return False
        if self.frequency is Frequency.YEARLY and not (
            self.months or self.weekdays or self.month_days
        ):
            return day.month == start.month
        if self.frequency in (Frequency.MONTHLY, Frequency.YEARLY):
            return self._periods(day, start) % self.interval == 0
        return True

    def _periods(self, day: date, start: date) -> int:
        """Return how many days, weeks, months or years lie between."""
        match self.frequency:
            case Frequency.DAILY:
                return (day - start).days
            case Frequency.WEEKLY:
                return (self._week(day) - self._week(start)).days // 7
            case Frequency.MONTHLY:
                return (day.year - start.year) * 12 + day.month - start.month
            case Frequency.YEARLY:
                return day.year - start.year

    def _week(self, day: date) -> date:
        return day - timedelta(days=(day.weekday() - self.week_start) % 7)

    def _is_chosen(self, day: date, start: date) -> bool:
        """Say so by the days that are named, or by those of the beginning."""
        if not self.weekdays and not self.month_days:
            return self._is_as_the_beginning(day, start)
        if self.month_days and not self._is_month_day(day):
            return False
        return not self.weekdays or any(
            self._is_weekday(day, *weekday) for weekday in self.weekdays
        )

    def _is_as_the_beginning(self, day: date, start: date) -> bool:
        match self.frequency:
            case Frequency.DAILY:
                return True
            case Frequency.WEEKLY:
                return day.weekday() == start.weekday()
            case Frequency.MONTHLY:
                return day.day == start.day
            case Frequency.YEARLY:
                return day.day == start.day and (bool(self.months) or day.month == start.month)

    def _is_month_day(self, day: date) -> bool:
        length = calendar.monthrange(day.year, day.month)[1]
        return day.day in self.month_days or day.day - length - 1 in self.month_days

    def _is_weekday(self, day: date, which: int, weekday: int) -> bool:
        if day.weekday() != weekday:
            return False
        if not which:
            return True
        of_year = self.frequency is Frequency.YEARLY and not self.months
        length = calendar.monthrange(day.year, day.month)[1]
        place = day.timetuple().tm_yday if of_year else day.day
        last = (366 if calendar.isleap(day.year) else 365) if of_year else length
        return which == ((place - 1) // 7 + 1 if which > 0 else -((last - place) // 7 + 1))


@dataclass(frozen=True, slots=True)
class Recurrence:
    """When something begins, in the time of some place."""

    start: datetime
    rule: Rule | None = None
    #: Beginnings that are left out; a day without a time leaves out all of that day.
    without: frozenset[datetime | date] = frozenset()

    @property
    def time(self) -> time:
        """The time of day of every beginning."""
        return self.start.time()

    def falls_on(self, day: date) -> bool:
        """Say whether it begins on `day`."""
        if day in self.without or datetime.combine(day, self.time) in self.without:
            return False
        if day == self.start.date():
            # The first one counts whether the rule has it or not (RFC 5545, 3.8.5.3).
            return True
        return self.rule is not None and self.rule.falls_on(day, self.start.date())

    def next_day(self, day: date) -> date | None:
        """Return the first day, not before `day`, on which it begins; None: there is none."""
        candidate = first = max(day, self.start.date())
        while candidate < first + _LONGEST_WAIT:
            if self.falls_on(candidate):
                return candidate
            if self.rule is None or (self.rule.until and candidate > self.rule.until):
                return None
            candidate = self.rule.after(candidate, self.start.date())
        return None


def write(start: str, rule: str, without: tuple[str, ...] = ()) -> str:
    """Return the text that `parse` reads, one property a line."""
    lines = [f"DTSTART:{start}"]
    lines += [f"RRULE:{rule}"] if rule else []
    lines += [f"EXDATE:{excluded_date}" for excluded_date in without]
    return "\n".join(lines)


@lru_cache(maxsize=1024)
def parse(text: str) -> Recurrence:
    """Read a recurrence: ``DTSTART``, ``RRULE`` and ``EXDATE``, one a line, in local time.

    Raises:
        ValueError: It is none, or says what is not read here; with a sentence for people.
    """
    properties: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        properties.setdefault(name, []).append(value)
    start = moment(properties["DTSTART"][0])
    if not isinstance(start, datetime):
        start = datetime.combine(start, time())
    without = frozenset(
        moment(excluded_date)
        for value in properties.get("EXDATE", ())
        for excluded_date in value.split(",")
    )
    rules = properties.get("RRULE", [])
    rule = _rule(rules[0], start) if rules else None
    return Recurrence(start, rule, without)


def moment(text: str) -> datetime | date:
    """Read ``20261220T000000`` or ``20261220``, in local time.

    Raises:
        ValueError: It is neither.
    """
    for form, length in (("%Y%m%dT%H%M%S", 15), ("%Y%m%d", 8)):
        if len(text) == length:
            try:
                read = datetime.strptime(text, form)  # noqa: DTZ007 - local time on purpose
            except ValueError:
                break
            if not _FIRST_YEAR <= read.year <= _LAST_YEAR:
                raise ValueError(f"{text} is not between {_FIRST_YEAR} and {_LAST_YEAR}")
            return read if length == 15 else read.date()
    raise ValueError(f"{text[:40]!r} is not a time such as 20261220T090000, in local time")


def _rule(text: str, start: datetime) -> Rule:
    parts = _split(text)
    rule = Rule(
        frequency=_frequency(parts.get("FREQ", "")),
        interval=_positive(parts, "INTERVAL", 1),
        weekdays=tuple(_weekday(weekday) for weekday in _items(parts, "BYDAY")),
        month_days=_numbers(parts, "BYMONTHDAY", 31),
        months=_numbers(parts, "BYMONTH", 12),
        week_start=_week_start(parts.get("WKST", "MO")),
        count=_positive(parts, "COUNT", 0),
        until=_until(parts.get("UNTIL", ""), start.time()),
    )
    _check(rule)
    return _counted(rule, start.date()) if rule.count else rule


def _split(text: str) -> Mapping[str, str]:
    parts: dict[str, str] = {}
    for part in text.strip().strip(";").upper().split(";"):
        name, equals, value = part.partition("=")
        if name not in _PARTS:
            raise ValueError(f"{name[:40]} is not read here; known are {', '.join(_PARTS)}")
        if not equals or not value:
            raise ValueError(f"{name} has no value")
        if name in parts:
            raise ValueError(f"{name} is given twice")
        parts[name] = value
    if "COUNT" in parts and "UNTIL" in parts:
        raise ValueError("COUNT and UNTIL exclude each other")
    return parts


def _frequency(text: str) -> Frequency:
    try:
        return Frequency(text)
    except ValueError:
        known = ", ".join(Frequency)
        raise ValueError(f"FREQ must be one of {known}, not {text[:20] or 'nothing'}") from None


def _positive(parts: Mapping[str, str], name: str, default: int) -> int:
    text = parts.get(name)
    if text is None:
        return default
    if not text.isdecimal() or not 0 < int(text) <= _MOST_COUNT:
        raise ValueError(f"{name} must be a number from 1 to {_MOST_COUNT}")
    return int(text)


def _items(parts: Mapping[str, str], name: str) -> list[str]:
    return parts[name].split(",") if name in parts else []


def _numbers(parts: Mapping[str, str], name: str, most: int) -> tuple[int, ...]:
    numbers = []
    for text in _items(parts, name):
        negative = name == "BYMONTHDAY" and text.startswith("-")
        digits = text[1:] if negative or text.startswith("+") else text
        if not digits.isdecimal() or not 1 <= int(digits) <= most:
            raise ValueError(f"{name} cannot be {text[:20]!r}")
        numbers.append(-int(digits) if negative else int(digits))
    return tuple(numbers)


def _weekday(text: str) -> tuple[int, int]:
    match = _BYDAY.fullmatch(text)
    if match is None or (match[1] and not 1 <= abs(int(match[1])) <= 53):
        raise ValueError(f"BYDAY cannot be {text[:20]!r}; it is such as MO, 2TU or -1FR")
    return int(match[1] or 0), _WEEKDAYS.index(match[2])


def _week_start(text: str) -> int:
    if text not in _WEEKDAYS:
        raise ValueError(f"WKST cannot be {text[:20]!r}")
    return _WEEKDAYS.index(text)


def _until(text: str, begins: time) -> date | None:
    """Return the last day: of a time, that before it when it begins later in the day."""
    if not text:
        return None
    last = moment(text)
    if not isinstance(last, datetime):
        return last
    return last.date() - (_DAY if begins > last.time() else timedelta())


def _check(rule: Rule) -> None:
    by_number = any(which for which, _ in rule.weekdays)
    if by_number and rule.frequency in (Frequency.DAILY, Frequency.WEEKLY):
        raise ValueError(f"BYDAY with a number has no meaning with FREQ={rule.frequency}")
    if rule.month_days and rule.frequency is Frequency.WEEKLY:
        raise ValueError("BYMONTHDAY has no meaning with FREQ=WEEKLY")


def _counted(rule: Rule, start: date) -> Rule:
    """Return the rule with the day of its last occurrence instead of their number."""
    further = list(islice(_days(rule, start), rule.count - 1))
    if len(further) < rule.count - 1:
        raise ValueError(f"COUNT={rule.count} is more than there are in 50 years; leave it out")
    return replace(rule, until=further[-1] if further else start)


def _days(rule: Rule, start: date) -> Iterator[date]:
    day, end = start + _DAY, start + _HORIZON
    while day < end:
        if rule.falls_on(day, start):
            yield day
        day = rule.after(day, start)


def in_local_time(rule: str, zone: str) -> str:
    """Return a rule with its ``UNTIL`` in the time of `zone`, which may be written in UTC.

    Raises:
        ValueError: It is no time.
    """
    parts = rule.strip().upper().split(";")
    pairs = (part.partition("=") for part in parts)
    return ";".join(
        f"{name}={local(value, zone)}" if name == "UNTIL" else f"{name}{equals}{value}"
        for name, equals, value in pairs
    )


def local(text: str, zone: str) -> str:
    """Return a time of a calendar in local time: ``…Z`` is turned into that of `zone`.

    Raises:
        ValueError: It is none, or the zone is not known.
    """
    if not text.endswith("Z"):
        moment(text)
        return text
    read = moment(text.removesuffix("Z"))
    if not isinstance(read, datetime):
        raise ValueError(f"{text[:40]!r} is not a time")
    return f"{read.replace(tzinfo=UTC).astimezone(cron.zone(zone)):%Y%m%dT%H%M%S}"
