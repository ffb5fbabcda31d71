"""Real connections to a real server: who is heard, who is ended, what is said to them."""

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import trustme

import process_time
import server_world
from volary.model import server_settings
from volary.server.connections import bounds

HERE, THERE = "127.0.0.1", "127.0.0.2"
HALF = b"GET /healthz HTTP/1.1\r\nHost: local"
WHOLE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /api/v1/clusters/us/cordon HTTP/1.1\r\nHost: localhost\r\ncontent-length: 20\r\n\r\n{"
STREAM = b"GET /api/v1/events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
#: So many that none is ended for another one.
ENOUGH = bounds.Bounds(connections=100, each=50, each_here=50)
#: Every wait is short.
QUICK = bounds.Seconds(handshake=0.5, head=0.5, body=0.5, idle=0.5, stalled=0.5, closing=0.5)


@dataclass
class Connection:
    """One connection to the server."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, request: bytes = WHOLE) -> str:
        """Send a request, and return the first line of what is said to it; empty: it has ended."""
        with contextlib.suppress(ConnectionError):
            self.writer.write(request)
            await self.writer.drain()
        return await self.answer()

    async def answer(self) -> str:
        """Return the first line of an answer, and skip its headers."""
        try:
            async with asyncio.timeout(process_time.HANG):
                line = (await self.reader.readline()).decode().strip()
                while (await self.reader.readline()).strip():
                    pass
        except ConnectionError:
            return ""
        return line.partition(" ")[2]

    async def ended(self) -> bytes:
        """Wait until it has ended; return what came before."""
        async with asyncio.timeout(process_time.HANG):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""


@dataclass
class Clients:
    """Connections that are closed with the block."""

    world: server_world.Served
    connections: list[Connection] = field(default_factory=list)

    async def connect(
        self, address: str = HERE, sent: bytes = b"", *, tls: ssl.SSLContext | None = None
    ) -> Connection:
        port = int(self.world.url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection(HERE, port, local_addr=(address, 0), ssl=tls)
        self.connections.append(Connection(reader, writer))
        writer.write(sent)
        return self.connections[-1]

    async def several(self, count: int, address: str, sent: bytes) -> list[Connection]:
        return [await self.connect(address, sent) for _ in range(count)]

    def number(self, name: str, **labels: str) -> float:
        """Return one of the server's numbers."""
        registry = self.world.application.state.server_state.metrics.registry
        return registry.get_sample_value(name, labels) or 0.0

    async def alone(self) -> None:
        """Close everything, and wait until the server has nothing left of it."""
        for connection in self.connections:
            connection.writer.transport.abort()
        self.connections.clear()
        await self.world.session.close()
        await process_time.until(lambda: self.number("volary_connections") == 0)


@contextlib.asynccontextmanager
async def serving(
    directory: Path, allowance: bounds.Bounds = ENOUGH, tls: server_settings.TlsFiles | None = None
) -> AsyncIterator[Clients]:
    async with server_world.served(directory, allowance=allowance, tls=tls) as world:
        clients = Clients(world)
        yield clients
        await clients.alone()


async def test_half_a_head_is_not_waited_for_however_slowly_it_comes(tmp_path: Path) -> None:
    allowance = bounds.Bounds(100, each=50, each_here=50, seconds=bounds.Seconds(head=0.5))
    async with serving(tmp_path, allowance) as clients:
        nothing, half = await clients.connect(), await clients.connect(sent=HALF)
        slow, again = await clients.connect(), await clients.connect()
        assert await again.ask() == "200 OK"
        assert await again.reader.readexactly(3) == b"ok\n"
        again.writer.write(HALF)
        async with asyncio.TaskGroup() as group:
            trickle = group.create_task(_trickle(slow.writer))
            said = [(await each.ended()).partition(b"\r\n")[0] for each in (half, again, nothing)]
            # A byte that meets a closed connection makes its sender forget what it was answered.
            assert b"408" in (answer := await slow.ended()) or not answer
            trickle.cancel()
        assert clients.number("volary_connections_ended_total", reason="head") == 4

    assert said == [b"HTTP/1.1 408 Request Timeout"] * 3


async def _trickle(writer: asyncio.StreamWriter) -> None:
    writer.write(HALF)
    while True:
        await asyncio.sleep(0.05)
        writer.write(b"x")


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (HALF, "head"),
        (POST, "body"),
        (WHOLE, "idle"),
    ],
)
async def test_every_wait_is_bounded(tmp_path: Path, sent: bytes, reason: str) -> None:
    allowance = bounds.Bounds(100, each=50, each_here=50, seconds=QUICK)
    async with serving(tmp_path, allowance) as clients:
        connection = await clients.connect(sent=sent)
        await connection.ended()
        # uvicorn's own timer may be the one that ends an idle connection.
        assert reason == "idle" or clients.number("volary_connections_ended_total", reason=reason)


