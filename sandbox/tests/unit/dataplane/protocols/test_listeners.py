"""Servers that end well, and clients that keep connections."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from kube_sandbox.dataplane.protocols import connections, http1, listeners

Result = http1.Response | connections.Failure
ASK = http1.Request("GET", "/", (("host", "x"),))


@pytest.fixture
async def clients() -> AsyncIterator[connections.Pool]:
    made = connections.Pool(timeout=2.0)
    yield made
    await made.close()


async def send(
    clients: connections.Pool, listener: listeners.Listener, request: http1.Request = ASK
) -> Result:
    answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
    clients.send(("127.0.0.1", listener.port), request, answer.set_result)
    return await answer


def hello(_request: http1.Request, respond: listeners.Respond) -> None:
    respond(http1.Response(200, (), b"hello"))


def slowly(_request: http1.Request, respond: listeners.Respond) -> None:
    answer = http1.Response(200, (), b"slow")
    asyncio.get_running_loop().call_later(0.05, respond, answer)


def status(result: Result) -> object:
    return result.status if isinstance(result, http1.Response) else result.reason


async def test_connections_are_kept_and_pipelined_requests_answered_in_order(
    clients: connections.Pool,
) -> None:
    listener = listeners.bind(
        "127.0.0.1",
        0,
        lambda request, respond: respond(http1.Response(200, (), request.target.encode())),
    )
    await listener.start()
    assert status(await send(clients, listener)) == 200
    assert status(await send(clients, listener)) == 200
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    writer.write(b"GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\nConnection: close\r\n\r\n")

    text = await reader.read()

    writer.close()
    await writer.wait_closed()
    assert text.index(b"/1") < text.index(b"/2")
    await listener.stop(1.0)


async def test_clients_that_come_before_the_start_are_served(clients: connections.Pool) -> None:
    listener = listeners.bind("127.0.0.1", 0, hello)
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(send(clients, listener))
        await asyncio.sleep(0.02)
        assert not asking.done()
        await listener.start()
    assert status(asking.result()) == 200
    await listener.stop(1.0)


async def test_stopping_finishes_what_is_under_way_and_takes_no_more(
    clients: connections.Pool,
) -> None:
    listener = listeners.bind("127.0.0.1", 0, slowly)
    await listener.start()
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(send(clients, listener))
        await asyncio.sleep(0.02)
        await listener.stop(1.0)

    assert status(asking.result()) == 200
    other = connections.Pool(timeout=1.0)
    port = 1  # the listener's own is closed; nothing listens on this one either
    answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
    other.send(("127.0.0.1", port), ASK, answer.set_result)
    assert status(await answer) == "refused"
    await other.close()


async def test_stopping_breaks_what_does_not_end_in_time(clients: connections.Pool) -> None:
    listener = listeners.bind("127.0.0.1", 0, lambda _request, _respond: None)
    await listener.start()
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(send(clients, listener))
        await asyncio.sleep(0.02)
        await listener.stop(0.05)

    assert status(asking.result()) == "reset"


async def test_draining_answers_and_ends_each_connection(clients: connections.Pool) -> None:
    listener = listeners.bind("127.0.0.1", 0, hello)
    await listener.start()
    listener.drain()

    found = await send(clients, listener)

    assert isinstance(found, http1.Response)
    assert (found.status, found.keep_alive) == (200, False)
    assert status(await send(clients, listener)) == 200
    await listener.stop(1.0)


async def test_a_kept_connection_that_was_closed_meanwhile_costs_no_request(
    clients: connections.Pool,
) -> None:
    """The server closes after each answer without saying so; the next request goes on anew."""
    served = 0

    async def rude(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        await reader.readuntil(b"\r\n\r\n")
        served += 1
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        await reader.readuntil(b"\r\n\r\n")  # takes the next one, and says nothing
        writer.close()

    server = await asyncio.start_server(rude, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    async def ask(method: str) -> object:
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        request = http1.Request(method, "/", (("host", "x"),))
        clients.send(("127.0.0.1", port), request, answer.set_result)
        return status(await answer)

    assert await ask("GET") == 200
    assert await ask("GET") == 200
    assert served == 2
    # What may have had an effect is not sent twice.
    assert await ask("POST") == "reset"
    server.close()
    await server.wait_closed()


async def test_silence_is_a_timeout() -> None:
    clients = connections.Pool(timeout=0.05)
    listener = listeners.bind("127.0.0.1", 0, lambda _request, _respond: None)
    await listener.start()

    assert status(await send(clients, listener)) == "timeout"

    listener.abort()
    await clients.close()


async def test_nonsense_is_answered_with_400() -> None:
    listener = listeners.bind("127.0.0.1", 0, hello)
    await listener.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    writer.write(b"what\r\n\r\n")

    text = await reader.read()

    writer.close()
    await writer.wait_closed()
    assert text.startswith(b"HTTP/1.1 400 ")
    await listener.stop(1.0)


async def test_stopping_serves_who_has_connected_already() -> None:
    """The request comes after the stop has begun: its connection was there before."""
    listener = listeners.bind("127.0.0.1", 0, hello)
    await listener.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    async with asyncio.TaskGroup() as group:
        group.create_task(listener.stop(1.0))
        await asyncio.sleep(0.05)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        text = await reader.read()

    writer.close()
    await writer.wait_closed()
    assert text.startswith(b"HTTP/1.1 200 ")
