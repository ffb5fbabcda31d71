"""Whether windows let clusters be changed at a time, and when they next will. Pure.

A window begins whenever its schedule does, in the time of its zone, and lasts for its duration. A
time that a clock skips is as much later as the clock was put forward; one that comes twice is the
first of the two.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache

from volary.model.placement import rollouts
from volary.model.schedules import cron, recurrence

_DAY = timedelta(days=1)
#: Windows followed one by one to an opening; then it is looked again when the last one ends.
_MOST_STEPS = 100
_FAR = timedelta(days=366)


@dataclass(frozen=True, slots=True)
class Closure:
    """Why nothing may be changed, and from when on it may be again."""

    #: In one clause: ``denied by year end``.
    why: str
    #: Later than the time that was asked about.
    opens: datetime
    #: The zone in which people read that time.
    zone: str
    #: So many windows follow each other that it was not looked further: it may open later.
    is_open_ended: bool = False

    @property
    def opening(self) -> str:
        """When it opens, in words: ``Mon 2026-01-05 08:00 Europe/Berlin``."""
        local = self.opens.astimezone(cron.zone(self.zone))
        later = " or later" if self.is_open_ended else ""
        return f"{local:%a %Y-%m-%d %H:%M} {self.zone}{later}"


Windows = Sequence[rollouts.Window]


def closure(
    allow: Windows, deny: Windows, now: datetime, *, besides: Sequence[Windows] = ()
) -> Closure | None:
    """Return what keeps clusters that these windows are for from being changed; None: nothing.

    What is `besides` is further windows within which alone they are: of each list one has to be
    open.
    """
    allowed = [windows for windows in (allow, *besides) if windows]
    first = _obstacle(allowed, deny, now)
    if first is None:
        return None
    why, zone, until = first
    for _ in range(_MOST_STEPS):
        following = _obstacle(allowed, deny, until)
        if following is None:
            return Closure(why, until, zone)
        until = following[2]
    return Closure(why, until, zone, is_open_ended=True)


def is_within(window: rollouts.Window, now: datetime) -> bool:
    """Say whether `now` is in the window; its end is not."""
    return _end(window, now) is not None


def periods(
    window: rollouts.Window, since: datetime, until: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """Yield from when to when a window lasts, each time that touches the span, in order.

    They may overlap when it begins again before it is over.
    """
    start = _last_start(window, since) or _next_start(window, since)
    while start is not None and start < until:
        yield start, start + window.duration
        start = _next_start(window, start)


def _obstacle(
    allowed: Sequence[Windows], deny: Windows, now: datetime
) -> tuple[str, str, datetime] | None:
    """Return why nothing may be changed, the zone, and until when at least."""
    for denied_window in deny:
        end = _end(denied_window, now)
        if end is not None:
            return f"denied by {denied_window.name}", denied_window.zone, end
    for allow in allowed:
        if not any(is_within(window, now) for window in allow):
            return _outside(allow, now)
    return None


def _outside(allow: Windows, now: datetime) -> tuple[str, str, datetime]:
    """Return why nothing may be changed outside of some windows, the zone, and until when."""
    names = " or ".join(window.name for window in allow[:3]) + (
        " and more" if len(allow) > 3 else ""
    )
    starts = [(start, window.zone) for window in allow if (start := _next_start(window, now))]
    opens, zone = min(starts, default=(now + _FAR, "UTC"))
    why = f"outside {names}" if starts else f"outside {names}, which never begins again"
    return why, zone, opens


def _end(window: rollouts.Window, now: datetime) -> datetime | None:
    """Return when the window that `now` is in ends; None: it is in none."""
    started = _last_start(window, now)
    return None if started is None else started + window.duration


def _last_start(window: rollouts.Window, now: datetime) -> datetime | None:
    """Return the latest beginning from which the window still lasts."""
    earliest = now - window.duration
    if window.recurrence:
        again = recurrence.parse(window.recurrence)
        if again.rule is None:
            once = _starts_on(window, again.start.date())
            return next((start for start in once if earliest < start <= now), None)
    zone = cron.zone(window.zone)
    # A day more: one that begins in the hours that a clock skips ends up on the next.
    last, day = now.astimezone(zone).date(), earliest.astimezone(zone).date() - _DAY
    while last >= day:
        starts = _starts_on(window, last)
        place = bisect_right(starts, now)
        if place:
            return starts[place - 1] if starts[place - 1] > earliest else None
        last -= _DAY
    return None


def _next_start(window: rollouts.Window, now: datetime) -> datetime | None:
    day: date | None = now.astimezone(cron.zone(window.zone)).date() - _DAY
    while day is not None and (day := _next_day(window, day)) is not None:
        starts = _starts_on(window, day)
        place = bisect_right(starts, now)
        if place < len(starts):
            return starts[place]
        day += _DAY
    return None


@lru_cache(maxsize=512)
def _next_day(window: rollouts.Window, day: date) -> date | None:
    if window.recurrence:
        return recurrence.parse(window.recurrence).next_day(day)
    return cron.parse(window.schedule).next_day(day)


@lru_cache(maxsize=512)
def _starts_on(window: rollouts.Window, day: date) -> tuple[datetime, ...]:
    """Return the beginnings on a day of the window's zone, in order."""
    zone = cron.zone(window.zone)
    if window.recurrence:
        again = recurrence.parse(window.recurrence)
        if not again.falls_on(day):
            return ()
        return (datetime.combine(day, again.time, zone).astimezone(UTC),)
    schedule = cron.parse(window.schedule)
    if not schedule.falls_on(day):
        return ()
    locals_ = (
        datetime.combine(day, time(hour, minute), zone)
        for hour in schedule.hours
        for minute in schedule.minutes
    )
    return tuple(sorted({local_time.astimezone(UTC) for local_time in locals_}))