async def test_what_nobody_reads_is_not_kept(tmp_path: Path) -> None:
    """Also when the answer is finished and the connection is only waiting to be closed."""
    allowance = bounds.Bounds(100, each=50, each_here=50, seconds=QUICK)
    async with serving(tmp_path, allowance) as clients:
        await clients.world.say("run-web", *("x" * 3000 for _ in range(1500)))
        connection = await clients.connect()
        connection.writer.transport.pause_reading()  # type: ignore[attr-defined]
        path = b"/api/v1/runs/run-web/logs/stream"
        connection.writer.write(b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % path)
        await process_time.until(
            lambda: clients.number("volary_connections_ended_total", reason="stalled") == 1
        )
        await process_time.until(lambda: clients.number("volary_connections") == 0)


async def test_half_sent_requests_keep_nobody_out(tmp_path: Path) -> None:
    """Neither others nor people of the same address; what is answered goes on."""
    allowance = bounds.Bounds(connections=30, each=20, each_here=20)
    async with serving(tmp_path, allowance) as clients:
        stream = await clients.connect(HERE)
        assert await stream.ask(STREAM) == "200 OK"
        flood = await clients.several(200, THERE, HALF)
        for address in (HERE, THERE):
            assert await (await clients.connect(address)).ask() == "200 OK"
        assert b"503" in await flood[0].ended()
        assert clients.number("volary_connections") <= allowance.connections
        assert clients.number("volary_connections_ended_total", reason="room") >= 180
        assert clients.number("volary_connections_refused_total", reason="address") == 0
        assert not stream.reader.at_eof()


async def test_where_everything_is_being_answered_health_still_is(tmp_path: Path) -> None:
    allowance = bounds.Bounds(connections=8, each=8, each_here=8, streams_each=100)
    async with serving(tmp_path, allowance) as clients, _unanswered(clients, 8):
        for path in (b"healthz", b"readyz"):
            probe = await clients.connect(THERE)
            assert await probe.ask(WHOLE.replace(b"healthz", path)) == "200 OK"
        other = await clients.connect(THERE, WHOLE.replace(b"healthz", b"api/v1/runs"))
        said = (await other.ended()).decode()
        assert clients.number("volary_connections_refused_total", reason="total") == 3

    assert said.startswith("HTTP/1.1 503")
    assert "retry-after: 5" in said
    assert "no connection is free" in said


@contextlib.asynccontextmanager
async def _unanswered(clients: Clients, count: int) -> AsyncIterator[None]:
    """Have so many requests under way that are not answered before the end of the block."""
    fleet, waiting, release = type(clients.world.service.fleet), 0, asyncio.Event()
    kept = fleet.list

    async def wait(*_: object, **__: object) -> tuple[()]:
        nonlocal waiting
        waiting += 1
        await release.wait()
        return ()

    fleet.list = wait  # type: ignore[assignment, method-assign]
    try:
        await clients.several(count, HERE, WHOLE.replace(b"healthz", b"api/v1/clusters"))
        await process_time.until(lambda: waiting == count)
        yield
    finally:
        fleet.list = kept  # type: ignore[method-assign]
        release.set()


def _authority(directory: Path) -> tuple[server_settings.TlsFiles, ssl.SSLContext]:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", HERE)
    file = directory / "all.pem"
    issued.private_key_and_cert_chain_pem.write_to_path(file)
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    return server_settings.TlsFiles(str(file), str(file)), trust


