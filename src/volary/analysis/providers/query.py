"""What providers are asked, and what they answer."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from volary.model import analysis, metric_providers


class Shape(StrEnum):
    """What an answer has to look like."""

    #: Points of all series one after the other (for `analysis.Kind.VALUE`).
    POINTS = "points"
    #: One number: the newest points of all series added up (for counted events).
    TOTAL = "total"


@dataclass(frozen=True, slots=True)
class Query:
    """One question, with all placeholders filled in."""

    #: As the provider understands it.
    text: str
    #: The question is about the `window` that ends then; UTC.
    end: datetime
    window: timedelta
    #: Name of the provider; empty: the only one.
    provider: str = ""
    #: The cluster it is about; empty: none in particular.
    target: str = ""
    shape: Shape = Shape.POINTS
    #: For everything together: waiting for one's turn, repeating, reading.
    timeout: timedelta = timedelta(seconds=30)
    #: `end` is not now (`analysis.Strategy.PREVIOUS`). Queries that say by themselves which
    #: time they are about are not asked then.
    is_earlier: bool = False
    #: Every point of the window counts, whatever the settings say of points.
    is_whole: bool = False

    @property
    def start(self) -> datetime:
        """The beginning of the window."""
        return self.end - self.window


def points_of(settings: metric_providers.Provider, asked: Query) -> metric_providers.Provider:
    """Return the settings with the points that count for this question."""
    return replace(settings, points=metric_providers.Points.ALL) if asked.is_whole else settings


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; a provider that cannot be asked is an answer too, never an exception."""

    reading: analysis.Reading
    #: Never empty with `analysis.Reading.VALUES`; NaN and infinities are kept.
    values: tuple[float, ...] = ()
    #: Why there are no values, in one sentence without a full stop; names the provider.
    message: str = ""
