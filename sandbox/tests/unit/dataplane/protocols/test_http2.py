"""HTTP/2 as real clients speak it: gRPC by grpcio, the rest by the library's client side."""

import asyncio
import contextlib
import json
import math
import select
import socket
from collections.abc import AsyncIterator

import pytest
from h2 import config, connection, events

import grpc_client
import process_time
from kube_sandbox.dataplane.protocols import http1, http2, listeners

grpc = grpc_client.grpc


CALLS = 5
PARTS = 3
COUNTED, ENDLESS = "/parts", "/endless"
arrived: list[str] = []


class Parts:
    """An answer that is given in parts, each longer than the client's window at first."""

    def __init__(self, sink: http1.Sink, count: float) -> None:
        self._sink = sink
        self._left = count
        asyncio.get_running_loop().call_soon(self._say)

    def feed(self, data: bytes) -> None:
        raise AssertionError(data)

    def part(self) -> None:
        pass

    def lost(self) -> None:
        arrived.append("lost")

    def _say(self) -> None:
        if not self._left:
            self._sink.end()
            return
        self._left -= 1
        self._sink.write(b"x" * 100_000)
        asyncio.get_running_loop().call_later(0.01, self._say)


def answer(request: http1.Request, respond: listeners.Respond) -> None:
    arrived.append(request.path)
    if request.path in (COUNTED, ENDLESS):
        count = PARTS if request.path == COUNTED else math.inf
        respond(http1.Stream(200, (), lambda sink: Parts(sink, count)))
        return
    status = 500 if request.path == "/shop.Shop/Fail" else 200
    body = json.dumps({"path": request.path, "host": request.header("host")}).encode()
    if request.path == "/long":
        body = b"x" * 300_000
    fields = (("Content-Type", "text/plain"), ("x-variant", "canary"), ("connection", "close"))
    asyncio.get_running_loop().call_later(
        0.02, respond, http1.Response(status, fields, body if status == 200 else b"told\nto fail")
    )


@pytest.fixture
async def listening() -> AsyncIterator[listeners.Listener]:
    listener = listeners.bind("127.0.0.1", 0, answer)
    await listener.start()
    yield listener
    await listener.stop(process_time.HANG)


