"""Reads ``windows``: when clusters may be changed, and when they may not."""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

from volary.config import calendars, shape, waves, window_sections, yaml
from volary.model import freeze, placement, recurrence, schedule

PATH: yaml.Path = ("spec", "windows")

_LONGEST = timedelta(days=366)
_MOST_DAYS = 4_000
_WAYS = ("schedule", "start", "calendar")


def convert(reading: shape.Reading, read: window_sections.Windows) -> placement.Windows:
    """Return when clusters may be changed; problems are noted."""
    found = placement.Windows(
        tuple(_windows(reading, read.allow, (*PATH, "allow"))),
        tuple(_windows(reading, read.deny, (*PATH, "deny"))),
    )
    _check_length(reading, found)
    return found


def _check_length(reading: shape.Reading, found: placement.Windows) -> None:
    """Refuse more than can be looked through at each step: every day of a window is looked at."""
    again = [each.window for each in (*found.allow, *found.deny) if _comes_again(each.window)]
    if sum(each.duration.days + 1 for each in again) > _MOST_DAYS:
        message = f"windows that come again last longer than {_MOST_DAYS} days in all"
        reading.error(PATH, message, "say fewer of them, or shorter ones")


def _comes_again(window: freeze.Window) -> bool:
    return bool(window.schedule) or recurrence.parse(window.recurrence).rule is not None


def _windows(
    reading: shape.Reading, read: Sequence[window_sections.Window], path: yaml.Path
) -> Iterator[placement.ClusterWindow]:
    for place, each in enumerate(read):
        at = (*path, place, "targets")
        chosen = None if each.targets is None else waves.selector(reading, each.targets, at)
        for window in _window(reading, each, (*path, place)):
            yield placement.ClusterWindow(window, chosen)


def _window(
    reading: shape.Reading, read: window_sections.Window, path: yaml.Path
) -> tuple[freeze.Window, ...]:
    given = [each for each in _WAYS if getattr(read, each)]
    if len(given) != 1:
        message = f"needs one of {', '.join(_WAYS)}" if not given else f"has {' and '.join(given)}"
        reading.error(path, f"{read.name} {message}", "say in one way when it begins")
        return ()
    is_known = _check(reading, lambda: schedule.zone(read.time_zone), (*path, "timeZone"))
    if not is_known and not read.schedule:
        return ()
    for key in ("rrule", "without"):
        if getattr(read, key) and not read.start:
            reading.error((*path, key), f"{key} belongs to start", "say when it first begins")
    if read.calendar:
        return _of_calendar(reading, read, path)
    return _single(reading, read, path)


def _of_calendar(
    reading: shape.Reading, read: window_sections.Window, path: yaml.Path
) -> tuple[freeze.Window, ...]:
    if read.duration is not None:
        reading.error((*path, "duration"), "events of a calendar last as they say", "remove it")
    try:
        return calendars.read(read.calendar, name=read.name, zone=read.time_zone)
    except ValueError as error:
        reading.error((*path, "calendar"), str(error))
        return ()


def _single(
    reading: shape.Reading, read: window_sections.Window, path: yaml.Path
) -> tuple[freeze.Window, ...]:
    duration = read.duration or timedelta()
    if not timedelta() < duration <= _LONGEST:
        reading.error((*path, "duration"), "must be more than 0 and not above 8784h (a year)")
    if read.schedule:
        _check(reading, lambda: schedule.parse(read.schedule), (*path, "schedule"))
        return (freeze.Window(read.name, read.schedule, duration, read.time_zone),)
    text = _recurrence(reading, read, path)
    return (freeze.Window(read.name, "", duration, read.time_zone, text),) if text else ()


def _recurrence(reading: shape.Reading, read: window_sections.Window, path: yaml.Path) -> str:
    """Return when it begins as one text; empty when that cannot be read."""
    zone = read.time_zone

    def local(text: str) -> str:
        return recurrence.local(text, zone)

    def text(*, rule: bool = False, without: bool = False) -> str:
        ruled = recurrence.in_local_time(read.rrule, zone) if rule and read.rrule else ""
        left_out = tuple(map(local, read.without)) if without else ()
        made = recurrence.write(local(read.start), ruled, left_out)
        recurrence.parse(made)
        return made

    if not _check(reading, text, (*path, "start")):
        return ""
    is_fine = _check(reading, lambda: text(rule=True), (*path, "rrule"))
    is_fine &= _check(reading, lambda: text(without=True), (*path, "without"))
    return text(rule=True, without=True) if is_fine else ""


def _check(reading: shape.Reading, read: Callable[[], object], path: yaml.Path) -> bool:
    """Note why something cannot be read; say whether it can."""
    try:
        read()
    except ValueError as error:
        reading.error(path, str(error))
        return False
    return True
