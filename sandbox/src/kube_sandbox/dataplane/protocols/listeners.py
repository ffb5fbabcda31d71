"""A listening socket that answers HTTP/1.1 and HTTP/2, and ends as a well-kept server does.

Draining, it still takes requests but asks to end each connection after its answer. Stopping, it
takes no new ones, finishes those under way and closes idle connections at once.
"""

import asyncio
import socket
from collections.abc import Callable

from kube_sandbox.dataplane.protocols import http1, http2

Respond = http1.Respond
#: Gets a request and calls `Respond` once, now or later.
Handle = Callable[[http1.Request, Respond], None]
_BACKLOG = 512
_TURNS = 3


class Listener:
    """A server on one address and port."""

    def __init__(self, bound: socket.socket, handle: Handle) -> None:
        self._socket = bound
        self._handle = handle
        self._server: asyncio.Server | None = None
        self._connections: set[Connection] = set()
        self._empty = asyncio.Event()
        self._empty.set()
        self.is_draining = False
        self._is_stopping = False

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._socket.getsockname()[1])

    @property
    def is_busy(self) -> bool:
        """Somebody has asked and has no whole answer yet."""
        return any(each.is_busy for each in self._connections)

    async def start(self) -> None:
        """Begin to accept; what connected before has waited."""
        if self._is_stopping:
            return
        events = asyncio.get_running_loop()
        self._server = await events.create_server(lambda: Connection(self), sock=self._socket)
        if self._has_ceased():  # meanwhile
            self._server.close()

    def _has_ceased(self) -> bool:
        return self._is_stopping

    def drain(self) -> None:
        """Ask to end each connection after its answer from now on."""
        if not self.is_draining:
            self.is_draining = True
            for each in list(self._connections):
                each.part()

    async def finish(self) -> None:
        """Stop accepting, and close each connection once nothing is under way.

        Whoever has connected by now is served, also when the request is still on its way.
        """
        self.drain()
        for _ in range(_TURNS):
            await asyncio.sleep(0)  # what waits in the socket's queue is accepted
        self._cease()
        for each in list(self._connections):
            each.finish()

    async def stop(self, grace: float) -> None:
        """Do the same within `grace` seconds, then break what is left."""
        await self.finish()
        try:
            async with asyncio.timeout(grace):
                await self._empty.wait()
        except TimeoutError:
            self.abort()

    def abort(self) -> None:
        """Break everything, as a crash does."""
        self._cease()
        for each in list(self._connections):
            each.abort()

    def _cease(self) -> None:
        self.is_draining = self._is_stopping = True
        if self._server is not None:
            self._server.close()
        else:
            self._socket.close()

    def handle(self, request: http1.Request, respond: Respond) -> None:
        """Have a request answered."""
        self._handle(request, respond)

    def opened(self, connection: "Connection") -> None:
        """Take note of a connection."""
        self._connections.add(connection)
        self._empty.clear()

    def closed(self, connection: "Connection") -> None:
        """Forget a connection."""
        self._connections.discard(connection)
        if not self._connections:
            self._empty.set()


def bind(address: str, port: int, handle: Handle) -> Listener:
    """Listen at once: clients can connect, and are served after `Listener.start`.

    Raises:
        OSError: The port is taken or not allowed.
    """
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((address, port))
        bound.listen(_BACKLOG)
        bound.setblocking(False)
    except OSError:
        bound.close()
        raise
    return Listener(bound, handle)


class Connection(asyncio.Protocol):
    """One client; its requests are answered one after the other, but for HTTP/2."""

    def __init__(self, home: Listener) -> None:
        self._home = home
        self._reader = http1.Reader()
        self._transport: asyncio.Transport | None = None
        self._busy = False
        self._used = False
        self._last = False
        #: What came before it is known which HTTP is spoken; None: it is known.
        self._begun: bytes | None = b"" if http2.is_installed() else None
        self._newer: http2.Conversation | None = None
        #: The answer that is being given over time.
        self._stream: http1.Exchange | None = None
        #: It speaks another protocol since its head.
        self._is_raw = False

    @property
    def is_busy(self) -> bool:
        """A request is arriving, or has no whole answer yet."""
        if self._newer is not None:
            return not self._newer.is_idle
        return self._busy or not self._reader.is_empty

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._home.opened(self)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        if self._begun is not None:
            data = self._recognised(self._begun + data)
        if self._newer is not None:
            self._newer.feed(data)
            return
        if self._stream is not None:
            self._stream.feed(data)
            return
        self._reader.feed(data)
        if data and not self._busy:
            self._next()

    def _recognised(self, data: bytes) -> bytes:
        """Find out which HTTP the client speaks; return what is to be read now."""
        if len(data) < len(http2.PREFACE) and http2.PREFACE.startswith(data):
            self._begun = data
            return b""
        self._begun = None
        if data.startswith(http2.PREFACE) and self._transport is not None:
            self._newer = http2.Conversation(self._home, self._transport)
            if self._last:
                self._newer.finish()
        return data

    def eof_received(self) -> bool:
        """The client sends no more, but waits for the answer that is under way."""
        self._last = True
        return self._busy

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._transport = None
        self._home.closed(self)
        if self._newer is not None:
            self._newer.lost()
        elif self._stream is not None:
            self._stream.lost()

    def part(self) -> None:
        """Ask for an end of what has none by itself."""
        if self._stream is not None:
            self._stream.part()

    def finish(self) -> None:
        """Close when idle, else after the answer; one not used yet waits for its request."""
        self._last = True
        if self._newer is not None:
            self._newer.finish()
            return
        idle = self._used and not self._busy and self._reader.is_empty
        if idle and self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Break the connection."""
        if self._transport is not None:
            self._transport.abort()

    def _next(self) -> None:
        try:
            request = self._reader.request()
        except http1.MalformedError as problem:
            self._busy = True
            self._last = True
            self._send(http1.Response(400, (), f"{problem}\n".encode()), bodiless=False)
            return
        if request is None:
            return
        self._busy = self._used = True
        self._last = self._last or not request.keep_alive
        bodiless = request.method == "HEAD"
        self._home.handle(request, lambda answer: self._send(answer, bodiless=bodiless))

    def write(self, data: bytes) -> None:
        """Send a part of the answer that is being given."""
        if self._transport is not None:
            self._transport.write(data if self._is_raw else http1.write_chunk(data))

    def end(self) -> None:
        """The answer that was being given is whole."""
        self._stream = None
        self._busy = False
        if self._transport is not None:
            if not self._is_raw:
                self._transport.write(http1.write_chunk(b""))
            self._transport.close()

    def _send(self, response: http1.Answer, *, bodiless: bool) -> None:
        if self._transport is None:
            self._busy = False
            return
        if isinstance(response, http1.Stream):
            self._transport.write(http1.write_head(response))
            self._is_raw = response.status == http1.SWITCHING_PROTOCOLS
            self._stream = response.begin(self)
            return
        self._busy = False
        last = self._last or self._home.is_draining
        self._transport.write(http1.write_response(response, bodiless=bodiless, close=last))
        if last:
            self._transport.close()
        elif not self._reader.is_empty:
            self._next()
