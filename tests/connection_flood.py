"""Connections with half-sent headers, as many and as long as somebody wants: `flood`."""

import contextlib
import socket
import time

#: Connections that are opened as quickly as they can be.
FIRST = 2100
#: Seconds between two further ones, and how many are kept open.
_PAUSE, _KEPT = 0.005, 400
#: The flood comes from these, and from where people come from.
_FROM = ("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.1")
_HALF = b"GET /api/v1/applications HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Padding: "


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


def _opened(port: int, address: str) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), source_address=(address, 0))
    with contextlib.suppress(OSError):
        made.sendall(_HALF)
    return made
