"""What is sent through a tunnel: one frame in each binary message of the WebSocket. Pure.

A frame is its kind (one byte), the number of its stream (four bytes, 0: the tunnel itself) and a
body, whose size and form depend on the kind:

====== ============ ==========================================================================
number kind         body
====== ============ ==========================================================================
1      OPEN         nothing: the server opens a stream
2      DATA         1 to 32,768 bytes of the stream, never more than the other side gave credit
3      CREDIT       four bytes: so many bytes more may be sent
4      END          nothing: no more bytes come from here
5      RESET        nothing, or why: the stream is over on both sides
6      PING         eight bytes, sent back in a PONG
7      PONG         the eight bytes of a PING
8      CLOSE        why the tunnel ends, for people; the last frame
====== ============ ==========================================================================
"""

import struct
from dataclasses import dataclass
from enum import IntEnum

#: Bytes of a stream in one frame.
LARGEST_DATA = 32 * 1024
#: Bytes of a frame, its head included.
LARGEST = LARGEST_DATA + 5
#: Bytes that each side may send on a new stream without being given credit.
CREDIT = 256 * 1024
_HEAD = struct.Struct("!BI")
_NUMBER = struct.Struct("!I")
_PING_SIZE = 8
_LONGEST_REASON = 500


class Kind(IntEnum):
    """What a frame is."""

    OPEN = 1
    DATA = 2
    CREDIT = 3
    END = 4
    RESET = 5
    PING = 6
    PONG = 7
    CLOSE = 8


#: Kinds that are of the tunnel itself.
_OF_TUNNEL = frozenset({Kind.PING, Kind.PONG, Kind.CLOSE})
#: How large bodies are: from and to.
_SIZES = {
    Kind.OPEN: (0, 0),
    Kind.DATA: (1, LARGEST_DATA),
    Kind.CREDIT: (_NUMBER.size, _NUMBER.size),
    Kind.END: (0, 0),
    Kind.RESET: (0, _LONGEST_REASON),
    Kind.PING: (_PING_SIZE, _PING_SIZE),
    Kind.PONG: (_PING_SIZE, _PING_SIZE),
    Kind.CLOSE: (0, _LONGEST_REASON),
}


class MalformedError(ValueError):
    """A message is no frame: whoever sent it does not speak this protocol."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame."""

    kind: Kind
    #: 0: of the tunnel itself.
    stream: int = 0
    body: bytes = b""

    @property
    def credit(self) -> int:
        """How many bytes more may be sent; of CREDIT."""
        (amount,) = _NUMBER.unpack(self.body)
        return int(amount)

    @property
    def reason(self) -> str:
        """Why, for people; of RESET and CLOSE."""
        text = self.body.decode("utf-8", "replace")
        return "".join(char if char.isprintable() else " " for char in text)


def credit(stream: int, amount: int) -> Frame:
    """Return a frame that gives credit."""
    return Frame(Kind.CREDIT, stream, _NUMBER.pack(amount))


def reset(stream: int, reason: str = "") -> Frame:
    """Return a frame that breaks a stream off."""
    return Frame(Kind.RESET, stream, _cut(reason))


def close(reason: str) -> Frame:
    """Return the frame that ends a tunnel."""
    return Frame(Kind.CLOSE, 0, _cut(reason))


def _cut(reason: str) -> bytes:
    return reason.encode("utf-8", "replace")[:_LONGEST_REASON]


def encode(frame: Frame) -> bytes:
    """Return a frame as it is sent."""
    return _HEAD.pack(frame.kind, frame.stream) + frame.body


def decode(message: bytes) -> Frame:
    """Return the frame of a message.

    Raises:
        MalformedError: It is none.
    """
    if len(message) < _HEAD.size:
        raise MalformedError(f"a frame of {len(message)} bytes")
    number, stream = _HEAD.unpack_from(message)
    try:
        kind = Kind(number)
    except ValueError:
        raise MalformedError(f"a frame of the unknown kind {number}") from None
    body = message[_HEAD.size :]
    least, most = _SIZES[kind]
    if not least <= len(body) <= most:
        raise MalformedError(f"a frame {kind.name} with a body of {len(body)} bytes")
    if (kind in _OF_TUNNEL) != (stream == 0):
        raise MalformedError(f"a frame {kind.name} of stream {stream}")
    return Frame(kind, stream, bytes(body))
