"""What every request goes through: retries, limits, the breaker, credentials."""

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from aiohttp import web

from fixed_clock import FixedClock
from scripted_server import Asked, ScriptedServer, answer, serve, status
from volary.clusters.api import api_errors, requests
from volary.clusters.kubeconfig import connections
from volary.clusters.transport import circuit_breaker, retries, transports
from volary.model import errors

GET = requests.Request("GET", "/version", what="get version", idempotent=True)
POST = requests.Request("POST", "/api/v1/x", body=b"{}", what="create x")
QUICK = retries.Policy(tries=3, base=timedelta(milliseconds=1))


@pytest.fixture
async def api_server() -> AsyncIterator[ScriptedServer]:
    async with serve() as server:
        yield server


@asynccontextmanager
async def sender_to(
    url: str, *, credentials: connections.Credentials | None = None, **limits: object
) -> AsyncIterator[transports.Transport]:
    connection = connections.Connection(
        "us", url, credentials=credentials or connections.Token("secret-token")
    )
    sender = transports.Transport(
        connection,
        limits=transports.Limits(**{"retry": QUICK, **limits}),  # type: ignore[arg-type]
        clock=FixedClock(),
        chance=lambda: 0.5,
    )
    try:
        yield sender
    finally:
        await sender.close()


def unused_url() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


async def test_a_request_says_who_asks(api_server: ScriptedServer) -> None:
    async with sender_to(api_server.url) as sender:
        await sender.send(GET)

    headers = api_server.seen[0].headers
    assert headers["User-Agent"].startswith("volary/")
    assert headers["Authorization"] == "Bearer secret-token"
    assert headers["Accept"] == "application/json"


async def test_paths_and_queries_arrive_as_meant(api_server: ScriptedServer) -> None:
    """Names may hold colons, selectors commas and spaces."""
    request = requests.Request("GET", "/x/system%3Anode", {"labelSelector": "a in (b, c),d=é&f"})

    async with sender_to(api_server.url + "/k8s/clusters/c-1") as sender:
        await sender.send(request)

    assert api_server.seen[0].path == "/k8s/clusters/c-1/x/system%3Anode"
    assert api_server.seen[0].query == {"labelSelector": "a in (b, c),d=é&f"}


async def test_a_read_is_sent_again_after_a_server_error(api_server: ScriptedServer) -> None:
    api_server.say(status(500, "InternalError", "oops"), status(503, "ServiceUnavailable", "later"))

    async with sender_to(api_server.url) as sender:
        body = await sender.send(GET)

    assert body["gitVersion"] == "v1.36.0"
    assert len(api_server.seen) == 3


async def test_a_create_is_not_sent_again_after_a_server_error(api_server: ScriptedServer) -> None:
    api_server.say(status(500, "InternalError", "oops"))

    async with sender_to(api_server.url) as sender:
        with pytest.raises(api_errors.ServerError, match="oops"):
            await sender.send(POST)

    assert len(api_server.seen) == 1


async def test_a_create_whose_answer_is_lost_is_not_sent_again(api_server: ScriptedServer) -> None:
    async def hang_up(asked: Asked) -> web.StreamResponse:
        assert asked.raw.transport is not None
        asked.raw.transport.abort()
        return web.Response()

    api_server.say(hang_up)

    async with sender_to(api_server.url) as sender:
        with pytest.raises(api_errors.Unreachable) as caught:
            await sender.send(POST)

    assert (caught.value.sent, caught.value.reason) == (True, api_errors.UnreachableReason.BROKEN)
    assert len(api_server.seen) == 1


async def test_429_is_always_sent_again(api_server: ScriptedServer) -> None:
    busy = status(429, "TooManyRequests", "busy")
    busy.headers["Retry-After"] = "0"
    api_server.say(busy)

    async with sender_to(api_server.url) as sender:
        await sender.send(POST)

    assert len(api_server.seen) == 2


async def test_patience_that_is_asked_for_is_reported(api_server: ScriptedServer) -> None:
    busy = status(429, "TooManyRequests", "busy")
    busy.headers["Retry-After"] = "3600"
    api_server.say(busy)

    async with sender_to(api_server.url) as sender:
        with pytest.raises(api_errors.TooManyRequests) as caught:
            await sender.send(GET)

    assert caught.value.delay == timedelta(hours=1)


async def test_nobody_listens() -> None:
    async with sender_to(unused_url()) as sender:
        with pytest.raises(api_errors.Unreachable) as caught:
            await sender.send(POST)

    assert caught.value.reason is api_errors.UnreachableReason.REFUSED
    assert not caught.value.sent
    assert "connection refused (create x)" in str(caught.value)


async def test_an_unknown_host() -> None:
    async with sender_to("http://nowhere.invalid:1") as sender:
        with pytest.raises(api_errors.Unreachable) as caught:
            await sender.send(GET)

    assert caught.value.reason is api_errors.UnreachableReason.NAME


