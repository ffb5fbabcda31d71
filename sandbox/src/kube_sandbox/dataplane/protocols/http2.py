"""HTTP/2 without TLS (h2c with prior knowledge), for clients of gRPC; needs the package `h2`.

A request becomes one of `http1`, and its answer one of HTTP/2 again. To a request of gRPC the
answer is one message with one text field, number 1 (a ``google.protobuf.StringValue``), whatever
method is called; a failure is the status INTERNAL. The answer's fields come as metadata.
"""

import asyncio
import functools
import importlib.util
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from kube_sandbox.dataplane.protocols import http1

if TYPE_CHECKING:
    from h2 import connection as h2_connection
    from h2 import events as h2_events

#: What a client begins with that knows beforehand (RFC 9113).
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_GRPC = "application/grpc"
_OK, _INTERNAL = "0", "13"
_TEXT_FIELD = b"\x0a"
#: Length, type, flags and stream of the frame; the last stream and "no error" follow.
_GOAWAY = b"\x00\x00\x08\x07\x00" + bytes(4)
#: Seconds that a client may take to close once all was said.
_PATIENCE = 2.0


class Home(Protocol):
    """Who answers; see `listeners.Listener`."""

    is_draining: bool

    def handle(self, request: http1.Request, respond: http1.Respond) -> None:
        """Have a request answered."""
        ...


@dataclass(slots=True)
class _Rest:
    """What is still to be sent of an answer: of its body, then its last fields."""

    body: bytes
    trailers: list[tuple[str, str]] = field(default_factory=list)
    #: Nothing more will be said.
    is_whole: bool = True


@dataclass(slots=True)
class _Stream:
    """One request that is arriving or under way."""

    headers: dict[str, str]
    body: bytearray = field(default_factory=bytearray)

    @property
    def is_grpc(self) -> bool:
        """Its answer has to be a message and a status."""
        return self.headers.get("content-type", "").startswith(_GRPC)


@functools.cache
def is_installed() -> bool:
    """Tell whether HTTP/2 is spoken."""
    return importlib.util.find_spec("h2") is not None


