"""What a failed exchange means, and the lives of pooled sessions."""

import asyncio
import socket
import ssl
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.client_reqrep import ConnectionKey

import process_time
from scripted_server import Asked, serve
from volary.clusters.api.api_errors import UnreachableReason
from volary.clusters.kubeconfig import connections
from volary.clusters.transport import authenticators, sessions
from volary.model import errors

US = connections.Connection("us", "https://us.example")
NOT_CONNECTED = aiohttp.ClientConnectorError
NOT_TRUSTED = aiohttp.ClientConnectorCertificateError
KEY = ConnectionKey("us.example", 443, True, True, None, None, None)


def untrusted() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "self-signed certificate."
    return error


@pytest.mark.parametrize(
    ("failure", "reason", "sent"),
    [
        (TimeoutError(), UnreachableReason.TIMEOUT, True),
        (aiohttp.ConnectionTimeoutError(), UnreachableReason.TIMEOUT, False),
        (ConnectionRefusedError(), UnreachableReason.REFUSED, True),
        (ConnectionResetError(), UnreachableReason.BROKEN, True),
        (aiohttp.ServerDisconnectedError(), UnreachableReason.BROKEN, True),
        (
            aiohttp.ClientConnectorError(KEY, ConnectionRefusedError()),
            UnreachableReason.REFUSED,
            False,
        ),
        (NOT_CONNECTED(KEY, OSError("no route")), UnreachableReason.BROKEN, False),
        (aiohttp.ClientConnectorDNSError(KEY, OSError("no name")), UnreachableReason.NAME, False),
        (
            NOT_TRUSTED(KEY, untrusted()),
            UnreachableReason.UNTRUSTED,
            False,
        ),
        (aiohttp.ClientConnectorSSLError(KEY, ssl.SSLError("x")), UnreachableReason.TLS, False),
        (aiohttp.ClientProxyConnectionError(KEY, OSError("x")), UnreachableReason.PROXY, False),
        (untrusted(), UnreachableReason.UNTRUSTED, True),
        (ssl.SSLError("x"), UnreachableReason.TLS, True),
    ],
)
def test_what_a_failure_means(failure: Exception, reason: UnreachableReason, sent: bool) -> None:
    error = sessions.translate_failure(failure, US, "get pods")

    assert (error.reason, error.sent) == (reason, sent)


@pytest.mark.parametrize(
    ("failure", "cause"),
    [
        (TimeoutError(), "no answer in time"),
        (ConnectionRefusedError(), "connection refused"),
        (ssl.SSLError("x"), "TLS could not be agreed on"),
        (aiohttp.ClientConnectorDNSError(KEY, OSError("x")), "its host name cannot be resolved"),
        (
            untrusted(),
            "its certificate is not trusted: self-signed certificate; check certificate-authority"
            " and tls-server-name in the kubeconfig",
        ),
        (
            NOT_TRUSTED(KEY, untrusted()),
            "its certificate is not trusted: self-signed certificate; check certificate-authority"
            " and tls-server-name in the kubeconfig",
        ),
        (aiohttp.ServerDisconnectedError(), "the connection broke"),
    ],
)
def test_the_cause_is_said_in_words(failure: Exception, cause: str) -> None:
    assert sessions.failure_cause(failure) == cause
    error = sessions.translate_failure(failure, US, "get pods")
    assert str(error) == f"cluster us at https://us.example: {cause} (get pods)"


def test_a_proxy_that_refuses_is_quoted() -> None:
    request: Any = None
    failure = aiohttp.ClientHttpProxyError(request, (), status=407, message="no")

    error = sessions.translate_failure(failure, US, "get pods")

    assert (error.reason, error.sent) == (UnreachableReason.PROXY, False)
    assert "the proxy refuses the connection: it answered 407" in str(error)


