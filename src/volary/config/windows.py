"""Reads ``windows``: when clusters may be changed, and when they may not."""

from collections.abc import Callable, Sequence
from datetime import timedelta

from volary.config import shape, waves, window_sections, yaml
from volary.model import freeze, placement, schedule

PATH: yaml.Path = ("spec", "windows")

_LONGEST = timedelta(days=366)


def convert(reading: shape.Reading, read: window_sections.Windows) -> placement.Windows:
    """Return when clusters may be changed; problems are noted."""
    return placement.Windows(
        _windows(reading, read.allow, (*PATH, "allow")),
        _windows(reading, read.deny, (*PATH, "deny")),
    )


def _windows(
    reading: shape.Reading, read: Sequence[window_sections.Window], path: yaml.Path
) -> tuple[placement.ClusterWindow, ...]:
    return tuple(_window(reading, each, (*path, place)) for place, each in enumerate(read))


def _window(
    reading: shape.Reading, read: window_sections.Window, path: yaml.Path
) -> placement.ClusterWindow:
    _check(reading, schedule.parse, read.schedule, (*path, "schedule"))
    _check(reading, schedule.zone, read.time_zone, (*path, "timeZone"))
    if not read.duration or read.duration > _LONGEST:
        reading.error((*path, "duration"), "must be more than 0 and not above 8784h (a year)")
    at = (*path, "targets")
    chosen = None if read.targets is None else waves.selector(reading, read.targets, at)
    window = freeze.Window(read.name, read.schedule, read.duration, read.time_zone)
    return placement.ClusterWindow(window, chosen)


def _check(
    reading: shape.Reading, read: Callable[[str], object], text: str, path: yaml.Path
) -> None:
    try:
        read(text)
    except ValueError as error:
        reading.error(path, str(error))
