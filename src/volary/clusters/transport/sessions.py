"""The pooled HTTP session of one cluster: how its connections are made, and why one fails.

TLS contexts say how a server is verified and how the client proves itself; one table leads from
a failed exchange to its meaning for people.
"""

import socket
import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import aiohttp
from aiohttp import client_exceptions

from volary.clusters.api import api_errors
from volary.clusters.api.api_errors import UnreachableReason
from volary.clusters.kubeconfig import connections
from volary.clusters.transport import authenticators, write_permits
from volary.model import errors


def tls_context(connection: connections.Connection, proof: authenticators.Proof) -> ssl.SSLContext:
    """Return the TLS context for a connection.

    A context with the system's authorities alone is shared: it takes long to load and
    much memory, and a fleet may have hundreds of clusters.

    Raises:
        errors.UserError: A certificate or key cannot be read.
    """
    tls = connection.tls
    certificate = proof.certificate or tls.certificate
    if not (tls.authorities or tls.insecure or certificate):
        return _system_context()
    try:
        return _own_context(tls, certificate, proof.key or tls.key)
    except (ssl.SSLError, ValueError) as error:
        raise errors.user_error(
            f"cluster {connection.name}: a certificate or key is not valid PEM, they do not"
            " belong together, or the key is encrypted",
            hint="check certificate-authority, client-certificate and client-key in the kubeconfig",
        ) from error


@cache
def _system_context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _own_context(tls: connections.Tls, certificate: bytes, key: bytes) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if tls.insecure:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    elif tls.authorities:
        made.load_verify_locations(cadata=tls.authorities.decode())
    else:
        made.load_default_certs()
    if certificate:
        _load_pair(made, certificate, key)
    return made


def _load_pair(made: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a client certificate: the ssl module reads it from files only."""
    with tempfile.TemporaryDirectory(prefix="volary-") as directory:  # mode 0700
        pair = Path(directory) / "pair.pem"
        pair.write_bytes(certificate.rstrip() + b"\n" + key)
        # Without a password OpenSSL would ask for one on the terminal.
        made.load_cert_chain(pair, password="")


#: Seconds: an idle TLS connection costs a quarter of a megabyte.
_IDLE = 15
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

    def __init__(
        self, connection: connections.Connection, headers: Sequence[tuple[str, str]]
    ) -> None:
        self._connection = connection
        self._headers = headers
        self._current: Opened | None = None
        self._retired: list[Opened] = []

    def take(self, proof: authenticators.Proof) -> Opened:
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
        idle = [opened for opened in self._retired if not opened.users]
        self._retired = [opened for opened in self._retired if opened.users]
        for opened in idle:
            await opened.session.close()

    async def close(self) -> None:
        """Close all connections."""
        current, self._current = self._current, None
        for opened in [*self._retired, *([current] if current else [])]:
            await opened.session.close()
        self._retired.clear()

    def _make(self, proof: authenticators.Proof) -> Opened:
        session = aiohttp.ClientSession(
            connector=self._connector(proof),
            headers=list(self._headers),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("Content-Type",),
            request_class=write_permits.CheckedRequest,
        )
        return Opened(session, proof.certificate)

    def _connector(self, proof: authenticators.Proof) -> aiohttp.BaseConnector:
        # `transport` limits requests; watches come on top.
        if self._connection.socket:
            return aiohttp.UnixConnector(self._connection.socket, limit=0, keepalive_timeout=_IDLE)
        secure = self._connection.server.startswith("https://")
        return aiohttp.TCPConnector(
            limit=0,
            ssl=tls_context(self._connection, proof) if secure else False,
            ttl_dns_cache=60,
            keepalive_timeout=_IDLE,
            socket_factory=_socket,
        )


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """Make a socket that notices a dead peer: a watch may be silent for minutes."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):  # the names differ between systems
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made


_REASONS: tuple[tuple[type[BaseException], UnreachableReason], ...] = (
    (client_exceptions.UnixClientConnectorError, UnreachableReason.NO_AGENT),
    (ssl.SSLCertVerificationError, UnreachableReason.UNTRUSTED),
    (aiohttp.ClientConnectorCertificateError, UnreachableReason.UNTRUSTED),
    (aiohttp.ClientSSLError, UnreachableReason.TLS),
    (ssl.SSLError, UnreachableReason.TLS),
    (aiohttp.ClientConnectorDNSError, UnreachableReason.NAME),
    (aiohttp.ClientProxyConnectionError, UnreachableReason.PROXY),
    (aiohttp.ClientHttpProxyError, UnreachableReason.PROXY),
    (TimeoutError, UnreachableReason.TIMEOUT),
    (ConnectionRefusedError, UnreachableReason.REFUSED),
)
_WORDS = {
    UnreachableReason.UNTRUSTED: "its certificate is not trusted",
    UnreachableReason.TLS: "TLS could not be agreed on",
    UnreachableReason.NAME: "its host name cannot be resolved",
    UnreachableReason.PROXY: "the proxy refuses the connection",
    UnreachableReason.TIMEOUT: "no answer in time",
    UnreachableReason.REFUSED: "connection refused",
    UnreachableReason.BROKEN: "the connection broke",
    UnreachableReason.NO_AGENT: "none is connected",
    UnreachableReason.CIRCUIT_OPEN: "left alone",
}
_TRUST_HINT = "check certificate-authority and tls-server-name in the kubeconfig"
#: Failures before the request was on its way.
_NOT_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
)


def translate_failure(
    failure: BaseException, connection: connections.Connection, what: str
) -> api_errors.Unreachable:
    """Return the error for a failed exchange."""
    return api_errors.Unreachable(
        f"cluster {connection.name} {connection.place}: {failure_cause(failure)} ({what})",
        reason=failure_kind(failure),
        sent=not isinstance(failure, _NOT_SENT),
    )


def failure_kind(failure: BaseException) -> UnreachableReason:
    """Return what sort of failure it is."""
    for matched, reason in _REASONS:
        if isinstance(failure, matched):
            return reason
    if isinstance(failure, aiohttp.ClientConnectorError):
        return (
            failure_kind(failure.os_error)
            if failure.os_error is not failure
            else UnreachableReason.BROKEN
        )
    return UnreachableReason.BROKEN


def failure_cause(failure: BaseException) -> str:
    """Name the cause of a failed exchange."""
    said = _WORDS[failure_kind(failure)]
    inner = getattr(failure, "certificate_error", failure)
    if isinstance(inner, ssl.SSLCertVerificationError) and inner.verify_message:
        return f"{said}: {inner.verify_message.rstrip('.')}; {_TRUST_HINT}"
    if isinstance(failure, aiohttp.ClientHttpProxyError):
        return f"{said}: it answered {failure.status}"
    return said
