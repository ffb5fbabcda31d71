"""Accepts connections and ends them, as `connection_table` decides.

The event loop's own server is not used: it logs each connection that it has no descriptor for,
as often as it tries, and takes whatever comes.
"""

import asyncio
import contextlib
import email.utils
import errno
import logging
import socket
import time
from http import HTTPStatus

import uvicorn
from uvicorn import server as uvicorn_server

from volary.concurrency import races
from volary.server import metrics
from volary.server.connections import bounds, connection_table, descriptors, http_connection

_LOG = logging.getLogger(__name__)
#: Connections that are taken before what came on others is read: fewer than one holder may have,
#: so that who sends a request at once is heard before it is the one that waits longest.
_BATCH = 8
#: Seconds between two looks for connections that take too long.
_INTERVAL = 1.0
#: Seconds without accepting when there was no descriptor for it.
_PAUSE = 0.1
#: The same when another connection was ended for it.
_SHORT_PAUSE = 0.01
#: Of a connection that has already failed; the next one may be fine.
_FAILED = frozenset(
    {
        errno.ECONNABORTED,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.EINTR,
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.ENOPROTOOPT,
        errno.EOPNOTSUPP,
        errno.EPERM,
        errno.EPROTO,
    }
)
#: Seconds for what was broken off to end.
_LAST = 2.0
#: Bytes of a request that is refused unread.
_READ = 64 * 1024
#: What is said of each limit.
_LIMITS = {
    "address": "an address has too many connections: %s",
    "total": "there are too many connections; the last one is from %s",
}
_Ended = connection_table.Ended[http_connection.HttpConnection]
_Admission = connection_table.Admission[http_connection.HttpConnection]


