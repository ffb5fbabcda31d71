"""The logs of containers, as they are written; read once, however many follow one.

A log is read no faster than its fastest reader takes it, and bounded: lines that wait, characters
that are kept for slower ones, bytes of a line, bytes in all. Who is so slow that lines are gone is
told so. Each line has the time that the cluster wrote it at, by which a reader goes on after a
break without missing a line or hearing one twice.
"""

import asyncio
import itertools
from collections import deque
from collections.abc import Hashable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from volary.clusters.api import api_errors, requests
from volary.clusters.client import clients
from volary.controller.api import representations
from volary.livestate import nodes
from volary.manifests import redaction
from volary.model import errors

#: Lines that wait for the fastest reader; nothing more is read meanwhile.
_MOST_WAITING = 500
#: Lines, and characters, that are kept for others.
_MOST_KEPT = 5000
_MOST_CHARACTERS = 1_000_000
#: Characters of a line that are shown.
_LONGEST_LINE = 8000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which log."""

    namespace: str
    pod: str
    container: str = ""
    #: Lines from its end to begin with.
    tail: int = 200
    #: Of the container before it was restarted last.
    previous: bool = False
    #: Where a reader goes on: the position of the last line that it has; 0: it begins.
    after: int = 0


class PodLogLine(representations.Representation, frozen=True):
    """One line that a container wrote."""

    #: Grows with each line: microseconds since 1970.
    position: int
    #: When it was written; none: the cluster does not say.
    at: datetime | None
    #: Without its end, redacted; cut when it is too long.
    text: str


class PodLogEnd(representations.Representation, frozen=True):
    """Why a log has ended."""

    reason: str


class PodLog:
    """What one reader has of a log; it is read as soon as somebody asks for lines."""

    def __init__(self, reading: "_Reading", begin: int) -> None:
        self._reading = reading
        #: The number of the line that comes next.
        self.next = begin
        self.has_more = asyncio.Event()
        reading.readers.add(self)
        if begin < reading.end_number or reading.end:
            self.has_more.set()

    def take(self, most: int) -> tuple[PodLogLine | PodLogEnd, ...]:
        """Return what was read meanwhile; the end comes last, when all lines were taken."""
        reading = self._reading
        reading.begin()
        taken: list[PodLogLine | PodLogEnd] = []
        if self.next < reading.first_number:
            taken.append(reading.gap(self.next))
            self.next = reading.first_number
        lines = reading.lines_from(self.next, most - len(taken))
        taken += lines
        self.next += len(lines)
        reading.make_room()
        if self.next == reading.end_number:
            self.has_more.clear()
            if reading.end and len(taken) < most:
                taken.append(PodLogEnd(reading.end))
        return tuple(taken)

    async def changed(self, seconds: float) -> None:
        """Return when there is more to take, at the latest after `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.has_more.wait()

    async def close(self) -> None:
        """Stop reading, when nobody else reads."""
        await self._reading.leave(self)


@dataclass(slots=True)
class PodLogs:
    """The logs that somebody follows."""

    _readings: dict[Hashable, list["_Reading"]] = field(default_factory=dict)

    def open(
        self, key: Hashable, client: clients.Client, wanted: Wanted, masker: redaction.Masker
    ) -> PodLog:
        """Return a log for one more reader; those of one `key` see the same containers."""
        whole = (key, replace(wanted, tail=0, after=0))
        known = self._readings.setdefault(whole, [])
        for reading in known:
            begin = reading.number_of(wanted)
            if begin is not None:
                return PodLog(reading, begin)
        made = _Reading(client, wanted, masker, known)
        known.append(made)
        for empty in [each for each, readings in self._readings.items() if not readings]:
            del self._readings[empty]
        return PodLog(made, 0)


class _Reading:
    """A log that is being read for all its readers."""

    def __init__(
        self,
        client: clients.Client,
        wanted: Wanted,
        masker: redaction.Masker,
        among: list["_Reading"],
    ) -> None:
        self._client = client
        self._wanted = wanted
        self._masker = masker
        self._among = among
        self._position = wanted.after
        self._lines: deque[PodLogLine] = deque()
        self._characters = 0
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._task: asyncio.Task[None] | None = None
        #: The number of the first line that is kept, counted from where the reading began.
        self.first_number = 0
        self.readers: set[PodLog] = set()
        #: Why it has ended; empty while it goes on.
        self.end = ""

    @property
    def end_number(self) -> int:
        """The number of the line that comes next."""
        return self.first_number + len(self._lines)

    def begin(self) -> None:
        """Read from now on."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._read(), name="pod log")

    def number_of(self, wanted: Wanted) -> int | None:
        """Return with which line a reader begins; None: this reading has not all of its lines."""
        if self.end:
            return None
        if not wanted.after:
            is_enough = not self._wanted.after and self._wanted.tail >= wanted.tail
            begin = max(self.end_number - wanted.tail, 0)
            return begin if is_enough and begin >= self.first_number else None
        if not self.first_number and 0 < self._wanted.after <= wanted.after:
            pass  # It has whatever came since.
        elif not self._lines or self._lines[0].position > wanted.after:
            return None
        return next(
            (
                self.first_number + number
                for number, line in enumerate(self._lines)
                if line.position > wanted.after
            ),
            self.end_number,
        )

    def lines_from(self, number: int, most: int) -> list[PodLogLine]:
        """Return at most so many lines from a number on."""
        start = number - self.first_number
        return list(itertools.islice(self._lines, start, start + most))

    def gap(self, number: int) -> PodLogLine:
        """Return what is said in place of lines that are gone."""
        count = self.first_number - number
        text = f"({count} lines were left out: they came faster than they were read)"
        before = self._lines[0].position if self._lines else self._position + 1
        return PodLogLine(before - 1, None, text)

    def make_room(self) -> None:
        """Go on reading where somebody has taken enough; keep no more than there is room for."""
        fastest = max((each.next for each in self.readers), default=self.end_number)
        while self.first_number < fastest and (
            len(self._lines) > _MOST_KEPT or self._characters > _MOST_CHARACTERS
        ):
            self._characters -= len(self._lines.popleft().text)
            self.first_number += 1
        if self.end_number - fastest < _MOST_WAITING:
            self._has_room.set()
        else:
            self._has_room.clear()

    async def leave(self, reader: PodLog) -> None:
        """Do without a reader; nothing is read for nobody."""
        self.readers.discard(reader)
        if self.readers:
            self.make_room()
            return
        if self in self._among:
            self._among.remove(self)
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _read(self) -> None:
        try:
            lines = self._client.follow_log(
                self._wanted.pod, namespace=self._wanted.namespace, wanted=self._range()
            )
            async with aclosing(lines):
                async for raw in lines:
                    await self._has_room.wait()
                    self._keep(raw)
            self.end = "the container has ended, or all that is shown of its log was shown"
        except api_errors.TooLarge:
            self.end = "a line is longer than any that is shown"
        except errors.VolaryError as error:
            self.end = self._masker.clean(str(error))
        finally:
            self._tell()

    def _tell(self) -> None:
        for each in self.readers:
            each.has_more.set()

    def _range(self) -> requests.LogRange:
        wanted = self._wanted
        if not wanted.after:
            return requests.LogRange(wanted.container, wanted.tail, previous=wanted.previous)
        # The API knows whole seconds only; what was heard before is left out here.
        since = (_EPOCH + wanted.after * _MICROSECOND).strftime("%Y-%m-%dT%H:%M:%SZ")
        return requests.LogRange(wanted.container, None, since, wanted.previous)

    def _keep(self, raw: bytes) -> None:
        stamp, _, text = raw.decode("utf-8", "replace").partition(" ")
        at = nodes.time(_microseconds(stamp))
        if at is None:
            text = f"{stamp} {text}".rstrip()
        position = (at - _EPOCH) // _MICROSECOND if at else 0
        if at is not None and position <= self._wanted.after:
            return
        # Two of one microsecond are told apart.
        self._position = max(position, self._position + 1)
        shown = self._masker.clean(text[:_LONGEST_LINE])
        self._lines.append(PodLogLine(self._position, at, shown))
        self._characters += len(shown)
        self.make_room()
        self._tell()


def _microseconds(stamp: str) -> str:
    """Return a time as Python reads it: of nanoseconds it knows microseconds."""
    whole, dot, fraction = stamp.removesuffix("Z").partition(".")
    return f"{whole}{dot}{fraction[:6]}+00:00" if dot else f"{whole}+00:00"