async def test_a_server_that_is_silent(api_server: ScriptedServer) -> None:
    async def sleep(_: Asked) -> web.StreamResponse:
        await asyncio.sleep(0.5)
        return web.Response()

    api_server.handler = sleep

    async with sender_to(api_server.url, timeout=0.05) as sender:
        with pytest.raises(api_errors.Unreachable) as caught:
            await sender.send(POST)

    assert caught.value.reason is api_errors.UnreachableReason.TIMEOUT
    assert caught.value.sent


async def test_the_breaker_leaves_a_silent_cluster_alone() -> None:
    rules = circuit_breaker.Rules(failures=3, lasting=0.0)
    async with sender_to(unused_url(), circuit=rules) as sender:
        with pytest.raises(api_errors.Unreachable):
            await sender.send(GET)
        with pytest.raises(api_errors.CircuitOpen, match="is sent no requests for now") as caught:
            await sender.send(GET)

    assert caught.value.delay is not None
    assert caught.value.delay > timedelta(seconds=9)


async def test_a_probe_whose_credentials_fail_does_not_block_the_breaker(
    api_server: ScriptedServer,
) -> None:
    """The probe ends without an answer; the next one must be let through."""
    rules = circuit_breaker.Rules(failures=1, lasting=0.0, pause=0.0)
    missing = connections.Exec("client.authentication.k8s.io/v1", "no-such-program-anywhere")
    async with sender_to(api_server.url, credentials=missing, circuit=rules) as sender:
        for _ in range(2):
            with pytest.raises(errors.UserError, match="was not found"):
                await sender.send(GET)


async def test_a_gateway_without_a_server_behind_it_opens_the_breaker(
    api_server: ScriptedServer,
) -> None:
    api_server.say(*(web.Response(status=502, text="<html>Bad Gateway") for _ in range(3)))

    async with sender_to(
        api_server.url, circuit=circuit_breaker.Rules(failures=3, lasting=0.0)
    ) as sender:
        with pytest.raises(api_errors.ServerError, match="get version: HTTP 502"):
            await sender.send(GET)
        with pytest.raises(api_errors.CircuitOpen, match="a gateway answers 502"):
            await sender.send(GET)


async def test_an_error_of_the_api_server_does_not_open_the_breaker(
    api_server: ScriptedServer,
) -> None:
    api_server.say(*(status(503, "ServiceUnavailable", "starting") for _ in range(3)))

    async with sender_to(
        api_server.url, circuit=circuit_breaker.Rules(failures=1, lasting=0.0)
    ) as sender:
        with pytest.raises(api_errors.ServerError):
            await sender.send(GET)

        assert await sender.send(GET)


async def test_concurrency_is_limited(api_server: ScriptedServer) -> None:
    running, most = 0, 0

    async def count(_: Asked) -> web.StreamResponse:
        nonlocal running, most
        running, most = running + 1, max(most, running + 1)
        await asyncio.sleep(0.01)
        running -= 1
        return answer({})

    api_server.handler = count

    async with sender_to(api_server.url, concurrency=3) as sender, asyncio.TaskGroup() as group:
        for _ in range(12):
            group.create_task(sender.send(GET))
        await asyncio.sleep(0)

    assert most == 3


@pytest.mark.parametrize("coding", ["plain", "chunked", "gzip"])
async def test_an_answer_is_bounded(api_server: ScriptedServer, coding: str) -> None:
    body = b'{"x": "' + b"y" * 100_000 + b'"}'

    async def large(asked: Asked) -> web.StreamResponse:
        if coding == "plain":
            return web.Response(body=body)
        if coding == "gzip":
            return web.Response(body=gzip.compress(body), headers={"Content-Encoding": "gzip"})
        stream = web.StreamResponse()
        stream.enable_chunked_encoding()
        await stream.prepare(asked.raw)
        await stream.write(body)
        return stream

    api_server.handler = large

    async with sender_to(api_server.url, largest_answer=50_000) as sender:
        with pytest.raises(api_errors.TooLarge, match="get version: the answer is larger"):
            await sender.send(GET)
    async with sender_to(api_server.url, largest_answer=200_000) as sender:
        assert len((await sender.send(GET))["x"]) == 100_000


@pytest.mark.parametrize("text", ["<html>welcome", '{"cut": ', "[1]", b"\xff"])
async def test_an_answer_that_is_not_json(api_server: ScriptedServer, text: str | bytes) -> None:
    api_server.say(web.Response(body=text))

    async with sender_to(api_server.url) as sender:
        with pytest.raises(api_errors.RequestError, match="is this a Kubernetes API server"):
            await sender.send(GET)


async def test_a_redirect_is_not_followed(api_server: ScriptedServer) -> None:
    """Credentials must not go to where somebody points."""
    api_server.say(web.Response(status=302, headers={"Location": "/login"}))

    async with sender_to(api_server.url) as sender:
        with pytest.raises(api_errors.RequestError, match="the server redirects"):
            await sender.send(GET)

    assert len(api_server.seen) == 1


async def test_a_connection_is_reused(api_server: ScriptedServer) -> None:
    async with sender_to(api_server.url) as sender:
        for _ in range(5):
            await sender.send(GET)

    assert len({asked.port for asked in api_server.seen}) == 1


