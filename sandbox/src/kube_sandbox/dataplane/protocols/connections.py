"""Sending requests over connections that are kept; what the proxy and the load share.

A request that meets its end on a connection used before, with not a byte of an answer, is
sent once more on a new one when that is harmless: such a connection may have been closed
a moment before (RFC 9110, 9.2.2). Clients and proxies all do that.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from kube_sandbox.dataplane.protocols import http1

Address = tuple[str, int]
#: Connections that are kept per address while nothing uses them.
_IDLE = 64
_SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")


@dataclass(frozen=True, slots=True)
class Failure:
    """No answer came."""

    #: ``refused``, ``reset``, ``timeout``, ``malformed`` or ``closed``.
    reason: str


Done = Callable[["http1.Response | Failure"], None]


@dataclass(slots=True)
class _Exchange:
    """A request under way."""

    address: Address
    data: bytes
    bodiless: bool
    safe: bool
    done: Done
    limit: asyncio.TimerHandle | None = None

    def end(self, result: http1.Response | Failure) -> None:
        if self.limit is not None:
            self.limit.cancel()
        self.done(result)


class Pool:
    """Connections to any number of servers."""

    def __init__(self, *, timeout: float = 10.0) -> None:
        self._timeout = timeout
        self._events = asyncio.get_running_loop()
        self._idle: dict[Address, list[_Client]] = {}
        self._open: set[_Client] = set()
        self._connecting: set[asyncio.Task[None]] = set()
        self._closed = False

    def send(self, address: Address, request: http1.Request, done: Done) -> None:
        """Send a request; `done` is called once, with its answer or why there is none."""
        exchange = _Exchange(
            address,
            http1.write_request(request),
            request.method == "HEAD",
            request.method in _SAFE,
            done,
        )
        idle = self._idle.get(address)
        while idle:
            client = idle.pop()
            if client.is_usable:
                self._begin(client, exchange)
                return
        self._connect(exchange)

    async def close(self) -> None:
        """Break all connections; requests under way fail."""
        self._closed = True
        for task in list(self._connecting):
            task.cancel()
        await asyncio.gather(*self._connecting, return_exceptions=True)
        for each in list(self._open):
            each.abort("closed")
        await asyncio.sleep(0)

    def _begin(self, client: "_Client", exchange: _Exchange) -> None:
        exchange.limit = self._events.call_later(self._timeout, client.abort, "timeout")
        client.begin(exchange)

    def _connect(self, exchange: _Exchange) -> None:
        if self._closed:
            exchange.end(Failure("closed"))
            return
        task = self._events.create_task(self._connected(exchange))  # held until it ends
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    async def _connected(self, exchange: _Exchange) -> None:
        host, port = exchange.address
        try:
            async with asyncio.timeout(self._timeout):
                _, client = await self._events.create_connection(
                    lambda: _Client(self, exchange.address), host, port
                )
        except TimeoutError:
            exchange.end(Failure("timeout"))
        except OSError:
            exchange.end(Failure("refused"))
        except asyncio.CancelledError:
            exchange.end(Failure("closed"))
            raise
        else:
            self._begin(client, exchange)

    def opened(self, client: "_Client") -> None:
        """Take note of a connection."""
        self._open.add(client)

    def lost(self, client: "_Client") -> None:
        """Forget a connection."""
        self._open.discard(client)
        with contextlib.suppress(ValueError):
            self._idle.get(client.address, []).remove(client)

    def free(self, client: "_Client") -> bool:
        """Keep a connection for the next request; say whether there was room."""
        idle = self._idle.setdefault(client.address, [])
        if len(idle) >= _IDLE or self._closed:
            return False
        idle.append(client)
        return True

    def broken(self, exchange: _Exchange, reason: str, *, again: bool) -> None:
        """End a request without an answer, or send it `again`."""
        if exchange.limit is not None:
            exchange.limit.cancel()
        if again and exchange.safe and not self._closed:
            self._connect(exchange)
        else:
            exchange.end(Failure(reason))


class _Client(asyncio.Protocol):
    """One connection to a server, with at most one request under way."""

    def __init__(self, home: Pool, address: Address) -> None:
        self._home = home
        self.address = address
        self._reader = http1.Reader()
        self._transport: asyncio.Transport | None = None
        self._exchange: _Exchange | None = None
        self._uses = 0
        self._reason = "reset"

    @property
    def is_usable(self) -> bool:
        """It can carry a request."""
        return self._transport is not None and not self._transport.is_closing()

    def begin(self, exchange: _Exchange) -> None:
        """Send a request."""
        self._uses += 1
        self._exchange = exchange
        if self._transport is None:
            self._exchange = None
            self._home.broken(exchange, "reset", again=self._uses > 1)
        else:
            self._transport.write(exchange.data)

    def abort(self, reason: str) -> None:
        """Break the connection; a request under way fails for `reason`."""
        self._reason = reason
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._home.opened(self)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        self._reader.feed(data)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._transport = None
        self._home.lost(self)
        self._reader.end()
        silent = self._reader.is_empty
        if not silent:
            self._look()
        if self._exchange is not None:
            exchange, self._exchange = self._exchange, None
            again = silent and self._uses > 1 and self._reason == "reset"
            self._home.broken(exchange, self._reason, again=again)

    def _look(self) -> None:
        exchange = self._exchange
        if exchange is None:
            self.abort("malformed")  # it talks without being asked
            return
        try:
            answer = self._reader.response(bodiless=exchange.bodiless)
        except http1.MalformedError:
            self.abort("malformed")
            return
        if answer is None:
            return
        self._exchange = None
        keep = answer.keep_alive and self._reader.is_empty and self.is_usable
        if (not keep or not self._home.free(self)) and self._transport is not None:
            self._transport.close()
        exchange.end(answer)
