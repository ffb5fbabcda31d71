"""Why no answer came, in words for people: one table from failure to meaning."""

import ssl

import aiohttp

from volary.clusters import errors as cluster_errors
from volary.clusters import settings
from volary.clusters.errors import Silence

_KINDS: tuple[tuple[type[BaseException], Silence], ...] = (
    (ssl.SSLCertVerificationError, Silence.UNTRUSTED),
    (aiohttp.ClientConnectorCertificateError, Silence.UNTRUSTED),
    (aiohttp.ClientSSLError, Silence.TLS),
    (ssl.SSLError, Silence.TLS),
    (aiohttp.ClientConnectorDNSError, Silence.NAME),
    (aiohttp.ClientProxyConnectionError, Silence.PROXY),
    (aiohttp.ClientHttpProxyError, Silence.PROXY),
    (TimeoutError, Silence.TIMEOUT),
    (ConnectionRefusedError, Silence.REFUSED),
)
_WORDS = {
    Silence.UNTRUSTED: "its certificate is not trusted",
    Silence.TLS: "TLS could not be agreed on",
    Silence.NAME: "its host name cannot be resolved",
    Silence.PROXY: "the proxy does not let us through",
    Silence.TIMEOUT: "no answer in time",
    Silence.REFUSED: "connection refused",
    Silence.BROKEN: "the connection broke",
    Silence.LEFT_ALONE: "left alone",
}
_TRUST_HINT = "check certificate-authority and tls-server-name in the kubeconfig"
#: Failures before the request was on its way.
_NOT_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
)


def translate(
    failure: BaseException, connection: settings.Connection, what: str
) -> cluster_errors.Unreachable:
    """Return the error for a failed exchange."""
    return cluster_errors.Unreachable(
        f"cluster {connection.name} at {connection.server}: {words(failure)} ({what})",
        silence=kind(failure),
        sent=not isinstance(failure, _NOT_SENT),
    )


def kind(failure: BaseException) -> Silence:
    """Return what sort of failure it is."""
    for matched, silence in _KINDS:
        if isinstance(failure, matched):
            return silence
    if isinstance(failure, aiohttp.ClientConnectorError):
        return kind(failure.os_error) if failure.os_error is not failure else Silence.BROKEN
    return Silence.BROKEN


def words(failure: BaseException) -> str:
    """Name the cause of a failed exchange."""
    said = _WORDS[kind(failure)]
    inner = getattr(failure, "certificate_error", failure)
    if isinstance(inner, ssl.SSLCertVerificationError) and inner.verify_message:
        return f"{said}: {inner.verify_message.rstrip('.')}; {_TRUST_HINT}"
    if isinstance(failure, aiohttp.ClientHttpProxyError):
        return f"{said}: it answered {failure.status}"
    return said