class Conversation:
    """What is said on one connection; answers may come in any order."""

    def __init__(self, home: Home, transport: asyncio.Transport) -> None:
        from h2 import config, connection

        self._home = home
        self._transport = transport
        self._said: h2_connection.H2Connection = connection.H2Connection(
            config.H2Configuration(client_side=False, header_encoding="utf-8")
        )
        self._streams: dict[int, _Stream] = {}
        self._rests: dict[int, _Rest] = {}
        #: Answers that are being given over time.
        self._exchanges: dict[int, http1.Exchange] = {}
        self._last = False
        self._highest = 0
        #: Closes the connection if the client does not; None: there is more to say.
        self._ending: asyncio.TimerHandle | None = None
        self._said.initiate_connection()

    @property
    def is_idle(self) -> bool:
        """Nothing is under way."""
        return not self._streams and not self._rests

    def feed(self, data: bytes) -> None:
        """Take what came."""
        from h2 import exceptions

        try:
            for event in self._said.receive_data(data):
                self._take(event)
        except exceptions.ProtocolError:
            self._give_up()
        self._flush()

    def lost(self) -> None:
        """The client has gone."""
        if self._ending is not None:
            self._ending.cancel()
        self._give_up()

    def finish(self) -> None:
        """Take no further requests; the connection ends after what is under way."""
        self._part()
        self._flush()

    def _part(self) -> None:
        """Say that requests after the newest one are not taken (GOAWAY).

        Written by hand: the library would not let the answers under way go out any more.
        """
        if self._last:
            return
        self._last = True
        self._flush(closing=False)
        self._transport.write(_GOAWAY + self._highest.to_bytes(4, "big") + bytes(4))

    def _take(self, event: "h2_events.Event") -> None:
        from h2 import events

        match event:
            case events.RequestReceived() if not self._last:
                self._highest = max(self._highest, event.stream_id)
                self._streams[event.stream_id] = _Stream(
                    {str(key): str(value) for key, value in event.headers}
                )
            case events.DataReceived():
                self._said.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                self._gather(event.stream_id, event.data)
            case events.StreamEnded():
                self._ask(event.stream_id)
            case events.StreamReset():
                self._drop(event.stream_id)
            case events.WindowUpdated():
                for number in list(self._rests):
                    self._send(number)
            case events.ConnectionTerminated():
                self._give_up()

    def _give_up(self) -> None:
        """Answer nothing any more: the library would not send it."""
        self._last = True
        for number in {*self._streams, *self._rests}:
            self._drop(number)

    def _drop(self, number: int) -> None:
        """Forget a request that nobody waits for any more."""
        self._streams.pop(number, None)
        self._rests.pop(number, None)
        if number in self._exchanges:
            self._exchanges.pop(number).lost()

    def _gather(self, number: int, data: bytes) -> None:
        stream = self._streams.get(number)
        if stream is None:
            return
        stream.body += data
        if len(stream.body) > http1.LIMIT:
            del self._streams[number]
            self._said.reset_stream(number)

    def _ask(self, number: int) -> None:
        stream = self._streams.get(number)
        if stream is None:
            return
        method, target = (stream.headers.get(each, "") for each in (":method", ":path"))
        named = [(key, value) for key, value in stream.headers.items() if key[0] != ":"]
        host = ("host", stream.headers.get(":authority", ""))
        request = http1.Request(method, target, (host, *named), bytes(stream.body))
        self._home.handle(request, lambda answer: self._answer(number, answer))

    def _answer(self, number: int, answer: http1.Answer) -> None:
        stream = self._streams.pop(number, None)
        if stream is None or self._transport.is_closing():
            return  # the client has gone
        if self._home.is_draining:
            self._part()
        if isinstance(answer, http1.Stream):
            self._said.send_headers(number, [(":status", str(answer.status)), *_fields(answer)])
            self._rests[number] = _Rest(b"", is_whole=False)
            self._flush()
            self._exchanges[number] = answer.begin(_Sink(self, number))
            return
        fields, body, trailers = _grpc(answer) if stream.is_grpc else _plain(answer)
        bodiless = stream.headers.get(":method") == "HEAD"
        self._said.send_headers(number, fields, end_stream=bodiless)
        if not bodiless:
            self._rests[number] = _Rest(body, trailers)
            self._send(number)
        self._flush()

    def say(self, number: int, data: bytes, *, is_last: bool = False) -> None:
        """Send more of an answer that is given over time."""
        rest = self._rests.get(number)
        if rest is None or self._transport.is_closing():
            return  # the client has gone
        rest.body += data
        rest.is_whole = is_last
        if is_last:
            self._exchanges.pop(number, None)
        self._send(number)
        self._flush()

    def _send(self, number: int) -> None:
        """Send as much of an answer as the client takes now."""
        rest, most = self._rests[number], self._said.max_outbound_frame_size
        while rest.body and (room := min(self._said.local_flow_control_window(number), most)) > 0:
            self._said.send_data(number, rest.body[:room])
            rest.body = rest.body[room:]
        if rest.body or not rest.is_whole:
            return
        del self._rests[number]
        if rest.trailers:
            self._said.send_headers(number, rest.trailers, end_stream=True)
        else:
            self._said.end_stream(number)

    def _flush(self, *, closing: bool = True) -> None:
        data = self._said.data_to_send()
        if self._ending is not None or self._transport.is_closing():
            return
        if data:
            self._transport.write(data)
        if closing and self._last and self.is_idle:
            self._end()

    def _end(self) -> None:
        """Say no more, and let the client close.

        Were it closed here, what the client still says would be refused, and many clients then
        give up what they have not read yet.
        """
        self._transport.write_eof()
        loop = asyncio.get_running_loop()
        self._ending = loop.call_later(_PATIENCE, self._transport.close)


@dataclass(frozen=True, slots=True)
class _Sink:
    """See `http1.Sink`."""

    conversation: Conversation
    number: int

    def write(self, data: bytes) -> None:
        self.conversation.say(self.number, data)

    def end(self) -> None:
        self.conversation.say(self.number, b"", is_last=True)


def _plain(
    answer: http1.Response,
) -> tuple[list[tuple[str, str]], bytes, list[tuple[str, str]]]:
    """Return an answer's first fields, its body, and its last fields."""
    return [(":status", str(answer.status)), *_fields(answer)], answer.body, []


def _grpc(
    answer: http1.Response,
) -> tuple[list[tuple[str, str]], bytes, list[tuple[str, str]]]:
    """Return the same for a client of gRPC."""
    kept = [each for each in _fields(answer) if each[0] != "content-type"]
    fields = [(":status", "200"), ("content-type", _GRPC), *kept]
    if answer.status >= 400:
        said = answer.body.decode(errors="replace").strip().replace("\n", " ")
        return fields, b"", [("grpc-status", _INTERNAL), ("grpc-message", said)]
    message = _TEXT_FIELD + _number(len(answer.body)) + answer.body
    framed = b"\x00" + len(message).to_bytes(4, "big") + message
    return fields, framed, [("grpc-status", _OK)]


def _fields(answer: http1.Answer) -> list[tuple[str, str]]:
    return [
        (key.lower(), value) for key, value in answer.headers if key.lower() not in http1.HOP_BY_HOP
    ]


def _number(value: int) -> bytes:
    """A length as protocol buffers write it: seven bits in a byte, the lowest first."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value))
