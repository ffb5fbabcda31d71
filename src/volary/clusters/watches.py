"""Following a collection: list once, then every change, for as long as somebody listens.

A watch is a chain of HTTP streams. Each goes on where the last one ended
(bookmarks keep that place fresh). When the place is too old (410), or the stream broke
in an unknown place, everything is listed again and told as one RELISTED event, so
that a listener never misses a deletion.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

import msgspec

from volary.clusters import discovery, requests, retries, transport
from volary.clusters import errors as cluster_errors
from volary.model import errors, json

#: The server ends a stream after this long; then the next one begins.
_STREAM_SECONDS = 290
#: Without a byte for longer than a stream may last, the connection is dead.
_SILENCE = _STREAM_SECONDS + 15.0
_PATIENCE = retries.Policy(
    tries=1_000_000, base=timedelta(milliseconds=250), longest=timedelta(seconds=15)
)


class WatchKind(StrEnum):
    """What a watch tells."""

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


_DECODER = msgspec.json.Decoder(_Line)
_GONE = 410
Lister = Callable[[], Awaitable[ObjectList]]


async def follow(
    sender: transport.Transport,
    resource: discovery.Resource,
    selection: requests.Selection,
    *,
    lister: Lister,
    resource_version: str,
    chance: Callable[[], float],
) -> AsyncGenerator[WatchEvent, None]:
    """Yield events for ever; begins with RELISTED unless `resource_version` is given.

    Failures that may pass are waited out with a growing delay; others are raised.
    """
    place = resource_version
    failures = 0
    while True:
        try:
            if not place:
                listed = await lister()
                place = listed.resource_version
                yield WatchEvent(WatchKind.RELISTED, {}, listed.items)
            lines = _stream(sender, resource, selection, place)
            async with aclosing(lines):
                async for line in lines:
                    failures = 0
                    place = line.object.get("metadata", {}).get("resourceVersion") or place
                    if line.type in WatchKind.__members__:
                        yield WatchEvent(WatchKind(line.type), line.object)
        except cluster_errors.Expired:
            place = ""
        except errors.TemporaryError as error:
            failures += 1
            decision = retries.decide(
                _PATIENCE, error, tried=failures, idempotent=True, chance=chance()
            )
            await asyncio.sleep(decision.delay.total_seconds())


async def _stream(
    sender: transport.Transport,
    resource: discovery.Resource,
    selection: requests.Selection,
    resource_version: str,
) -> AsyncGenerator[_Line, None]:
    request = requests.watch(
        resource, selection, resource_version=resource_version, seconds=_STREAM_SECONDS
    )
    async with sender.stream(request, silence=_SILENCE) as lines:
        async for raw in lines:
            line = _decode(raw, request.what)
            if line.type == "ERROR":
                raise _error(line.object, request.what)
            yield line


def _decode(raw: bytes, what: str) -> _Line:
    try:
        return _DECODER.decode(raw)
    except msgspec.DecodeError as error:
        raise cluster_errors.Unreachable(f"{what}: the stream broke in the middle") from error


def _error(status: json.JsonObject, what: str) -> errors.VolaryError:
    code = int(status.get("code") or 500)
    if code == _GONE or status.get("reason") in ("Expired", "Gone"):
        return cluster_errors.Expired(str(status.get("message")), status=_GONE, reason="Expired")
    return cluster_errors.translate(code, status, what=what)
