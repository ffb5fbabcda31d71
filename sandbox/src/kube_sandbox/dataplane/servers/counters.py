"""What a server counts about its requests: since its start, and second by second; pure."""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

#: Upper bounds of the latency classes in seconds; the three namings show some of them each.
BOUNDS = (
    *(0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.01, 0.02, 0.025, 0.03, 0.04, 0.05, 0.075),
    *(0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 2.0, 2.5, 3.0, 4.0, 5.0, 10.0, 30.0, 60.0),
)
#: Seconds of history that are kept.
HISTORY = 600


@dataclass(slots=True)
class Histogram:
    """Durations in classes; the last class is everything above the last bound."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    total: float = 0.0

    @property
    def count(self) -> int:
        """How many durations."""
        return sum(self.counts)

    def add(self, seconds: float) -> None:
        """Count a duration."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds

    def include(self, other: "Histogram") -> None:
        """Add what another one counted."""
        self.counts = [mine + its for mine, its in zip(self.counts, other.counts, strict=True)]
        self.total += other.total

    def quantile(self, share: float) -> float | None:
        """Estimate a quantile as Prometheus does, evenly within its class; None without any."""
        count = self.count
        if not count:
            return None
        rank = share * count
        seen = 0
        lower = 0.0
        for bound, number in zip(BOUNDS, self.counts, strict=False):
            if number and seen + number >= rank:
                return lower + (bound - lower) * (rank - seen) / number
            seen += number
            lower = bound
        return BOUNDS[-1]


@dataclass(slots=True)
class Second:
    """What happened in one second."""

    number: int
    requests: int = 0
    errors: int = 0
    durations: Histogram = field(default_factory=Histogram)

    def include(self, other: "Second") -> None:
        """Add what another second, or another server in the same one, counted."""
        self.requests += other.requests
        self.errors += other.errors
        self.durations.include(other.durations)


class Counters:
    """The counters of one server."""

    def __init__(self) -> None:
        #: By method and status. The usual ones are there from the start, at zero: Prometheus
        #: takes the first value of a series for what was before, so that a first error would
        #: not count.
        self.answers: dict[tuple[str, int], Histogram] = {
            ("GET", status): Histogram() for status in (200, 500)
        }
        self._recent: deque[Second] = deque()

    def observe(self, method: str, status: int, seconds: float, *, now: float) -> None:
        """Count an answer that took `seconds`; `now` in seconds, never going back."""
        key = (method, status)
        if key not in self.answers:
            self.answers[key] = Histogram()
        self.answers[key].add(seconds)
        number = int(now)
        if not self._recent or self._recent[-1].number != number:
            self._recent.append(Second(number))
            while self._recent[0].number <= number - HISTORY:
                self._recent.popleft()
        current = self._recent[-1]
        current.requests += 1
        current.errors += status >= 500
        current.durations.add(seconds)

    def since(self, start: float) -> Iterable[Second]:
        """The seconds from `start` on, the running one included."""
        return [each for each in self._recent if each.number >= int(start)]