async def test_a_request_that_is_cancelled_leaves_the_client_usable(
    api_server: ScriptedServer,
) -> None:
    async def sleep(_: Asked) -> web.StreamResponse:
        await asyncio.sleep(5)
        return web.Response()

    api_server.say(*([sleep] * 3))

    async with sender_to(api_server.url, concurrency=1) as sender:
        for _ in range(3):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await sender.send(GET)

        assert await sender.send(GET)


async def test_no_message_holds_a_secret() -> None:
    async with sender_to(unused_url()) as sender:
        with pytest.raises(api_errors.Unreachable) as caught:
            await sender.send(POST)

    assert "secret-token" not in f"{caught.value} {sender.connection!r}"


READY = requests.Request("GET", "/readyz", accept="*/*", what="get /readyz")


async def test_a_check_passes_a_circuit_that_is_open_and_closes_it(
    api_server: ScriptedServer,
) -> None:
    rules = circuit_breaker.Rules(failures=1, lasting=0.0, pause=60.0)
    async with sender_to(api_server.url, circuit=rules) as sender:
        api_server.say(web.Response(status=502, text="nobody"))
        with pytest.raises(api_errors.ServerError):
            await sender.check(READY, timeout=5)
        with pytest.raises(api_errors.CircuitOpen):
            await sender.send(GET)

        await sender.check(READY, timeout=5)
        assert await sender.send(GET)


async def test_a_check_is_sent_once_and_past_the_queue(api_server: ScriptedServer) -> None:
    api_server.say(status(500, "InternalError", "etcd failed"))
    async with sender_to(api_server.url, concurrency=0) as sender:
        with pytest.raises(api_errors.ServerError, match="etcd failed"):
            await sender.check(READY, timeout=5)
        await sender.check(READY, timeout=5)

    assert [asked.path for asked in api_server.seen] == ["/readyz", "/readyz"]
    assert api_server.seen[0].headers["Accept"] == "*/*"


async def test_a_check_ends_in_its_own_time(api_server: ScriptedServer) -> None:
    async def hang(_: Asked) -> web.StreamResponse:
        await asyncio.sleep(60)
        return answer({})

    api_server.say(hang)
    async with sender_to(api_server.url) as sender:
        with pytest.raises(api_errors.Unreachable) as caught:
            await sender.check(READY, timeout=0.2)

    assert caught.value.reason is api_errors.UnreachableReason.TIMEOUT


async def test_who_listens_learns_of_outages_from_all_requests(
    api_server: ScriptedServer,
) -> None:
    told: list[str] = []
    sender = transports.Transport(
        connections.Connection("us", api_server.url),
        limits=transports.Limits(
            retry=retries.Policy(tries=1), circuit=circuit_breaker.Rules(failures=2, lasting=0.0)
        ),
        clock=FixedClock(),
        chance=lambda: 0.5,
        on_change=told.append,
    )
    api_server.say(*(web.Response(status=503, text="nobody") for _ in range(2)))
    before = sender.answered
    for _ in range(2):
        with pytest.raises(api_errors.ServerError):
            await sender.send(GET)
    lost, answered = list(told), sender.answered
    await sender.check(READY, timeout=5)
    await sender.close()

    assert lost == ["a gateway answers 503"]
    assert told == ["a gateway answers 503", ""]
    assert answered == before
    assert sender.answered > before


async def test_patience_counts_from_the_first_try(api_server: ScriptedServer) -> None:
    async def slow(_: Asked) -> web.StreamResponse:
        await asyncio.sleep(0.2)
        return status(500, "InternalError", "busy")

    api_server.say(slow, slow)
    policy = retries.Policy(
        tries=5, base=timedelta(milliseconds=1), patience=timedelta(seconds=0.3)
    )
    async with sender_to(api_server.url, retry=policy) as sender:
        with pytest.raises(api_errors.ServerError):
            await sender.send(GET)

    assert len(api_server.seen) == 2


async def test_no_try_comes_after_the_last(api_server: ScriptedServer) -> None:
    api_server.say(*(status(500, "InternalError", "busy") for _ in range(9)))
    async with sender_to(api_server.url) as sender:
        with pytest.raises(api_errors.ServerError):
            await sender.send(GET)

    assert len(api_server.seen) == QUICK.tries


async def test_an_answer_that_is_no_object_is_refused(api_server: ScriptedServer) -> None:
    api_server.say(answer(["v1.36.0"]))

    async with sender_to(api_server.url) as sender:
        with pytest.raises(api_errors.RequestError, match="is this a Kubernetes API server"):
            await sender.send(GET)


async def test_requests_go_through_the_proxy(api_server: ScriptedServer) -> None:
    connection = connections.Connection("us", "http://us.example", proxy_url=api_server.url)
    sender = transports.Transport(
        connection, limits=transports.Limits(), clock=FixedClock(), chance=lambda: 0.5
    )

    await sender.send(GET)
    await sender.close()

    assert [asked.headers["Host"] for asked in api_server.seen] == ["us.example"]