async def test_one_session_serves_until_the_certificate_changes() -> None:
    subject = sessions.Sessions(connections.Connection("us", "http://us.example"), ())
    first, second = (subject.take(authenticators.Proof()) for _ in range(2))
    assert first is second
    assert first.users == 2

    third = subject.take(authenticators.Proof(certificate=b"other"))
    assert third is not first
    await subject.give_back(first)
    assert not first.session.closed
    await subject.give_back(second)
    assert first.session.closed
    await subject.give_back(third)
    assert not third.session.closed

    await subject.close()
    assert third.session.closed


async def test_closing_ends_retired_sessions_too() -> None:
    subject = sessions.Sessions(connections.Connection("us", "http://us.example"), ())
    first = subject.take(authenticators.Proof())
    second = subject.take(authenticators.Proof(certificate=b"other"))

    await subject.close()

    assert first.session.closed
    assert second.session.closed
    await sessions.Sessions(US, ()).close()


async def test_every_request_carries_the_given_headers() -> None:
    headers = [("User-Agent", "volary/1"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b")]
    subject = sessions.Sessions(connections.Connection("us", "http://us.example"), headers)
    taken = subject.take(authenticators.Proof())

    assert list(taken.session.headers.items()) == headers
    assert "Content-Type" in {str(name) for name in taken.session.skip_auto_headers}
    await subject.close()


def test_tls_is_as_strict_as_the_kubeconfig_says() -> None:
    system = sessions.tls_context(US, authenticators.Proof())
    insecure = sessions.tls_context(
        connections.Connection("us", "https://x", tls=connections.Tls(insecure=True)),
        authenticators.Proof(),
    )

    assert (system.verify_mode, system.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert (insecure.verify_mode, insecure.check_hostname) == (ssl.CERT_NONE, False)


@pytest.mark.parametrize(
    ("tls", "proof"),
    [
        (connections.Tls(authorities=b"no PEM"), authenticators.Proof()),
        (connections.Tls(certificate=b"no PEM", key=b"no"), authenticators.Proof()),
        (connections.Tls(), authenticators.Proof(certificate=b"no PEM", key=b"no")),
    ],
)
def test_what_is_no_certificate_is_the_users_to_mend(
    tls: connections.Tls, proof: authenticators.Proof
) -> None:
    connection = connections.Connection("us", "https://x", tls=tls)

    with pytest.raises(
        errors.UserError, match="cluster us: a certificate or key is not valid"
    ) as caught:
        sessions.tls_context(connection, proof)

    assert caught.value.problems[0].hint == (
        "check certificate-authority, client-certificate and client-key in the kubeconfig"
    )


async def test_a_retired_session_that_is_still_used_ends_by_itself_later() -> None:
    subject = sessions.Sessions(connections.Connection("us", "http://us.example"), ())
    first, second, third = (
        subject.take(authenticators.Proof(certificate=name)) for name in (b"1", b"2", b"3")
    )

    await subject.give_back(second)
    assert [taken.session.closed for taken in (first, second, third)] == [False, True, False]
    await subject.give_back(first)
    assert [taken.session.closed for taken in (first, second, third)] == [True, True, False]
    await subject.close()


async def test_connections_notice_a_dead_peer() -> None:
    async def without_end(asked: Asked) -> web.StreamResponse:
        begun = web.StreamResponse()
        await begun.prepare(asked.raw)
        await asyncio.sleep(process_time.HANG)
        return begun

    async with serve() as server:
        server.say(without_end)
        subject = sessions.Sessions(connections.Connection("us", server.url), ())
        taken = subject.take(authenticators.Proof())
        async with taken.session.get(server.url) as answer:
            assert answer.connection is not None
            assert answer.connection.transport is not None
            used = answer.connection.transport.get_extra_info("socket")
            asked = used.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            first = used.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
            every = used.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL)
        await subject.close()

    assert (asked, first, every) == (1, 20, 10)


@pytest.mark.parametrize("server", ["http://us.example", "https://us.example"])
async def test_watches_are_not_counted_by_the_session(server: str) -> None:
    """A limit of its own would let the watches of a large release wait for each other."""
    subject = sessions.Sessions(connections.Connection("us", server), ())
    connector = subject.take(authenticators.Proof()).session.connector
    assert connector is not None

    assert connector.limit == 0
    await subject.close()
