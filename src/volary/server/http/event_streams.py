"""Server-sent events: changes as they happen, resumable, without a queue that can run over.

A stream reads from the store at the pace of its reader, so nothing is dropped for a slow one
and nothing piles up. A reader that takes nothing at all for a while is let go, with an event
that says so and where to go on.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from starlette import requests, responses, types

from volary.concurrency import races
from volary.model import addresses, errors
from volary.server import server_state
from volary.server.authentication import logins
from volary.server.authorization import guard
from volary.server.http import encoding, problems

#: Seconds between two looks when nothing wakes us: another process may have written.
_POLL_INTERVAL = 1.0
#: Seconds after which a stream ends and the reader comes again, so that it is checked again.
_LONGEST = 3600.0
_BATCH = 200


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event of a stream."""

    #: Where to go on after it.
    id: int
    event: str
    data: object
    #: Nothing comes after it.
    is_last: bool = False


#: Returns at most so many pieces after an id, and the id up to which it has looked.
Fetch = Callable[[int, int], Awaitable[tuple[list[StreamEvent], int]]]


def start_of(request: requests.Request, default: int) -> int:
    """Return where a reader wants to go on: ``Last-Event-ID``, or `default`.

    Raises:
        errors.UserError: It is no number.
    """
    given = request.headers.get("last-event-id", "")
    if not given:
        return default
    if not given.isdecimal() or len(given) > 18:
        raise errors.user_error(
            "Last-Event-ID is not one of this stream", hint="send the id of the last event you got"
        )
    return int(given)


async def _nothing() -> None:
    """Let go of nothing."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a stream reads from."""

    fetch: Fetch
    #: Returns when there may be more, at the latest after so many seconds; None: when something
    #: was stored.
    changed: Callable[[float], Awaitable[None]] | None = None
    #: Called once when the stream has ended, however it did.
    close: Callable[[], Awaitable[None]] = _nothing


def respond(request: requests.Request, source: Fetch | Source, start: int) -> responses.Response:
    """Answer with a stream of what a source, or only its `fetch`, finds from `start` on."""
    source = source if isinstance(source, Source) else Source(source)
    here, person = server_state.of(request), server_state.person(request).name
    address = logins.address_of(request)
    place = _Place(here, person, address)
    if place.take():
        return EventStream(request, source, start, place)
    here.metrics.requests_limited.labels("streams").inc()
    later = {"retry-after": "10"}
    if here.streams.taken >= here.bounds.streams:
        return problems.problem(503, "too many streams are open", hint="try again", headers=later)
    return problems.problem(
        429,
        "you or your address have too many streams open",
        hint=f"close some: a person may have {here.bounds.streams_each} open, and an address "
        f"{here.bounds.streams_of(address)}",
        headers=later,
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """A stream among those of a person, of an address and of everybody."""

    here: server_state.ServerState
    person: str
    address: str

    def take(self) -> bool:
        """Take it; False: there is none."""
        here, holder = self.here, addresses.holder_of(self.address)
        if not here.streams.take(holder, 1, share=here.bounds.streams_of(self.address)):
            return False
        if here.streams_of_people.take(self.person, 1, share=here.bounds.streams_each):
            return True
        here.streams.give_back(holder, 1)
        return False

    def leave(self) -> None:
        """Give it back."""
        self.here.streams.give_back(addresses.holder_of(self.address), 1)
        self.here.streams_of_people.give_back(self.person, 1)


class EventStream(responses.Response):
    """Sends pieces until the last one, the reader's leave or the server's stop."""

    media_type = "text/event-stream"

    def __init__(
        self, request: requests.Request, source: Source, start: int, place: _Place
    ) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._request = request
        self._here = server_state.of(request)
        self._source = source
        self._at = start
        self._place = place

    async def __call__(self, scope: types.Scope, receive: types.Receive, send: types.Send) -> None:
        """Send the stream."""
        self._here.metrics.streams.inc()
        try:
            await races.first(self._send_events(send), _disconnected(receive))
        finally:
            self._place.leave()
            self._here.metrics.streams.dec()
            await self._source.close()

    async def _send_events(self, send: types.Send) -> None:
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        patience = self._here.patience
        with suppress(OSError):
            try:
                async for text in self._texts():
                    async with asyncio.timeout(patience.slowest_reader):
                        await send({"type": "http.response.body", "body": text, "more_body": True})
            except TimeoutError:
                self._here.metrics.dropped.inc()
                await self._drop_slow_reader(send)
                return
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _drop_slow_reader(self, send: types.Send) -> None:
        """Tell a reader that takes nothing that it is let go; it may not hear it."""
        text = _write(
            "dropped", {"reason": "you read too slowly; reconnect with the last id you received"}
        )
        with suppress(TimeoutError):
            async with asyncio.timeout(self._here.patience.close_timeout):
                await send({"type": "http.response.body", "body": text, "more_body": False})

    async def _texts(self) -> AsyncIterator[bytes]:
        loop, patience = asyncio.get_running_loop(), self._here.patience
        end, sign = loop.time() + _LONGEST, loop.time() + patience.heartbeat
        check = loop.time() + patience.heartbeat
        yield b"retry: 2000\n\n"
        while not self._here.stopping.is_set() and loop.time() < end:
            if loop.time() >= check:
                check = loop.time() + patience.heartbeat
                if not await self._may_go_on():
                    break
            pieces, last = await self._next()
            for piece in pieces:
                yield _write(piece.event, piece.data, piece.id)
            if last:
                return
            if pieces:
                sign = loop.time() + patience.heartbeat
                continue
            if loop.time() >= sign:
                sign = loop.time() + patience.heartbeat
                yield b": still here\n\n"
            await self._rest(min(_POLL_INTERVAL, patience.heartbeat))
        yield _write("closing", {"reason": "reconnect with the last id you received"})

    async def _may_go_on(self) -> bool:
        """Say whether the reader still may read this; if that cannot be said now, later."""
        try:
            return await guard.check_again(self._request)
        except errors.TemporaryError:
            return True

    async def _next(self) -> tuple[list[StreamEvent], bool]:
        try:
            pieces, self._at = await self._source.fetch(self._at, _BATCH)
        except errors.TemporaryError:
            # The store is away; the reader sees heartbeats until it is back.
            return [], False
        return pieces, any(piece.is_last for piece in pieces)

    async def _rest(self, seconds: float) -> None:
        """Wait for a change, or for the server's stop."""
        changed = self._source.changed or self._here.service.changed
        await races.first(changed(seconds), self._here.stopping.wait())


async def _disconnected(receive: types.Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _write(event: str, data: object, identifier: int | None = None) -> bytes:
    # JSON has no raw line ends, so one data line is always enough.
    head = f"id: {identifier}\n" if identifier is not None else ""
    return f"{head}event: {event}\ndata: ".encode() + encoding.encode(data) + b"\n\n"
