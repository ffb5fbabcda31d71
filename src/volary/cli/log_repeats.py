"""Which messages of a log are written when the same one comes again and again.

The first ones of a kind within an interval are; the others are counted, and told of together when
the interval is over. Kinds know nothing of each other, so a flood of one hides no other.
"""

import re
from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

#: Messages of one kind that are written within an interval of seconds.
BURST, INTERVAL = 50, 60.0
#: Kinds that are remembered; the one that began first is told of and forgotten.
_MOST = 1_000
_LONGEST = 200
#: What differs between messages that were put together before they were logged.
_VARYING = re.compile(r"0x[0-9a-f]+|\d+")


class Kind(NamedTuple):
    """What messages have in common."""

    logger: str
    level: int
    #: The message before anything was put into it.
    template: str
    #: The exception whose trace it shows; empty: none.
    exception: str = ""


def kind_of(logger: str, level: int, template: str, exception: str = "") -> Kind:
    """Return the kind of a message; numbers in its template make no difference."""
    first, _, _ = template.strip().partition("\n")
    return Kind(logger, level, _VARYING.sub("#", first[:_LONGEST]), exception)


@dataclass(frozen=True, slots=True)
class Summary:
    """What was not written."""

    kind: Kind
    hidden: int
    #: Since the first one.
    seconds: float
    #: One that was written.
    example: str

    def __str__(self) -> str:
        return f"… {self.hidden:,} more like it in {self.seconds:.0f} s: {self.example}"


@dataclass(slots=True)
class _Window:
    began: float
    example: str
    weight: int = 0
    hidden: int = 0


class Repeats:
    """The messages of the last interval; times are seconds of a clock that nobody sets."""

    def __init__(self, burst: int = BURST, interval: float = INTERVAL) -> None:
        self._burst, self._interval = burst, interval
        #: In the order in which they began.
        self._windows: OrderedDict[Kind, _Window] = OrderedDict()
        #: Of kinds that are not remembered any more.
        self._dropped: list[Summary] = []

    def is_written(self, kind: Kind, example: str, now: float, *, weight: int = 1) -> bool:
        """Count a message, and say whether it is written; ask for what is due before.

        The first one of an interval always is. `weight` says how many short ones it stands for.
        """
        window = self._windows.get(kind)
        if window is None:
            self._windows[kind] = window = _Window(now, _short(example))
            if len(self._windows) > _MOST:
                self._drop(now)
        elif window.weight + weight > self._burst:
            window.hidden += 1
            return False
        window.weight += weight
        return True

    def due(self, now: float) -> list[Summary]:
        """Return what was hidden in intervals that are over, and forget those."""
        while self._windows:
            began = next(iter(self._windows.values())).began
            if now - began < self._interval:
                break
            self._drop(now)
        due, self._dropped = self._dropped, []
        return due

    def rest(self, now: float) -> list[Summary]:
        """Return everything that was hidden and not told yet, and forget all."""
        while self._windows:
            self._drop(now)
        return self.due(now)

    def _drop(self, now: float) -> None:
        kind, window = self._windows.popitem(last=False)
        if window.hidden:
            summary = Summary(kind, window.hidden, now - window.began, window.example)
            self._dropped.append(summary)


def _short(text: str) -> str:
    first, _, _ = text.strip().partition("\n")
    return first if len(first) <= _LONGEST else f"{first[:_LONGEST]}…"
