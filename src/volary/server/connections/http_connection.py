"""HTTP/1.1 on one connection, by uvicorn's protocol, which is watched for what it waits for."""

import asyncio
import contextlib
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import h11
import uvicorn
from uvicorn import server as uvicorn_server
from uvicorn.protocols.http import h11_impl
from uvicorn.protocols.websockets import wsproto_impl

from volary.agents import hellos
from volary.server.connections import connection_table

#: In the state of a request's scope: the connection is one of the reserve.
HEALTH_ONLY = "volary.health_only"
_Phase = connection_table.Phase


class HttpConnection(h11_impl.H11Protocol):
    """A connection that tells what it waits for, and can be ended in any phase."""

    def __init__(
        self,
        config: uvicorn.Config,
        shared: uvicorn_server.ServerState,
        *,
        moved: Callable[["HttpConnection", _Phase], None],
        lost: Callable[["HttpConnection"], None],
    ) -> None:
        super().__init__(config, shared, {HEALTH_ONLY: False})
        self._moved, self._lost = moved, lost
        #: The WebSocket that it became; None: it is none.
        self.socket: AgentSocket | None = None
        #: Connects the socket; until it has, there is no transport.
        self.connecting: asyncio.Task[None] | None = None

    @property
    def is_connected(self) -> bool:
        """Whether there is a transport, which ends by itself from then on."""
        # uvicorn says that there always is one.
        transport: asyncio.Transport | None = self.transport
        return transport is not None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; TLS is agreed on."""
        super().connection_made(transport)
        self._moved(self, _Phase.HEAD)

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        super().data_received(data)
        self._moved(self, self._phase(_Phase.HEAD))

    def on_response_complete(self) -> None:
        """Go on to the next request."""
        super().on_response_complete()
        self._moved(self, self._phase(_Phase.IDLE))

    def pause_writing(self) -> None:
        """Note that the other side does not take what is written."""
        super().pause_writing()
        self._moved(self, _Phase.STALLED)

    def resume_writing(self) -> None:
        """Note that it took enough of it."""
        super().resume_writing()
        self._moved(self, self._phase(_Phase.IDLE))

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end."""
        super().connection_lost(exc)
        self._lost(self)

    def _should_upgrade_to_ws(self) -> bool:
        """Say whether a request may become a WebSocket: a tunnel of an agent, and nothing else."""
        return self.scope["path"] == hellos.TUNNEL_PATH and not self.app_state[HEALTH_ONLY]

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Become a WebSocket; whoever holds this connection goes on holding it."""

        def make(**given: Any) -> AgentSocket:
            self.socket = AgentSocket(**given, lost=lambda: self._lost(self))
            return self.socket

        self.ws_protocol_class = make  # type: ignore[assignment]
        super().handle_websocket_upgrade(event)
        self._moved(self, _Phase.ANSWER)

    def restrict(self) -> None:
        """Have it serve nothing but health."""
        self.app_state[HEALTH_ONLY] = True

    def look(self) -> None:
        """Tell when it is ending: nothing is called then."""
        if self.is_connected and self.transport.is_closing():
            self._moved(self, _Phase.CLOSING)

    def shutdown(self) -> None:
        """End it once the request under way is answered; at once when there is none."""
        if not self.is_connected:
            self.end()
            return
        if self.socket is not None:
            self.socket.shutdown()
            return
        with contextlib.suppress(h11.LocalProtocolError):
            super().shutdown()

    def end(self, status: HTTPStatus | None = None) -> None:
        """End it at once; `status` is said first to who waits for an answer.

        What was written before and not taken yet is lost.
        """
        if not self.is_connected:
            if self.connecting is not None:
                self.connecting.cancel()
            return
        # uvicorn says that there always is one.
        cycle: h11_impl.RequestResponseCycle | None = self.cycle
        waits = cycle is None or cycle.response_complete or not cycle.response_started
        waits = waits and self.socket is None
        if status is not None and waits and not self.transport.is_closing():
            self.transport.write(short_answer(status))
        self.transport.abort()

    def _phase(self, between: _Phase) -> _Phase:
        """Return what it waits for; `between`: when that is another request."""
        if self.transport.is_closing():
            return _Phase.CLOSING
        if self.flow.write_paused:
            return _Phase.STALLED
        if self.socket is not None:
            return _Phase.ANSWER  # a tunnel asks by itself whether the other side lives
        if self.conn.their_state is h11.SEND_BODY:
            return _Phase.BODY
        cycle: h11_impl.RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            return _Phase.ANSWER
        return between


class AgentSocket(wsproto_impl.WSProtocol):
    """A WebSocket, by uvicorn's protocol, that tells when it is gone."""

    def __init__(self, *, lost: Callable[[], None], **given: Any) -> None:
        super().__init__(**given)
        self._lost = lost

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end."""
        super().connection_lost(exc)
        self._lost()


def short_answer(status: HTTPStatus) -> bytes:
    """Return an answer as it is sent where no request was read: without a body, and the last."""
    lines = (
        f"HTTP/1.1 {status.value} {status.phrase}",
        "connection: close",
        "content-length: 0",
        "retry-after: 5",
        "",
        "",
    )
    return "\r\n".join(lines).encode()
