"""WebSocket (RFC 6455): what a server says that sends each message back; frames are pure."""

import base64
import enum
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from kube_sandbox.dataplane.protocols import http1

_KEY = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_GOING_AWAY, _PROTOCOL_ERROR, _TOO_BIG = 1001, 1002, 1009


class Opcode(enum.IntEnum):
    """What a frame is."""

    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame, unmasked."""

    opcode: int
    payload: bytes
    is_last: bool = True


class FrameError(Exception):
    """The client does not keep to the protocol."""

    def __init__(self, text: str, code: int = _PROTOCOL_ERROR) -> None:
        super().__init__(text)
        self.code = code


def is_asked_for(request: http1.Request) -> bool:
    """Whether a request is to become a WebSocket."""
    return request.header("upgrade").lower() == "websocket" and bool(
        request.header("sec-websocket-key")
    )


def echo(request: http1.Request, headers: http1.Headers, greeting: bytes) -> http1.Stream:
    """Return the answer that says `greeting`, and then each message that comes."""
    key = request.header("sec-websocket-key").encode("latin-1")
    accepted = base64.b64encode(hashlib.sha1(key + _KEY, usedforsecurity=False).digest())
    upgraded = (
        ("upgrade", "websocket"),
        ("connection", "Upgrade"),
        ("sec-websocket-accept", accepted.decode()),
        *(each for each in headers if each[0] != "content-type"),
    )
    return http1.Stream(101, upgraded, lambda sink: _Echo(sink, greeting))


def write(frame: Frame) -> bytes:
    """Write a frame as a server does, which masks nothing."""
    size = len(frame.payload)
    first = frame.opcode | (0x80 if frame.is_last else 0)
    if size < 126:
        head = bytes((first, size))
    elif size < 1 << 16:
        head = bytes((first, 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((first, 127)) + size.to_bytes(8, "big")
    return head + frame.payload


def read(buffer: bytearray) -> Iterator[Frame]:
    """Cut the whole frames off the beginning of what a client said.

    Raises:
        FrameError: They are none, or too long.
    """
    while (found := _first(buffer)) is not None:
        frame, end = found
        del buffer[:end]
        yield frame


def _first(buffer: bytearray) -> tuple[Frame, int] | None:
    if len(buffer) < 2:
        return None
    opcode, told = buffer[0] & 0x0F, buffer[1] & 0x7F
    if not buffer[1] & 0x80 or buffer[0] & 0x70:
        raise FrameError("a frame of a client without a mask, or with extensions")
    start = {126: 4, 127: 10}.get(told, 2)
    if len(buffer) < start:
        return None
    size = told if start == 2 else int.from_bytes(buffer[2:start], "big")
    if size > http1.LIMIT:
        raise FrameError(f"a frame of more than {http1.LIMIT} bytes", _TOO_BIG)
    end = start + 4 + size
    if len(buffer) < end:
        return None
    mask = bytes(buffer[start : start + 4])
    # As one long number: a mask byte by byte is slow.
    masks = (mask * (size // 4 + 1))[:size]
    plain = int.from_bytes(buffer[start + 4 : end], "big") ^ int.from_bytes(masks, "big")
    return Frame(opcode, plain.to_bytes(size, "big"), bool(buffer[0] & 0x80)), end


class _Echo:
    """See `http1.Exchange`."""

    def __init__(self, sink: http1.Sink, greeting: bytes) -> None:
        self._sink = sink
        self._buffer = bytearray()
        self._is_closing = False
        self._sink.write(write(Frame(Opcode.TEXT, greeting)))

    def feed(self, data: bytes) -> None:
        self._buffer += data
        try:
            for frame in read(self._buffer):
                self._take(frame)
        except FrameError as problem:
            self._close(problem.code)
            self._sink.end()

    def part(self) -> None:
        self._close(_GOING_AWAY)

    def lost(self) -> None:
        self._is_closing = True

    def _take(self, frame: Frame) -> None:
        if frame.opcode == Opcode.CLOSE:
            if not self._is_closing:
                self._sink.write(write(frame))
            self._sink.end()
        elif frame.opcode == Opcode.PING:
            self._sink.write(write(Frame(Opcode.PONG, frame.payload)))
        elif frame.opcode != Opcode.PONG and not self._is_closing:
            self._sink.write(write(frame))

    def _close(self, code: int) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._sink.write(write(Frame(Opcode.CLOSE, code.to_bytes(2, "big"))))