class Listener:
    """Takes connections from a socket from `open` to `close`."""

    def __init__(
        self,
        listening: socket.socket,
        config: uvicorn.Config,
        limits: bounds.Bounds,
        numbers: metrics.Metrics,
        group: asyncio.TaskGroup,
    ) -> None:
        self._listening = listening
        self._config = config
        self._seconds = limits.seconds
        self._numbers = numbers
        self._group = group
        self._loop = asyncio.get_running_loop()
        self._table = connection_table.ConnectionTable[http_connection.HttpConnection](limits)
        self._spare = descriptors.Spare()
        self._resume: asyncio.TimerHandle | None = None
        self._is_short = False
        self._changed = asyncio.Event()
        #: Every connection with a transport, also those that are ended and not yet gone.
        self._shared = uvicorn_server.ServerState()

    def open(self) -> None:
        """Begin to take connections; `watch` has to run as well."""
        self._listening.setblocking(False)
        self._set_date()
        self._loop.add_reader(self._listening, self._accept_some)

    async def watch(self) -> None:
        """End what takes too long, until cancelled."""
        while True:
            await asyncio.sleep(_INTERVAL)
            self._set_date()
            for connection in self._table:
                connection.look()
            for late in self._table.overdue(self._loop.time()):
                self._numbers.connections_ended.labels(late.phase.value).inc()
                _end(late, HTTPStatus.REQUEST_TIMEOUT)

    async def close(self, grace: float) -> None:
        """Take no more, let requests under way finish for `grace` seconds, then end them."""
        if self._resume is not None:
            self._resume.cancel()
        self._loop.remove_reader(self._listening)
        self._listening.close()
        self._spare.close()
        for connection in self._table:
            connection.shutdown()
        gone, _ = await races.first(self._gone(), asyncio.sleep(grace))
        if not gone.cancelled():
            return
        for task in self._shared.tasks:
            task.cancel()
        for open_connection in list(self._shared.connections):
            open_connection.transport.abort()
        await races.first(self._gone(), asyncio.sleep(_LAST))

    async def _gone(self) -> None:
        """Wait until there is no connection, and no request is carried out."""
        while self._shared.connections or len(self._table):
            self._changed.clear()
            await self._changed.wait()
        if tasks := list(self._shared.tasks):
            await asyncio.wait(tasks)

    def _accept_some(self) -> None:
        for _ in range(_BATCH):
            try:
                accepted, peer = self._listening.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _FAILED:
                    continue
                self._make_room(error)
                return
            if self._is_short:
                self._is_short = False
                _LOG.warning("connections are taken again")
            self._take(accepted, str(peer[0]))

    def _take(self, accepted: socket.socket, address: str) -> None:
        connection = http_connection.HttpConnection(
            self._config, self._shared, moved=self._moved, lost=self._lost
        )
        phase = (
            connection_table.Phase.HANDSHAKE if self._config.ssl else connection_table.Phase.HEAD
        )
        admission = self._table.admit(connection, address, phase, self._loop.time())
        if admission.reason:
            self._tell(admission, address)
        if admission.evicted is not None:
            self._evict(admission.evicted)
        if admission.service is connection_table.Service.NONE:
            self._refuse(accepted)
            return
        if admission.service is connection_table.Service.HEALTH:
            connection.restrict()
        self._numbers.connections.inc()
        self._connect(connection, accepted)

    def _connect(self, connection: http_connection.HttpConnection, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        with contextlib.suppress(OSError):
            # Or the second piece of an answer waits for the first one to be acknowledged.
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        is_begun = False

        async def connect() -> None:
            nonlocal is_begun
            is_begun = True
            is_tls = self._config.ssl is not None
            try:
                await self._loop.connect_accepted_socket(
                    lambda: connection,
                    accepted,
                    ssl=self._config.ssl,
                    ssl_handshake_timeout=self._seconds.handshake if is_tls else None,
                    ssl_shutdown_timeout=self._seconds.closing if is_tls else None,
                )
            except OSError as error:
                # It has gone, or speaks no TLS, or too slowly.
                _LOG.debug("a connection was not made: %s", error)
            except Exception:  # noqa: BLE001 - all others, and the controller, go on
                _LOG.exception("a connection was not made")

        def done(_: asyncio.Task[None]) -> None:
            if not is_begun:
                accepted.close()
            if not connection.is_connected:
                self._lost(connection)

        connection.connecting = self._group.create_task(connect(), name="connection")
        connection.connecting.add_done_callback(done)

    def _moved(
        self, connection: http_connection.HttpConnection, phase: connection_table.Phase
    ) -> None:
        self._table.move(connection, phase, self._loop.time())

    def _lost(self, connection: http_connection.HttpConnection) -> None:
        self._table.remove(connection)
        self._numbers.connections.dec()
        self._changed.set()

    def _make_room(self, error: OSError) -> None:
        """Do what can be done when no connection can be taken, and try again a little later."""
        if not self._is_short:
            self._is_short = True
            _LOG.error("no connection can be taken: %s", error.strerror)
        self._numbers.connections_refused.labels("descriptors").inc()
        weakest, pause = self._table.weakest(), _PAUSE
        if weakest is not None:
            # Its descriptor is for whoever is first: the database, Git, a cluster or the next one.
            self._evict(weakest)
            pause = _SHORT_PAUSE
        else:
            with self._spare.lent(), contextlib.suppress(OSError):
                self._refuse(self._listening.accept()[0])
        self._loop.remove_reader(self._listening)
        self._resume = self._loop.call_later(
            pause, self._loop.add_reader, self._listening, self._accept_some
        )

    def _evict(self, ended: _Ended) -> None:
        self._numbers.connections_ended.labels("room").inc()
        _end(ended, HTTPStatus.SERVICE_UNAVAILABLE)

    def _tell(self, admission: _Admission, address: str) -> None:
        if admission.service is not connection_table.Service.ALL:
            self._numbers.connections_refused.labels(admission.reason).inc()
        _LOG.warning(_LIMITS[admission.reason], address)

    def _refuse(self, accepted: socket.socket) -> None:
        with accepted, contextlib.suppress(OSError):
            accepted.setblocking(False)
            if self._config.ssl is None:
                with contextlib.suppress(BlockingIOError):
                    # What is not read makes the answer be lost as well.
                    accepted.recv(_READ)
                accepted.send(http_connection.short_answer(HTTPStatus.SERVICE_UNAVAILABLE))

    def _set_date(self) -> None:
        date = email.utils.formatdate(time.time(), usegmt=True)
        self._shared.default_headers = [(b"date", date.encode())]


def _end(ended: _Ended, status: HTTPStatus) -> None:
    waits_for_answer = ended.phase in (connection_table.Phase.HEAD, connection_table.Phase.BODY)
    ended.connection.end(status if waits_for_answer else None)
