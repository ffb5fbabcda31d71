"""Somebody opens connections without an end; the server goes on answering and deploying.

The server is a process that may have few file descriptors, the flood is another one.
"""

import asyncio
import contextlib
import resource
import statistics
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import aiohttp

import command_world
import connection_flood
import process_time
import server_processes
import warm_processes

#: File descriptors of the server.
_DESCRIPTORS = 256
_HTTP = ("/healthz", "/readyz")
#: Bytes of log that a flood may cause: a screen or two.
_LOG = 32 * 1024
_V1, _V2 = "example/simple:v1", "example/simple:v2"


@contextlib.asynccontextmanager
async def _start(world: command_world.World, *words: str) -> AsyncIterator[command_world.Started]:
    """Run ``volary …`` with few file descriptors; what it says is read all the time."""
    process = await asyncio.create_subprocess_exec(
        "/bin/sh",
        "-c",
        f'ulimit -n {_DESCRIPTORS}; exec "$@"',
        "sh",
        *(sys.executable, "-m", "volary", *words),
        cwd=world.directory,
        env=world.environment,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    started = command_world.Started(process)  # type: ignore[arg-type]
    try:
        yield started
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _read(started: command_world.Started) -> None:
    while line := await started.process.stderr.readline():
        started.said += line.decode()


def _sockets(server: server_processes.ServerProcess) -> int:
    """Return how many of the descriptors are connections, of people and to clusters."""
    held = Path(f"/proc/{server.process.process.pid}/fd")
    found = 0
    for each in held.iterdir():
        with contextlib.suppress(OSError):
            found += str(each.readlink()).startswith("socket:")
    return found


async def _sample(url: str, address: str, path: str) -> tuple[int, float]:
    """Ask on a connection of its own; return the status and the seconds that it took."""
    began = time.monotonic()
    connector = aiohttp.TCPConnector(local_addr=(address, 0), force_close=True)
    async with aiohttp.ClientSession(connector=connector) as session:
        try:
            async with asyncio.timeout(process_time.HANG), session.get(url + path) as answer:
                return answer.status, time.monotonic() - began
        except aiohttp.ClientError:
            return 0, time.monotonic() - began


async def _samples(urls: Sequence[str], count: int) -> list[list[tuple[int, float]]]:
    """Ask servers every 100 ms, in turn, whether they live and are ready.

    They are asked from here and from where the flood is.
    """
    found: list[list[tuple[int, float]]] = [[] for _ in urls]
    for number in range(count):
        address, path = ("127.0.0.1", "127.0.0.2")[number % 2], _HTTP[number // 2 % 2]
        for url, samples in zip(urls, found, strict=True):
            samples.append(await _sample(url, address, path))
        await asyncio.sleep(0.1)
    return found


def _quantile(samples: Sequence[tuple[int, float]]) -> float:
    return statistics.quantiles([seconds for _, seconds in samples], n=20)[-1]


@contextlib.asynccontextmanager
async def _given(
    base: Path,
) -> AsyncIterator[tuple[command_world.World, server_processes.ServerProcess]]:
    """Given: a server that has deployed the first version."""
    async with command_world.world(base, "us", speed=60.0) as world:

        def start(*words: str) -> contextlib.AbstractAsyncContextManager[command_world.Started]:
            return _start(world, *words)

        store = f"sqlite:{base}/volary.db"
        async with (
            server_processes.started(world, base, store, start=start) as server,
            asyncio.TaskGroup() as group,
        ):
            reading = group.create_task(_read(server.process))
            await server.synced()
            yield world, server
            reading.cancel()


async def test_half_sent_headers_stop_nobody(tmp_path: Path) -> None:
    async with _given(tmp_path) as (world, server):
        assert "connections at once are taken, not 2000" in server.process.said
        port = tmp_path / "port"
        before, said = _sockets(server), len(server.process.said)
        (alone,) = await _samples((server.url,), 20)
        async with (
            warm_processes.call("connection_flood:serve", str(port)),
            warm_processes.call("connection_flood:flood", server.url.rpartition(":")[2]),
        ):
            ended = 'volary_connections_ended_total{reason="room"}'
            await server.until(
                "/metrics", lambda text: _number(text, ended) > connection_flood.FIRST // 2
            )
            commit = world.edit("deployment.yaml", _V1, _V2, message="Deploy v2")
            await process_time.until(port.exists)
            calm = f"http://127.0.0.1:{port.read_text()}"
            flooded, others = await _samples((server.url, calm), 50)
            await server.synced(commit)
            most = _number((await server.get("/metrics"))[1], "volary_connections")
        log = len(server.process.said) - said

        # Everybody was heard within seconds, or as soon as this machine has anybody heard now;
        # connections without room are let go after half a minute.
        slowest = max(5.0, 10 * _quantile(others), 10 * _quantile(alone))
        assert [status for status, _ in flooded] == [200] * len(flooded)
        assert _quantile(flooded) < slowest, (alone, others, flooded)
        assert most <= _DESCRIPTORS // 2
        assert log < _LOG, server.process.said[-_LOG:]

        # And nothing of it is left.
        await process_time.until(lambda: _sockets(server) <= before)
        assert await server.get("/readyz") == (200, "ok\n")


async def test_without_a_descriptor_left_nothing_is_said_without_an_end(tmp_path: Path) -> None:
    """What cannot be taken is refused; with the next free descriptor everything goes on."""
    async with _given(tmp_path) as (_, server):
        pid, said = server.process.process.pid, len(server.process.said)
        last = max(int(each.name) for each in Path(f"/proc/{pid}/fd").iterdir())
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (last + 1, _DESCRIPTORS))
        async with aiohttp.ClientSession() as session, asyncio.timeout(process_time.HANG):
            # Streams are not ended for others: they take what is left.
            # The answer may be lost with the connection, when it came before the request.
            with contextlib.suppress(aiohttp.ClientError):
                while (await session.get(server.url + "/api/v1/events/stream")).status == 200:
                    pass
            short = {(await _sample(server.url, "127.0.0.2", "/healthz"))[0] for _ in range(30)}
        log = server.process.said[said:]
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (_DESCRIPTORS, _DESCRIPTORS))
        await server.until("/healthz", bool)
        await process_time.until(lambda: "are taken again" in server.process.said)
        (after,) = await _samples((server.url,), 10)

    # Where one was free for a moment, there was an answer.
    assert short <= {0, 200, 503}
    assert "no connection can be taken: Too many open files" in log
    assert len(log) < _LOG, log[-_LOG:]
    assert [status for status, _ in after] == [200] * len(after)


def _number(text: object, name: str) -> float:
    lines = [line for line in str(text).splitlines() if line.startswith(f"{name} ")]
    return float(lines[0].rpartition(" ")[2]) if lines else 0.0
