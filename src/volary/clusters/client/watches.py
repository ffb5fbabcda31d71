"""Following a collection: list once, then every change, for as long as somebody listens.

A watch is a chain of HTTP streams. Each goes on where the last one ended
(bookmarks keep that place fresh). When the place is too old (410) or seems not to exist,
everything is listed again and yielded as one RELISTED event, so that a listener never
misses a deletion.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

import msgspec

from volary.clusters.api import api_errors, discovery, requests
from volary.clusters.transport import retries, transports
from volary.model import errors, json

#: The server ends a stream after this long; then the next one begins.
_STREAM_SECONDS = 290
#: Without a byte for longer than a stream may last, the connection is dead.
_SILENCE = _STREAM_SECONDS + 15.0
_PATIENCE = retries.Policy(base=timedelta(milliseconds=250), longest=timedelta(seconds=15))
#: After so many failures in a row everything is listed again.
_DOUBTFUL = 5
#: A stream that ends within seconds and without a word has failed.
_SHORT = 1.0


class WatchKind(StrEnum):
    """What happened to a collection."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    #: The whole collection, at the beginning and after a gap: replaces all that was known.
    RELISTED = "RELISTED"


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One change, or the whole collection."""

    kind: WatchKind
    #: The object changed; for DELETED its last state. Empty for RELISTED.
    body: json.JsonObject
    #: The whole collection; for RELISTED only.
    items: tuple[json.JsonObject, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectList:
    """A complete collection and the place from which to watch it."""

    items: tuple[json.JsonObject, ...]
    resource_version: str


class _Line(msgspec.Struct):
    type: str
    object: json.JsonObject

    @property
    def place(self) -> str:
        """The place to go on from; empty: it does not say."""
        metadata = self.object.get("metadata")
        return str(metadata.get("resourceVersion") or "") if isinstance(metadata, dict) else ""


_DECODER = msgspec.json.Decoder(_Line)
_FAILURE = 400
_GONE = 410
_SERVER_ERROR = 500
Lister = Callable[[], Awaitable[ObjectList]]


@dataclass(slots=True)
class Standing:
    """How a watch stands at present, for who wants to know more than what it yields."""

    #: A stream is open: what changes is told at once.
    is_open: bool = False


@dataclass(slots=True)
class _Progress:
    """How a watch has fared."""

    #: The place to go on from; empty: everything has to be listed.
    place: str
    #: Failures in a row.
    failures: int = 0

    def fail(self) -> None:
        """Count a failure; after several the place itself may be what is wrong.

        A cluster restored from a backup answers "too large resource version" to a
        place that it has not reached yet, again and again.
        """
        self.failures += 1
        if self.failures % _DOUBTFUL == 0:
            self.place = ""


async def follow(
    sender: transports.Transport,
    resource: discovery.Resource,
    selection: requests.Selection,
    *,
    lister: Lister,
    resource_version: str,
    chance: Callable[[], float],
    standing: Standing | None = None,
) -> AsyncGenerator[WatchEvent, None]:
    """Yield events for ever; begins with RELISTED unless `resource_version` is given.

    Failures that may pass are waited out with a growing delay; others are raised. How it stands
    meanwhile is kept in `standing`.
    """
    standing = standing or Standing()
    progress = _Progress(resource_version)
    while True:
        try:
            if not progress.place:
                listed = await lister()
                progress.place = listed.resource_version
                yield WatchEvent(WatchKind.RELISTED, {}, listed.items)
            streaming = _changes(sender, resource, selection, progress, standing)
            async with aclosing(streaming):
                async for event in streaming:
                    yield event
        except api_errors.Expired:
            progress.place = ""
            progress.failures += 1
            pause = timedelta(0)
        except errors.TemporaryError as error:
            progress.fail()
            pause = error.delay or timedelta(0)
        else:
            continue
        await asyncio.sleep(_delay(pause, progress.failures, chance()))


def _delay(asked: timedelta, failures: int, chance: float) -> float:
    """Return the seconds to wait after so many failures in a row; never much over a minute."""
    backoff = retries.backoff(_PATIENCE, failures=failures, chance=chance)
    return (min(asked, _PATIENCE.longest_asked) + backoff).total_seconds()


async def _changes(
    sender: transports.Transport,
    resource: discovery.Resource,
    selection: requests.Selection,
    progress: _Progress,
    standing: Standing,
) -> AsyncGenerator[WatchEvent, None]:
    """Yield the changes of one stream and keep the place.

    Raises:
        api_errors.Unreachable: It ended at once and without a word, which must not
            become a busy loop.
    """
    clock = asyncio.get_running_loop()
    began, heard = clock.time(), False
    request = requests.watch(
        resource, selection, resource_version=progress.place, seconds=_STREAM_SECONDS
    )
    try:
        async with sender.stream(request, silence=_SILENCE) as lines:
            standing.is_open = True
            async for raw in lines:
                line = _decode(raw, request.what)
                if line.type == "ERROR":
                    raise _error(line.object, request.what)
                heard = True
                progress.failures = 0
                progress.place = line.place or progress.place
                if line.type in WatchKind.__members__:
                    yield WatchEvent(WatchKind(line.type), line.object)
    finally:
        standing.is_open = False
    if not heard and clock.time() - began < _SHORT:
        raise api_errors.Unreachable(f"watch {resource.title}: the stream ended at once")


def _decode(raw: bytes, what: str) -> _Line:
    try:
        return _DECODER.decode(raw)
    except json.UNREADABLE as error:
        raise api_errors.Unreachable(f"{what}: the stream broke in the middle") from error


def _error(status: json.JsonObject, what: str) -> errors.VolaryError:
    code = status.get("code")
    known = code if isinstance(code, int) and code >= _FAILURE else _SERVER_ERROR
    if known == _GONE or status.get("reason") in ("Expired", "Gone"):
        return api_errors.Expired(str(status.get("message")), status=_GONE, reason="Expired")
    return api_errors.translate(known, status, what=what)
