"""The pooled HTTP session of one cluster, and how its connections are made."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass

import aiohttp

from volary.clusters import credentials, settings, tls

#: A silent peer is asked whether it lives: first after seconds, then every so many, so often.
_KEEPALIVE = {"TCP_KEEPIDLE": 20, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}


@dataclass(slots=True)
class Opened:
    """A session and how many exchanges use it."""

    session: aiohttp.ClientSession
    certificate: bytes
    users: int = 0


class Sessions:
    """Gives out the session; a new one when an exec plugin gave another certificate.

    The old one is closed when its last exchange has ended, so that nothing is cut off.
    """

    def __init__(self, connection: settings.Connection, headers: Sequence[tuple[str, str]]) -> None:
        self._connection = connection
        self._headers = headers
        self._current: Opened | None = None
        self._retired: list[Opened] = []

    def take(self, proof: credentials.Proof) -> Opened:
        """Return the session for `proof`; give it back afterwards.

        Raises:
            errors.UserError: A certificate cannot be used.
        """
        current = self._current
        if current is None or current.certificate != proof.certificate:
            made = self._make(proof)
            if current is not None:
                self._retired.append(current)
            current = self._current = made
        current.users += 1
        return current

    async def give_back(self, opened: Opened) -> None:
        """End an exchange's use of its session."""
        opened.users -= 1
        if opened is not self._current:
            await self._tidy()

    async def _tidy(self) -> None:
        for each in [each for each in self._retired if not each.users]:
            self._retired.remove(each)
            await each.session.close()

    async def close(self) -> None:
        """Close all connections."""
        current, self._current = self._current, None
        for each in [*self._retired, *([current] if current else [])]:
            await each.session.close()
        self._retired.clear()

    def _make(self, proof: credentials.Proof) -> Opened:
        secure = self._connection.server.startswith("https://")
        connector = aiohttp.TCPConnector(
            limit=0,  # `transport` limits requests; watches come on top
            ssl=tls.context(self._connection, proof) if secure else False,
            ttl_dns_cache=60,
            keepalive_timeout=15,  # an idle TLS connection costs a quarter of a megabyte
            socket_factory=_socket,
        )
        session = aiohttp.ClientSession(
            connector=connector,
            headers=list(self._headers),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("Content-Type",),
        )
        return Opened(session, proof.certificate)


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """Make a socket that notices a dead peer: a watch may be silent for minutes."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):  # the names differ between systems
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made
