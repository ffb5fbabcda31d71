"""HTTP/1.1 messages: bytes in, whole messages out, and back (RFC 9112); pure.

Messages are held whole, up to `LIMIT` bytes of body. What is malformed or larger is refused.
"""

import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

#: The longest body that is taken.
LIMIT = 1024 * 1024
_HEAD_LIMIT = 64 * 1024
#: The status after which another protocol is spoken.
SWITCHING_PROTOCOLS = 101
_END = b"\r\n\r\n"
#: Fields about one connection, which a proxy does not pass on.
HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding"}
    | {"upgrade", "content-length"}
)
_REASONS = {
    SWITCHING_PROTOCOLS: "Switching Protocols",
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    500: "Internal Server Error",
} | {
    413: "Content Too Large",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}

Headers = Sequence[tuple[str, str]]


class MalformedError(Exception):
    """The other side does not speak HTTP/1.1, or says too much."""


@dataclass(frozen=True, slots=True)
class Request:
    """A whole request."""

    method: str
    #: As sent: ``/path?query``.
    target: str
    headers: Headers = ()
    body: bytes = b""
    #: The connection stays open after it.
    keep_alive: bool = True

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> Mapping[str, str]:
        """What is asked for behind the path; of one name the last."""
        return dict(urllib.parse.parse_qsl(self.target.partition("?")[2]))

    def header(self, name: str) -> str:
        """The value of a field named in lower case; empty without it."""
        return find(self.headers, name)


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer."""

    status: int
    headers: Headers = ()
    body: bytes = b""
    keep_alive: bool = True

    def header(self, name: str) -> str:
        """The value of a field named in lower case; empty without it."""
        return find(self.headers, name)


class Sink(Protocol):
    """Where an answer goes that is given over time."""

    def write(self, data: bytes) -> None:
        """Send a part of it."""
        ...

    def end(self) -> None:
        """It is whole; its connection ends."""
        ...


class Exchange(Protocol):
    """An answer that is being given over time."""

    def feed(self, data: bytes) -> None:
        """Take what the client says meanwhile."""
        ...

    def part(self) -> None:
        """The server is about to stop: end soon what has no end of its own."""
        ...

    def lost(self) -> None:
        """The client has gone."""
        ...


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that is given over time, until its connection ends."""

    status: int
    headers: Headers
    #: Begins with what follows the head.
    begin: Callable[[Sink], Exchange]


Answer = Response | Stream
#: Takes an answer.
Respond = Callable[[Answer], None]


def find(headers: Headers, name: str) -> str:
    """The value of the first field of a name in lower case; empty without it."""
    return next((value for key, value in headers if key.lower() == name), "")


def write_request(request: Request) -> bytes:
    """Write a request that keeps its connection open."""
    head = [f"{request.method} {request.target} HTTP/1.1"]
    head.extend(f"{name}: {value}" for name, value in request.headers)
    if request.body or request.method not in ("GET", "HEAD", "DELETE"):
        head.append(f"content-length: {len(request.body)}")
    return "\r\n".join((*head, "", "")).encode("latin-1") + request.body


def write_response(response: Response, *, bodiless: bool = False, close: bool = False) -> bytes:
    """Write an answer; `bodiless` to a HEAD request, `close` when the connection ends."""
    head = _first_lines(response)
    head.append(f"content-length: {len(response.body)}")
    if close:
        head.append("connection: close")
    return "\r\n".join((*head, "", "")).encode("latin-1") + (b"" if bodiless else response.body)


def write_head(stream: Stream) -> bytes:
    """Write what an answer begins with that is given over time."""
    head = _first_lines(stream)
    if stream.status != SWITCHING_PROTOCOLS:
        head += ("transfer-encoding: chunked", "connection: close")
    return "\r\n".join((*head, "", "")).encode("latin-1")


