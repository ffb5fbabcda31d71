"""Connections with half-sent headers, as many and as long as somebody wants: `flood`.

And a server that nobody floods, for comparison: `serve`.
"""

import contextlib
import socket
import time
from pathlib import Path

#: Connections that are opened as quickly as they can be.
FIRST = 2100
#: Seconds between two further ones, and how many are kept open.
_PAUSE, _KEPT = 0.005, 400
#: The flood comes from these, and from where people come from.
_FROM = ("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.1")
_HALF = b"GET /api/v1/applications HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Padding: "
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n"


def flood(port: str) -> None:
    """Open connections to a port of this machine without an end; nothing is read from them."""
    held: list[socket.socket] = []
    number = 0
    while True:
        number += 1
        if number > FIRST:
            time.sleep(_PAUSE)
        with contextlib.suppress(OSError):
            held.append(_opened(int(port), _FROM[number % len(_FROM)]))
        while len(held) > _KEPT and number > FIRST:
            held.pop(0).close()


def serve(file: str) -> None:
    """Answer every connection to a port at once, without an end; writes which one into a file."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        Path(file).with_suffix(".new").write_text(str(listening.getsockname()[1]))
        Path(file).with_suffix(".new").rename(file)
        while True:
            asked, _ = listening.accept()
            with asked, contextlib.suppress(OSError):
                asked.recv(4096)
                asked.sendall(_ANSWER)


def _opened(port: int, address: str) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), source_address=(address, 0))
    with contextlib.suppress(OSError):
        made.sendall(_HALF)
    return made
