"""The log of one container, as it is written, for one reader.

It is read no faster than the reader takes it, and bounded: lines that wait, bytes of a line, bytes
in all. Each line has the time that the cluster wrote it at, by which a reader goes on after a break
without missing a line or hearing one twice.
"""

import asyncio
from collections import deque
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from volary.clusters.api import api_errors, requests
from volary.clusters.client import clients
from volary.controller.api import representations
from volary.livestate import nodes
from volary.manifests import redaction
from volary.model import errors

#: Lines that wait for a reader; nothing more is read meanwhile.
_MOST_WAITING = 500
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
    """See the module; reads as soon as somebody asks for lines, until it is closed."""

    def __init__(self, client: clients.Client, wanted: Wanted, masker: redaction.Masker) -> None:
        self._client = client
        self._wanted = wanted
        self._masker = masker
        self._position = wanted.after
        self._waiting: deque[PodLogLine] = deque()
        self._has_more = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._task: asyncio.Task[None] | None = None
        self._end = ""

    def take(self, most: int) -> tuple[PodLogLine | PodLogEnd, ...]:
        """Return what was read meanwhile; the end comes last, when all lines were taken."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._read(), name="pod log")
        taken: list[PodLogLine | PodLogEnd] = []
        while self._waiting and len(taken) < most:
            taken.append(self._waiting.popleft())
        if len(self._waiting) < _MOST_WAITING:
            self._has_room.set()
        if not self._waiting:
            self._has_more.clear()
            if self._end and len(taken) < most:
                taken.append(PodLogEnd(self._end))
        return tuple(taken)

    async def changed(self, seconds: float) -> None:
        """Return when there is more to take, at the latest after `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._has_more.wait()

    async def close(self) -> None:
        """Stop reading."""
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
            self._end = "the container has ended, or all that is shown of its log was shown"
        except api_errors.TooLarge:
            self._end = "a line is longer than any that is shown"
        except errors.VolaryError as error:
            self._end = self._masker.clean(str(error))
        finally:
            self._has_more.set()

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
        self._waiting.append(PodLogLine(self._position, at, shown))
        if len(self._waiting) >= _MOST_WAITING:
            self._has_room.clear()
        self._has_more.set()


def _microseconds(stamp: str) -> str:
    """Return a time as Python reads it: of nanoseconds it knows microseconds."""
    whole, dot, fraction = stamp.removesuffix("Z").partition(".")
    return f"{whole}{dot}{fraction[:6]}+00:00" if dot else f"{whole}+00:00"
