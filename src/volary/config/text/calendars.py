"""Reads iCalendar texts (RFC 5545): each event is a window that begins and lasts as it does.

Zones are those that every machine knows: a ``VTIMEZONE`` is passed over, and a ``TZID`` has to be
a name such as ``Europe/Berlin``. An event that says something about when it is that is not read
here is refused; what is only for people (descriptions, alarms, who comes) is passed over.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta

from volary.model.placement import rollouts
from volary.model.schedules import cron, recurrence

_MOST_LINES = 20_000
_MOST_EVENTS = 500
#: Events that come again are looked for again and again.
_MOST_RULES = 100
_LONGEST = timedelta(days=366)
_DURATION = re.compile(
    r"\+?P(?:([0-9]{1,3})W|(?:([0-9]{1,4})D)?(?:T(?:([0-9]{1,4})H)?(?:([0-9]{1,5})M)?(?:([0-9]{1,6})S)?)?)"
)
#: Properties of an event that say when it is.
_REFUSED = ("RDATE", "EXRULE", "RECURRENCE-ID")


@dataclass(frozen=True, slots=True)
class Line:
    """One property with its parameters."""

    name: str
    value: str
    parameters: Mapping[str, str] = field(default_factory=dict)


def read(text: str, *, name: str, zone: str) -> tuple[rollouts.Window, ...]:
    """Return the windows of a calendar; `zone` is for times that name none.

    Raises:
        ValueError: It is no calendar, or says what is not read here; with a sentence for people.
    """
    events = list(_events(_lines(text)))
    if not events:
        raise ValueError("there is no VEVENT in it")
    if len(events) > _MOST_EVENTS:
        raise ValueError(f"more than {_MOST_EVENTS} events")
    if sum(_one(event, "RRULE") is not None for event in events) > _MOST_RULES:
        raise ValueError(f"more than {_MOST_RULES} events with an RRULE")
    return tuple(_window(event, name, zone) for event in events)


def _lines(text: str) -> list[Line]:
    """Unfold lines, and take names, parameters and values apart."""
    unfolded: list[str] = []
    for raw in text.splitlines():
        if raw[:1] in (" ", "\t") and unfolded:
            unfolded[-1] += raw[1:]
        elif raw.strip():
            unfolded.append(raw)
    if len(unfolded) > _MOST_LINES:
        raise ValueError(f"more than {_MOST_LINES} lines")
    return [_line(line) for line in unfolded]


def _line(text: str) -> Line:
    left, colon, value = text.partition(":")
    name, *given = left.split(";")
    if not colon:
        raise ValueError(f"{text[:40]!r} is no line of a calendar")
    pairs = (parameter.partition("=") for parameter in given)
    parameters = {key.upper(): said.strip('"') for key, _, said in pairs}
    return Line(name.strip().upper(), value.strip(), parameters)


def _events(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield the properties of each event, without those of what is inside it."""
    inside: list[str] = []
    event: list[Line] = []
    for line in lines:
        if line.name == "BEGIN":
            inside.append(line.value.upper())
            event = [] if inside[-1] == "VEVENT" else event
        elif line.name == "END":
            if not inside or inside.pop() != line.value.upper():
                raise ValueError(f"END:{line.value[:40]} has no beginning")
            if line.value.upper() == "VEVENT":
                yield event
        elif inside[-1:] == ["VEVENT"]:
            event.append(line)
    if inside:
        raise ValueError(f"{inside[-1][:40]} has no end")


def _window(event: Sequence[Line], name: str, zone: str) -> rollouts.Window:
    title = _one(event, "SUMMARY")
    called = f"{name} ({title.value[:80]})" if title and title.value else name
    try:
        return _read(event, called, zone)
    except ValueError as error:
        raise ValueError(f"{called}: {error}") from error


def _read(event: Sequence[Line], name: str, zone: str) -> rollouts.Window:
    start = _one(event, "DTSTART")
    if start is None:
        raise ValueError("DTSTART is missing")
    for line in event:
        if line.name in _REFUSED:
            raise ValueError(f"{line.name} is not read here")
    home = start.parameters.get("TZID", "UTC" if start.value.endswith("Z") else zone)
    cron.zone(home)
    rule = _one(event, "RRULE")
    text = recurrence.write(
        _local(start, home),
        recurrence.in_local_time(rule.value, home) if rule else "",
        tuple(_left_out(event, home)),
    )
    recurrence.parse(text)
    return rollouts.Window(name, "", _lasts(event, start, home), home, text)


def _left_out(event: Sequence[Line], home: str) -> Iterator[str]:
    for line in event:
        if line.name == "EXDATE":
            for date_text in line.value.split(","):
                yield _local(Line("EXDATE", date_text.strip(), line.parameters), home)


def _lasts(event: Sequence[Line], start: Line, home: str) -> timedelta:
    end, length = _one(event, "DTEND"), _one(event, "DURATION")
    if end is not None:
        duration = _moment(_local(end, home)) - _moment(_local(start, home))
    elif length is not None:
        duration = _duration(length.value)
    else:
        # A day without an end is that day (RFC 5545, 3.6.1).
        duration = timedelta(days=1) if len(start.value) == 8 else timedelta()
    if not timedelta() < duration <= _LONGEST:
        raise ValueError("it must last more than 0 and not above a year")
    return duration


def _duration(text: str) -> timedelta:
    match = _DURATION.fullmatch(text.strip().upper())
    if match is None or not any(match.groups()):
        raise ValueError(f"{text[:40]!r} is not a duration such as PT8H or P14D")
    weeks, days, hours, minutes, seconds = (int(number or 0) for number in match.groups())
    return timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)


def _local(line: Line, home: str) -> str:
    zone = line.parameters.get("TZID", "")
    if zone and zone != home:
        raise ValueError(f"{line.name} is in {zone[:60]}, but DTSTART is in {home}")
    return recurrence.local(line.value, home)


def _moment(text: str) -> datetime:
    moment = recurrence.moment(text)
    return moment if isinstance(moment, datetime) else datetime.combine(moment, time())


def _one(event: Sequence[Line], name: str) -> Line | None:
    lines = [line for line in event if line.name == name]
    if len(lines) > 1:
        raise ValueError(f"{name} is given twice")
    return lines[0] if lines else None
