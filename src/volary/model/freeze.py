"""Words of windows: when clusters may be changed, and when they may not."""

from dataclasses import dataclass
from datetime import timedelta

from volary.model import placement


@dataclass(frozen=True, slots=True)
class Window:
    """A time that comes again and again."""

    #: What it is about, for people.
    name: str
    #: When it begins, in the time of its zone (`model.schedule`).
    schedule: str
    #: How long it lasts, in time that passes: a clock that is put forward does not shorten it.
    duration: timedelta
    #: Such as ``Europe/Berlin``.
    zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class ClusterWindow:
    """A window of some clusters."""

    window: Window
    #: None: of all.
    selector: placement.ClusterSelector | None = None


@dataclass(frozen=True, slots=True)
class Windows:
    """When a run may change clusters; `deny` wins, and without windows it always may."""

    #: A cluster that any of these is for is changed within them only.
    allow: tuple[ClusterWindow, ...] = ()
    deny: tuple[ClusterWindow, ...] = ()