class Client:
    """The other side of HTTP/2, by hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.said = connection.H2Connection(config.H2Configuration(header_encoding="utf-8"))
        self.said.initiate_connection()
        self.bodies: dict[int, bytes] = {}
        self.ended: set[int] = set()
        self.is_told_to_leave = False

    def ask(self, path: str, method: str = "GET") -> int:
        number = self.said.get_next_available_stream_id()
        fields = [(":method", method), (":path", path), (":scheme", "http"), (":authority", "x")]
        self.said.send_headers(number, fields, end_stream=True)
        self._writer.write(self.said.data_to_send())
        return number

    async def until_closed(self) -> None:
        while data := await self._reader.read(65536):
            self.take(data)
        await self.close()

    async def until_ended(self, number: int) -> bytes:
        while number not in self.ended:
            self.take(await self._reader.read(65536))
        return self.bodies.get(number, b"")

    def take(self, data: bytes) -> None:
        assert data
        for event in self.said.receive_data(data):
            match event:
                case events.DataReceived():
                    known = self.bodies.get(event.stream_id, b"")
                    self.bodies[event.stream_id] = known + event.data
                    self.said.acknowledge_received_data(
                        event.flow_controlled_length, event.stream_id
                    )
                case events.StreamEnded():
                    self.ended.add(event.stream_id)
                case events.ConnectionTerminated():
                    self.is_told_to_leave = True
        if to_send := self.said.data_to_send():
            self._writer.write(to_send)

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


async def client_of(listener: listeners.Listener) -> Client:
    return Client(*await asyncio.open_connection("127.0.0.1", listener.port))


async def test_a_grpc_client_gets_a_message_metadata_and_a_status(
    listening: listeners.Listener,
) -> None:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{listening.port}") as channel:
        asked = channel.unary_unary("/shop.Shop/Buy")(b"\n\x02hi")

        message = await asked
        told = dict(await asked.initial_metadata())

    assert message[:1] == b"\n"
    assert message[1] == len(message) - 2
    assert json.loads(message[2:])["path"] == "/shop.Shop/Buy"
    assert told == {"x-variant": "canary"}


async def test_a_failed_call_has_the_status_internal(listening: listeners.Listener) -> None:
    calls = await grpc_client.call(f"127.0.0.1:{listening.port}", 3, method="/shop.Shop/Fail")

    assert calls.codes == {"INTERNAL": 3}
    assert calls.details == {"told to fail"}


async def test_many_calls_are_under_way_on_one_connection(listening: listeners.Listener) -> None:
    calls = await grpc_client.call(f"127.0.0.1:{listening.port}", 300)

    assert calls.codes == {"OK": 300}
    assert calls.by_variant == {"canary": 300}


async def test_long_answers_wait_for_the_clients_window(listening: listeners.Listener) -> None:
    client = await client_of(listening)

    body = await client.until_ended(client.ask("/long"))

    assert len(body) == 300_000
    assert json.loads(await client.until_ended(client.ask("/short")))["host"] == "x"
    assert await client.until_ended(client.ask("/short", "HEAD")) == b""
    await client.close()


async def test_an_answer_that_is_given_over_time_arrives_whole(
    listening: listeners.Listener,
) -> None:
    client = await client_of(listening)
    number = client.ask(COUNTED)

    assert json.loads(await client.until_ended(client.ask("/short")))["path"] == "/short"
    assert len(await client.until_ended(number)) == PARTS * 100_000
    client.ask(ENDLESS)
    await client.until_ended(client.ask("/short"))
    arrived.clear()
    await client.close()
    async with asyncio.timeout(process_time.HANG):
        while not arrived:  # noqa: ASYNC110 (whatever the server notes)
            await asyncio.sleep(0)
    assert arrived == ["lost"]


async def test_stopping_answers_what_is_under_way_and_says_goodbye() -> None:
    listener = listeners.bind("127.0.0.1", 0, answer)
    await listener.start()
    idle = await client_of(listener)
    await idle.until_ended(idle.ask("/short"))
    arrived.clear()

    async with asyncio.TaskGroup() as group:
        calling = group.create_task(grpc_client.call(f"127.0.0.1:{listener.port}", CALLS))
        group.create_task(idle.until_closed())
        async with asyncio.timeout(process_time.HANG):
            while len(arrived) < CALLS:  # noqa: ASYNC110 (whatever the server notes)
                await asyncio.sleep(0)
        await listener.stop(process_time.HANG)

    assert calling.result().codes == {"OK": CALLS}
    assert idle.is_told_to_leave


async def test_who_is_slow_to_read_gets_all_that_was_answered_before_the_end() -> None:
    """Though it goes on speaking until it has read that there will be nothing more."""
    listener = listeners.bind("127.0.0.1", 0, answer)
    await listener.start()
    said = connection.H2Connection(config.H2Configuration(header_encoding="utf-8"))
    said.initiate_connection()
    fields = [(":method", "GET"), (":path", "/"), (":scheme", "http"), (":authority", "x")]
    said.send_headers(said.get_next_available_stream_id(), fields, end_stream=True)
    with socket.create_connection(("127.0.0.1", listener.port)) as client:
        client.sendall(said.data_to_send())
        over = select.poll()
        over.register(client, select.POLLRDHUP)
        arrived.clear()
        async with asyncio.timeout(process_time.HANG), asyncio.TaskGroup() as group:
            while not arrived:  # noqa: ASYNC110 (whatever the server notes)
                await asyncio.sleep(0)
            stopping = group.create_task(listener.stop(process_time.HANG))
            while not over.poll(0):  # noqa: ASYNC110 (whatever the other side does)
                await asyncio.sleep(0.01)

            for _ in range(2):
                said.ping(b"a moment")
                client.sendall(said.data_to_send())
            assert not stopping.done()
            read = b"".join(iter(lambda: client.recv(65536), b""))
            client.close()

    assert json.dumps({"path": "/", "host": "x"}).encode() in read


async def test_who_does_not_close_is_hung_up_on_after_a_while(
    listening: listeners.Listener,
) -> None:
    client = await client_of(listening)
    await client.until_ended(client.ask("/short"))

    async with asyncio.timeout(process_time.HANG):
        await listening.stop(process_time.HANG)

    await client.close()


async def test_who_does_not_speak_it_is_hung_up_on(listening: listeners.Listener) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", listening.port)
    writer.write(http2.PREFACE[:5])
    await asyncio.sleep(0.01)

    writer.write(http2.PREFACE[5:] + b"\x00\x00\x01\x00\x00\x00\x00\x00\x09x")
    async with asyncio.timeout(1):
        await reader.read()

    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
