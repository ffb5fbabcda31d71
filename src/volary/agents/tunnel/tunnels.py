"""Both ends of a tunnel: streams of bytes over one channel of messages.

Each side may send as much of a stream as the other gave credit for, and gives new credit for what
was taken from it. So what waits here is bounded for each stream, a stream that nobody reads stops
no other, and the frames of streams take turns. Each side asks again and again whether the other
lives.

One task reads, one writes: whoever reads never waits for a write.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from volary.agents.tunnel import frames

#: Streams of a tunnel at once: each request under way and each watch is one.
MOST_STREAMS = 1024
#: Bytes that have come and wait to be read, over all streams.
MOST_UNREAD = 64 * 1024 * 1024
#: Seconds between two questions whether the other side lives, and how many go without a word.
PING_INTERVAL, MOST_SILENT = 10.0, 3
#: Seconds that the other side has to take why a tunnel ends.
CLOSING = 2.0
#: Frames of the tunnel's own that wait to be sent; more of them are wanted by nobody honest.
_MOST_WAITING = 4 * MOST_STREAMS
#: Credit is given for so many bytes at once.
_CREDIT_STEP = frames.CREDIT // 4


class Channel(Protocol):
    """What messages go through: a WebSocket."""

    async def send(self, message: bytes) -> None:
        """Send a message; wait while the other side takes none."""
        ...

    async def receive(self) -> bytes | None:
        """Return the next message; None: there will be none."""
        ...


class TunnelEndedError(ConnectionError):
    """The tunnel is over; the message says why."""


class StreamEndedError(ConnectionError):
    """The other side broke a stream off; the message says why."""


class Stream:
    """One stream of a tunnel, for one reader and one writer."""

    def __init__(self, tunnel: "Tunnel", number: int) -> None:
        self._tunnel = tunnel
        self.number = number
        #: What has come and was not read yet; never more than credit was given for.
        self._received = bytearray()
        #: Bytes read for which no credit was given yet.
        self._owed = 0
        self._credit = frames.CREDIT
        self._has_ended = False
        self._is_ended_here = False
        self._failure: ConnectionError | None = None
        self._changed = asyncio.Event()
        self._may_send = asyncio.Event()

    async def read(self) -> bytes:
        """Return what comes next; empty: nothing more will.

        Raises:
            ConnectionError: The stream was broken off, or the tunnel is over.
        """
        while not self._received:
            if self._failure is not None:
                raise self._failure
            if self._has_ended:
                return b""
            self._changed.clear()
            await self._changed.wait()
        piece = bytes(self._received)
        self.forget()
        self._owed += len(piece)
        if self._owed >= _CREDIT_STEP and not self._has_ended:
            self._tunnel.post(frames.credit(self.number, self._owed))
            self._owed = 0
        return piece

    async def write(self, data: bytes) -> None:
        """Send bytes; wait until the other side has room for all of them.

        Raises:
            ConnectionError: The stream was broken off, or the tunnel is over.
        """
        rest = memoryview(data)
        while rest:
            while not self._credit:
                self._check()
                self._may_send.clear()
                await self._may_send.wait()
            self._check()
            piece = bytes(rest[: min(self._credit, frames.LARGEST_DATA)])
            self._credit -= len(piece)
            rest = rest[len(piece) :]
            await self._tunnel.send(frames.Frame(frames.Kind.DATA, self.number, piece))

    async def end(self) -> None:
        """Say that nothing more is written.

        Raises:
            ConnectionError: The stream was broken off, or the tunnel is over.
        """
        self._check()
        if not self._is_ended_here:
            self._is_ended_here = True
            await self._tunnel.send(frames.Frame(frames.Kind.END, self.number))
            self._leave_if_done()

    def reset(self, reason: str = "") -> None:
        """Break the stream off, if it is not over."""
        if self._failure is None and not (self._has_ended and self._is_ended_here):
            self.fail(StreamEndedError(reason or "the stream was broken off"))
            self._tunnel.post(frames.reset(self.number, reason))
        self.forget()
        self._tunnel.leave(self)

    def fail(self, failure: ConnectionError) -> None:
        """Take that it is over."""
        self._failure = self._failure or failure
        self._changed.set()
        self._may_send.set()

    def forget(self) -> None:
        """Let go of what has come and was not read."""
        self._tunnel.unread -= len(self._received)
        self._received.clear()

    def take(self, frame: frames.Frame) -> None:
        """Take a frame of the other side.

        Raises:
            frames.MalformedError: It may not be sent.
        """
        match frame.kind:
            case frames.Kind.DATA:
                self._received += frame.body
                self._tunnel.unread += len(frame.body)
                if self._has_ended or len(self._received) + self._owed > frames.CREDIT:
                    raise frames.MalformedError("more of a stream than there was credit for")
            case frames.Kind.END:
                self._has_ended = True
                self._leave_if_done()
            case frames.Kind.CREDIT:
                self._credit += frame.credit
                if self._credit > frames.CREDIT:
                    raise frames.MalformedError("more credit than a stream may have")
            case _:
                self.fail(StreamEndedError(frame.reason or "the other side broke it off"))
                self._tunnel.leave(self)
        self._changed.set()
        self._may_send.set()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _leave_if_done(self) -> None:
        if self._has_ended and self._is_ended_here:
            self._tunnel.leave(self)


#: Takes a stream that the other side opened; returns at once.
OnStream = Callable[[Stream], None]


@dataclass(frozen=True, slots=True)
class Timing:
    """When a silent tunnel is over; seconds."""

    ping_interval: float = PING_INTERVAL
    most_silent: int = MOST_SILENT


class Tunnel:
    """One end. `run` has to go on for as long as it is used.

    Args:
        channel: Open.
        on_stream: Takes streams that the other side opens; None: it may open none.
        timing: When the other side is gone.
    """

    def __init__(
        self, channel: Channel, *, on_stream: OnStream | None = None, timing: Timing | None = None
    ) -> None:
        self._channel = channel
        self._on_stream = on_stream
        self._timing = timing or Timing()
        self._streams: dict[int, Stream] = {}
        #: The number of the stream that was opened last, here or there.
        self._last = 0
        self._posted: deque[frames.Frame] = deque()
        self._posted_some = asyncio.Event()
        self._sending = asyncio.Lock()
        self._silent = 0
        self._ended: ConnectionError | None = None
        self._closing = asyncio.Event()
        #: Bytes that have come and wait to be read.
        self.unread = 0

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._ended is not None

    @property
    def is_closing(self) -> bool:
        """Whether it is closed from here, or has ended."""
        return self.is_over or self._closing.is_set()

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return len(self._streams)

    async def run(self) -> str:
        """Carry the tunnel until it ends, and return why, a sentence.

        Cancelled, it ends as well.
        """
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._read(), name="tunnel reader")
                group.create_task(self._write(), name="tunnel writer")
                group.create_task(self._ping(), name="tunnel pings")
                group.create_task(self._end_soon(), name="tunnel end")
        except* (ConnectionError, frames.MalformedError) as failures:
            reason = str(_first(failures))
        else:
            reason = "its connection ended"
        finally:
            self._end(TunnelEndedError("the tunnel ended"))
        return reason

    def _end(self, failure: ConnectionError) -> None:
        self._ended = self._ended or failure
        for stream in tuple(self._streams.values()):
            stream.fail(self._ended)
        self._streams.clear()

    def close(self, reason: str) -> None:
        """Tell the other side why it ends; `run` ends once that is sent, or was not taken."""
        if not self._closing.is_set():
            self._closing.set()
            self.post(frames.close(reason))

    async def open(self) -> Stream:
        """Open a stream.

        Raises:
            ConnectionError: The tunnel is over, or has as many streams as it may.
        """
        if self.is_closing:
            raise self._ended or TunnelEndedError("the tunnel is closed")
        if len(self._streams) >= MOST_STREAMS:
            raise ConnectionError(f"the tunnel has {MOST_STREAMS} streams, and no more")
        self._last += 1
        stream = self._streams[self._last] = Stream(self, self._last)
        await self.send(frames.Frame(frames.Kind.OPEN, stream.number))
        return stream

    async def send(self, frame: frames.Frame) -> None:
        """Send a frame of a stream, when it is its turn.

        Raises:
            ConnectionError: The tunnel is over.
        """
        if self._ended is not None:
            raise self._ended
        async with self._sending:
            await self._channel.send(frames.encode(frame))

    def post(self, frame: frames.Frame) -> None:
        """Have a frame sent before those of streams that wait; returns at once."""
        self._posted.append(frame)
        self._posted_some.set()

    def leave(self, stream: Stream) -> None:
        """Forget a stream that is over on both sides; what has come of it can be read still."""
        self._streams.pop(stream.number, None)

    async def _read(self) -> None:
        while (message := await self._channel.receive()) is not None:
            self._silent = 0
            self._take(frames.decode(message))
            if self.unread > MOST_UNREAD:
                raise frames.MalformedError("more is sent than is taken here")
            if len(self._posted) > _MOST_WAITING:
                raise frames.MalformedError("the other side asks for more than it takes")
        raise ConnectionError("its connection ended")

    def _take(self, frame: frames.Frame) -> None:
        match frame.kind:
            case frames.Kind.OPEN:
                self._take_stream(frame.stream)
            case frames.Kind.PING:
                self.post(frames.Frame(frames.Kind.PONG, 0, frame.body))
            case frames.Kind.PONG:
                pass  # that something came is what counts
            case frames.Kind.CLOSE:
                raise TunnelEndedError(frame.reason or "the other side closed it")
            case _:
                stream = self._streams.get(frame.stream)
                if stream is not None:
                    stream.take(frame)
                elif frame.stream > self._last:
                    raise frames.MalformedError(f"a frame of stream {frame.stream}, never opened")
                # Of one that is over here: the other side did not know yet.

    def _take_stream(self, number: int) -> None:
        if self._on_stream is None or number <= self._last:
            raise frames.MalformedError(f"stream {number} may not be opened")
        self._last = number
        if len(self._streams) >= MOST_STREAMS:
            self.post(frames.reset(number, "there are too many streams"))
            return
        stream = self._streams[number] = Stream(self, number)
        self._on_stream(stream)

    async def _write(self) -> None:
        """Send what is posted."""
        while True:
            await self._posted_some.wait()
            self._posted_some.clear()
            while self._posted:
                frame = self._posted.popleft()
                await self.send(frame)
                if frame.kind is frames.Kind.CLOSE:
                    raise TunnelEndedError(frame.reason)

    async def _end_soon(self) -> None:
        """End a tunnel that is closed, also when the other side takes nothing any more."""
        await self._closing.wait()
        await asyncio.sleep(CLOSING)
        raise TunnelEndedError("it was closed, and the other side did not take why")

    async def _ping(self) -> None:
        """Ask whether the other side lives, and end the tunnel when it does not.

        Questions are counted and not seconds, so that a process that stood still hears first what
        came meanwhile.
        """
        while True:
            await asyncio.sleep(self._timing.ping_interval)
            self._silent += 1
            if self._silent > self._timing.most_silent:
                seconds = self._silent * self._timing.ping_interval
                raise ConnectionError(f"nothing was heard of it for {seconds:.0f} s")
            self.post(frames.Frame(frames.Kind.PING, 0, os.urandom(8)))


def _first(failures: BaseExceptionGroup) -> BaseException:
    """Return the failure that came first: what the others failed of came after."""
    found: BaseException = failures
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found