async def test_tls_is_agreed_on_in_time_or_not_at_all(tmp_path: Path) -> None:
    files, trust = _authority(tmp_path)
    seconds = bounds.Seconds(handshake=0.5)
    allowance = bounds.Bounds(connections=20, each=10, each_here=10, seconds=seconds)
    async with serving(tmp_path, allowance, files) as clients:
        silent = await clients.connect()
        plain = await clients.connect(sent=WHOLE)
        assert await silent.ended() == b""
        assert b"200" not in await plain.ended()
        flood = await clients.several(50, THERE, b"\x16\x03\x01\x02\x00\x01")
        for address in (HERE, THERE):
            assert await (await clients.connect(address, tls=trust)).ask() == "200 OK"
        assert await flood[0].ended() == b""


async def test_half_a_body_is_no_body(tmp_path: Path) -> None:
    """A command whose options did not all arrive is not carried out without them."""
    async with serving(tmp_path) as clients:
        request = (
            b"POST /api/v1/applications/web/pause HTTP/1.1\r\nHost: localhost\r\n"
            b"content-type: application/json\r\ncontent-length: 19\r\n\r\n"
        )
        connection = await clients.connect(sent=request)
        await asyncio.sleep(0.2)
        connection.writer.close()
        await process_time.until(lambda: clients.number("volary_connections") == 0)
        # Somebody who asks for it in whole is the first; in this world nobody carries it out.
        status, said = await clients.world.ask("POST", "/api/v1/applications/web/pause")
        _, page = await clients.world.ask("GET", "/api/v1/audit")

    assert (status, said["detail"]) == (409, "there is no application web")
    assert len(page["items"]) == 1


async def test_small_answers_do_not_wait_for_an_acknowledgement(tmp_path: Path) -> None:
    """Linux sends one after 40 ms; three quarters of these answers may be as slow by chance."""
    loop, took = asyncio.get_running_loop(), []
    async with serving(tmp_path) as clients:
        connection = await clients.connect()
        for _ in range(60):
            began = loop.time()
            assert await connection.ask() == "200 OK"
            assert await connection.reader.readexactly(3) == b"ok\n"
            took.append(loop.time() - began)

    assert sorted(took[20:])[10] < 0.02, took


async def test_bodies_in_memory_are_bounded_for_all_and_for_each(tmp_path: Path) -> None:
    async with serving(tmp_path) as clients:
        bodies = clients.world.application.state.server_state.bodies
        share = ENOUGH.bodies_of(HERE)
        bodies.take(THERE, ENOUGH.bodies - 10, share=ENOUGH.bodies)
        body = {"reason": "a body of more than ten bytes"}
        path = "/api/v1/clusters/us/cordon"
        status, said = await clients.world.ask("POST", path, json=body)
        bodies.give_back(THERE, ENOUGH.bodies - 10)
        other, _ = await clients.world.ask("POST", path, json=body)
        health, _ = await clients.world.ask("GET", "/healthz")

    assert (status, said["detail"]) == (503, "too much is being received")
    assert (other, health) == (404, 200)
    assert share < ENOUGH.bodies
    assert (bodies.taken, bodies.holders) == (0, 0)


async def test_who_does_not_say_who_they_are_may_not_ask_forever(tmp_path: Path) -> None:
    async with serving(tmp_path) as clients:
        known, rates = (
            clients.world.token("viewer"),
            clients.world.application.state.server_state.rates,
        )
        first, _ = await clients.world.ask("GET", "/api/v1/runs")
        # As somebody who sends as many as are let through, for a while from now on.
        while not rates.wait(HERE, time.monotonic() + 100):
            pass
        async with clients.world.session.get(clients.world.url + "/api/v1/runs") as answer:
            said = await answer.json()
        welcome, _ = await clients.world.ask("GET", "/api/v1/runs", headers=known)
        health, _ = await clients.world.ask("GET", "/healthz")
        other = await (await clients.connect(THERE)).ask(
            b"GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\n\r\n"
        )

    assert (first, answer.status, welcome, health) == (401, 429, 200, 200)
    assert other == "401 Unauthorized"
    assert said["detail"] == "too many requests without credentials come from this address"
    assert 0 < int(answer.headers["retry-after"]) <= 101