def write_chunk(data: bytes) -> bytes:
    """Write a part of such an answer; an empty one is its end."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def _first_lines(answer: Answer) -> list[str]:
    named = (f"{name}: {value}" for name, value in answer.headers)
    return [f"HTTP/1.1 {answer.status} {_REASONS.get(answer.status, '')}", *named]


class Reader:
    """Collects bytes of one connection and cuts messages out of them."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._ended = False

    @property
    def is_empty(self) -> bool:
        """Nothing of a next message has come."""
        return not self._buffer

    def feed(self, data: bytes) -> None:
        """Take what came."""
        self._buffer += data

    def end(self) -> None:
        """Nothing more will come."""
        self._ended = True

    def request(self) -> Request | None:
        """Return the next request, or None until all of it is there.

        Raises:
            MalformedError: It is none.
        """
        head = _head(self._buffer)
        if head is None:
            return None
        (method, target, version), headers, start = head
        if not version.startswith("HTTP/1."):
            raise MalformedError(f"unknown version {version[:20]!r}")
        found = self._body(headers, start, default=0)
        if found is None:
            return None
        return Request(method, target, headers, found, _keeps(version, headers))

    def response(self, *, bodiless: bool = False) -> Response | None:
        """Return the next answer, or None until all of it is there.

        `bodiless` for the answer to a HEAD request. Interim answers (1xx) are passed over.

        Raises:
            MalformedError: It is none.
        """
        while (head := _head(self._buffer)) is not None:
            (version, code, _), headers, start = head
            if not version.startswith("HTTP/1.") or not code.isdigit():
                raise MalformedError("not an HTTP/1.1 answer")
            status = int(code)
            if 100 <= status < 200:
                del self._buffer[:start]
                continue
            if bodiless or status in (204, 304):
                del self._buffer[:start]
                return Response(status, headers, b"", _keeps(version, headers))
            found = self._body(headers, start, default=None)
            if found is None:
                return None
            keep = _keeps(version, headers) and not self._ended
            return Response(status, headers, found, keep)
        return None

    def _body(self, headers: Headers, start: int, *, default: int | None) -> bytes | None:
        """Cut the body off, None until it is there; without a length it is `default` bytes.

        A `default` of None stands for everything until the connection ends.
        """
        if "chunked" in find(headers, "transfer-encoding").lower():
            return self._chunks(start)
        lengths = {value.strip() for name, value in headers if name.lower() == "content-length"}
        length = default
        if len(lengths) > 1:
            raise MalformedError(f"{len(lengths)} different content-lengths")
        if told := "".join(lengths):
            if not told.isdigit():
                raise MalformedError(f"content-length {told[:20]!r}")
            length = int(told)
        if (length if length is not None else len(self._buffer) - start) > LIMIT:
            raise MalformedError(f"a body of more than {LIMIT} bytes")
        if length is None:
            if not self._ended:
                return None
            length = len(self._buffer) - start
        if len(self._buffer) < start + length:
            return None
        body = bytes(self._buffer[start : start + length])
        del self._buffer[: start + length]
        return body

    def _chunks(self, position: int) -> bytes | None:
        parts: list[bytes] = []
        total = 0
        while (end := self._buffer.find(b"\r\n", position)) >= 0:
            size = _size(bytes(self._buffer[position:end]))
            total += size
            if total > LIMIT:
                raise MalformedError(f"a body of more than {LIMIT} bytes")
            position = end + 2
            if not size:
                return self._after_chunks(parts, position)
            if len(self._buffer) < position + size + 2:
                return None
            parts.append(bytes(self._buffer[position : position + size]))
            position += size + 2
        return None

    def _after_chunks(self, parts: list[bytes], position: int) -> bytes | None:
        """Pass over the trailers, which end with an empty line."""
        while (end := self._buffer.find(b"\r\n", position)) >= 0:
            is_last = end == position
            position = end + 2
            if is_last:
                del self._buffer[:position]
                return b"".join(parts)
        return None


def _size(line: bytes) -> int:
    try:
        return int(line.partition(b";")[0], 16)
    except ValueError:
        raise MalformedError("a chunk without a size") from None


def _head(buffer: bytearray) -> tuple[tuple[str, str, str], Headers, int] | None:
    """Read the start line, its fields and where they end."""
    end = buffer.find(_END)
    if end < 0:
        if len(buffer) > _HEAD_LIMIT:
            raise MalformedError(f"a head of more than {_HEAD_LIMIT} bytes")
        return None
    first, *lines = bytes(buffer[:end]).decode("latin-1").split("\r\n")
    words = first.split(" ", 2)
    if len(words) < 2:
        raise MalformedError(f"not a start line: {first[:40]!r}")
    headers = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise MalformedError(f"not a header field: {line[:40]!r}")
        headers.append((name, value.strip()))
    return (words[0], words[1], words[2] if len(words) > 2 else ""), headers, end + len(_END)


def _keeps(version: str, headers: Headers) -> bool:
    told = find(headers, "connection").lower()
    return "close" not in told and (version != "HTTP/1.0" or "keep-alive" in told)
