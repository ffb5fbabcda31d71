"""The four figures of delivery, and the calendar of closed windows."""

from datetime import datetime

from volary.controller.api import representations


class RunPoint(representations.Representation, frozen=True):
    """One run of a distribution."""

    run: str
    application: str
    at: datetime
    #: Seconds, or 1 and 0 where it is counted.
    value: float


class Distribution(representations.Representation, frozen=True):
    """One figure over a time, with the runs behind it."""

    #: ``deploymentFrequency``, ``leadTime``, ``changeFailureRate`` or ``timeToRestore``.
    name: str
    #: How it is counted, one sentence.
    definition: str
    #: ``perDay``, ``seconds`` or ``ratio``.
    unit: str
    #: The mean, or the share; None: there is nothing to count.
    value: float | None
    #: None also of a ratio.
    median: float | None
    #: The 90th percentile.
    high: float | None
    points: tuple[RunPoint, ...]
    #: Points beyond the bound, the oldest; all of them are counted.
    omitted: int


class Insights(representations.Representation, frozen=True):
    """How delivery went, from `since` until `until`."""

    since: datetime
    until: datetime
    project: str
    application: str
    runs: int
    #: Deployments of each day, the first of `since`.
    days: tuple[int, ...]
    figures: tuple[Distribution, ...]
    #: Runs that were not counted, the oldest of too many.
    omitted: int


class ClosedWindow(representations.Representation, frozen=True):
    """A time in which nothing begins somewhere."""

    application: str
    #: The wave whose clusters these are, all of them; empty: they are not one wave.
    wave: str
    #: Empty: every one of the application.
    clusters: tuple[str, ...]
    starts: datetime
    #: None: it does not end within what was looked at.
    ends: datetime | None
    reason: str


class UnreadFile(representations.Representation, frozen=True):
    """An application of whose windows nobody knows."""

    application: str
    reason: str


class Calendar(representations.Representation, frozen=True):
    """The closed windows of the next days."""

    since: datetime
    until: datetime
    #: In the order they start.
    items: tuple[ClosedWindow, ...]
    #: Windows beyond the bound, the latest.
    omitted: int
    #: Applications whose file cannot be read; at most some.
    unread: tuple[UnreadFile, ...]
    #: Applications whose file has not been read yet, because there are too many at a time: those
    #: who ask again get them.
    pending: int
