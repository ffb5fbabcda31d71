"""``windows``: when clusters may be changed, and when not; its fields and how they are read."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from pydantic import Field

from volary.config.decoding import base_sections, readings
from volary.config.placement import wave_rules
from volary.config.text import calendars, yaml
from volary.model import options
from volary.model.placement import rollouts
from volary.model.schedules import cron, recurrence


class Window(base_sections.Section):
    """A time that comes again and again, for some clusters.

    It begins as `schedule`, `start` with `rrule`, or a `calendar` says: one of them.
    """

    name: base_sections.Text = Field(
        description="What it is about; shown to those who wait for it."
    )
    schedule: str = options.option(
        "When it begins, with cron's five fields: minute, hour, day of the month, month, weekday "
        "(`0 9 * * MON-FRI`). When both days are restricted, either is enough.",
        "",
    )
    start: str = options.option(
        "When it first begins, in the time of the zone, as iCalendar writes it: `20261220T000000`.",
        "",
    )
    rrule: str = options.option(
        "When it begins again: an iCalendar rule such as `FREQ=MONTHLY;BYDAY=-1FR`, with "
        "`INTERVAL`, `BYDAY`, `BYMONTHDAY`, `BYMONTH`, `WKST`, `COUNT` and `UNTIL`. Without one: "
        "once.",
        "",
    )
    without: list[str] = options.option(
        "Beginnings of the rule that are left out: `20261225T090000`, or a day.", []
    )
    calendar: str = options.option(
        "The text of an iCalendar file (`.ics`); each event is a window and lasts as long as it "
        "does.",
        "",
    )
    duration: timedelta | None = options.option("How long it lasts, at most 8784h (a year).", None)
    time_zone: str = options.option(
        "The zone of its times, such as `Europe/Berlin`; of a calendar, of those that name none.",
        "UTC",
    )
    targets: rollouts.ClusterSelector | None = options.option(
        "Which clusters it is for; none given: all.", None
    )


class Windows(base_sections.Section):
    """When clusters may be changed; `deny` wins."""

    allow: list[Window] = options.option(
        "A cluster that any of these is for is changed within them only.", []
    )
    deny: list[Window] = options.option("Within these a cluster is not changed, whatever else.", [])


PATH: yaml.Path = ("spec", "windows")

_LONGEST = timedelta(days=366)
_MOST_DAYS = 4_000
_WAYS = ("schedule", "start", "calendar")


def convert(reading: readings.Reading, read: Windows) -> rollouts.Windows:
    """Return when clusters may be changed; problems are noted."""
    windows = rollouts.Windows(
        tuple(_windows(reading, read.allow, (*PATH, "allow"))),
        tuple(_windows(reading, read.deny, (*PATH, "deny"))),
    )
    _check_length(reading, windows)
    return windows


def _check_length(reading: readings.Reading, windows: rollouts.Windows) -> None:
    """Refuse more than can be looked through at each step: every day of a window is looked at."""
    again = [
        cluster_window.window
        for cluster_window in (*windows.allow, *windows.deny)
        if cluster_window.window.schedule
        or recurrence.parse(cluster_window.window.recurrence).rule is not None
    ]
    if sum(window.duration.days + 1 for window in again) > _MOST_DAYS:
        message = f"windows that come again last longer than {_MOST_DAYS} days in all"
        reading.error(PATH, message, "say fewer of them, or shorter ones")


def _windows(
    reading: readings.Reading, read: Sequence[Window], path: yaml.Path
) -> Iterator[rollouts.ClusterWindow]:
    for place, entry in enumerate(read):
        at = (*path, place, "targets")
        if entry.targets is not None:
            wave_rules.check_selector(reading, entry.targets, at)
        for window in _window(reading, entry, (*path, place)):
            yield rollouts.ClusterWindow(window, entry.targets)


def _window(
    reading: readings.Reading, read: Window, path: yaml.Path
) -> tuple[rollouts.Window, ...]:
    given = [option for option in _WAYS if getattr(read, option)]
    if len(given) != 1:
        message = f"needs one of {', '.join(_WAYS)}" if not given else f"has {' and '.join(given)}"
        reading.error(path, f"{read.name} {message}", "say in one way when it begins")
        return ()
    is_known = reading.accepts((*path, "timeZone"), lambda: cron.zone(read.time_zone))
    if not is_known and not read.schedule:
        return ()
    for key in ("rrule", "without"):
        if getattr(read, key) and not read.start:
            reading.error((*path, key), f"{key} belongs to start", "say when it first begins")
    if read.calendar:
        return _of_calendar(reading, read, path)
    return _single(reading, read, path)


def _of_calendar(
    reading: readings.Reading, read: Window, path: yaml.Path
) -> tuple[rollouts.Window, ...]:
    if read.duration is not None:
        reading.error((*path, "duration"), "events of a calendar last as they say", "remove it")
    try:
        return calendars.read(read.calendar, name=read.name, zone=read.time_zone)
    except ValueError as error:
        reading.error((*path, "calendar"), str(error))
        return ()


def _single(
    reading: readings.Reading, read: Window, path: yaml.Path
) -> tuple[rollouts.Window, ...]:
    duration = read.duration or timedelta()
    if not timedelta() < duration <= _LONGEST:
        reading.error((*path, "duration"), "must be more than 0 and not above 8784h (a year)")
    if read.schedule:
        reading.accepts((*path, "schedule"), lambda: cron.parse(read.schedule))
        return (rollouts.Window(read.name, read.schedule, duration, read.time_zone),)
    text = _recurrence(reading, read, path)
    return (rollouts.Window(read.name, "", duration, read.time_zone, text),) if text else ()


def _recurrence(reading: readings.Reading, read: Window, path: yaml.Path) -> str:
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

    if not reading.accepts((*path, "start"), text):
        return ""
    is_fine = reading.accepts((*path, "rrule"), lambda: text(rule=True))
    is_fine &= reading.accepts((*path, "without"), lambda: text(without=True))
    return text(rule=True, without=True) if is_fine else ""
