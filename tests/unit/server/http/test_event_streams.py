import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

import process_time
import server_world
from volary.model import server_settings
from volary.server import server_state

RUN = "/api/v1/runs/going/events/stream"


async def _pieces(answer: aiohttp.ClientResponse) -> AsyncIterator[dict[str, str]]:
    fields: dict[str, str] = {}
    async for raw in answer.content:
        line = raw.decode().rstrip("\n")
        if line:
            key, _, value = line.partition(": ")
            fields[key] = value
        elif fields:
            yield fields
            fields = {}


async def _read(world: server_world.Served, path: str, most: int = 100, **headers: str) -> Any:
    found: list[dict[str, str]] = []
    async with (
        asyncio.timeout(process_time.HANG),
        world.session.get(world.url + path, headers=headers) as answer,
    ):
        async for piece in _pieces(answer):
            if "event" in piece:
                found.append(piece)
            if len(found) >= most:
                break
    return found


async def test_a_run_is_followed_to_its_end_and_taken_up_where_it_was(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        await world.keep_run("going", "web", ended=False)
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(_read(world, RUN))
            await asyncio.sleep(0.1)
            await world.tell("going", 1, "run-changed")
            await world.tell("going", 2, "run-finished")
        whole = reading.result()
        rest = await _read(world, RUN, **{"Last-Event-ID": whole[-2]["id"]})

    assert [each["event"] for each in whole][-2:] == ["run-changed", "run-finished"]
    assert [each["id"] for each in whole] == [str(n) for n in range(1, len(whole) + 1)]
    assert rest == whole[-1:]


async def test_a_run_that_has_ended_and_was_read_has_nothing_more(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        path = world.url + "/api/v1/runs/run-web/events/stream?after=1000"
        async with world.session.get(path) as answer:
            assert answer.status == 204
        wrong, said = await world.ask(
            "GET", "/api/v1/runs/run-web/events/stream", headers={"last-event-id": "x"}
        )

    assert wrong == 400
    assert "Last-Event-ID" in said["detail"]


async def test_logs_are_followed_until_the_run_ends(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        await world.say("run-web", "one", "two\x1b[31m")
        lines = await _read(world, "/api/v1/runs/run-web/logs/stream")
        none = await _read(world, "/api/v1/runs/run-web/logs/stream?cluster=eu")

    assert [each["event"] for each in lines] == ["line", "line", "end"]
    assert "\x1b" not in lines[1]["data"]
    assert [each["event"] for each in none] == ["end"]


async def test_everything_is_followed_from_now_on_and_only_what_may_be_seen(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        shop = world.token("viewer", team="shop")
        await world.keep_run("a", "web", ended=False)
        await world.keep_run("b", "pay", ended=False)
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(_read(world, "/api/v1/events/stream", 1, **shop))
            await asyncio.sleep(0.2)
            await world.tell("b", 1, "run-changed")
            await world.tell("a", 1, "run-changed")

    assert '"application":"web"' in reading.result()[0]["data"]


async def test_only_events_of_a_cluster_are_followed_where_one_is_given(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        await world.keep_run("a", "web", ended=False)
        for version, target in enumerate(("us", "", "eu"), start=1):
            await world.tell("a", version, "task-started", target=target)
        (event,) = await _read(world, "/api/v1/events/stream?after=0&cluster=eu", 1)

    assert '"target":"eu"' in event["data"]


async def test_a_quiet_stream_shows_that_it_lives_and_ends_with_the_server(tmp_path: Path) -> None:
    patience = server_state.StreamTimeouts(heartbeat=0.05)
    async with server_world.served(tmp_path, patience) as world:
        answer = await world.session.get(world.url + "/api/v1/events/stream")
        async with asyncio.timeout(5):
            while (await answer.content.readline()) != b": still here\n":
                pass
            world.application.state.server_state.stopping.set()
            rest = await answer.content.read()

    assert b"event: closing" in rest


async def test_a_reader_that_takes_nothing_is_let_go(tmp_path: Path) -> None:
    patience = server_state.StreamTimeouts(heartbeat=0.05, slowest_reader=0.2, close_timeout=0.1)
    async with server_world.served(tmp_path, patience) as world:
        here = world.application.state.server_state
        await world.say("run-web", *("x" * 3000 for _ in range(1500)))
        reader = socket.socket()
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.setblocking(False)
        with reader:
            loop = asyncio.get_running_loop()
            await loop.sock_connect(reader, ("127.0.0.1", int(world.url.rpartition(":")[2])))
            request = "GET /api/v1/runs/run-web/logs/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
            await loop.sock_sendall(reader, request.encode())
            dropped = "volary_streams_dropped_total"
            await process_time.until(
                lambda: here.metrics.registry.get_sample_value(dropped) and not here.streams.taken
            )

    assert here.metrics.registry.get_sample_value(dropped) == 1
    assert here.streams.holders == here.streams_of_people.holders == 0


async def test_one_stream_too_many_of_everybody_is_asked_to_come_back(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        here = world.application.state.server_state
        here.streams.take("others", here.bounds.streams, share=here.bounds.streams)
        async with world.session.get(world.url + "/api/v1/events/stream") as answer:
            said = await answer.json()

    assert (answer.status, answer.headers["retry-after"]) == (503, "10")
    assert said["detail"] == "too many streams are open"


async def test_a_person_takes_no_stream_from_another(tmp_path: Path) -> None:
    """And one that was closed makes room for a new one."""
    limits = server_settings.Limits(streams_per_person=2)
    path = "/api/v1/events/stream"
    async with server_world.served(tmp_path, limits=limits) as world:
        ana, bob = world.token("viewer", "ana"), world.token("viewer", "bob")
        first, second = [await world.session.get(world.url + path, headers=ana) for _ in range(2)]
        status, said = await world.ask("GET", path, headers=ana)
        assert status == 429
        assert "a person may have 2 open" in said["hint"]
        async with world.session.get(world.url + path, headers=bob) as other:
            assert other.status == 200
        first.close()
        here = world.application.state.server_state
        await process_time.until(lambda: here.streams.taken == 1)
        async with world.session.get(world.url + path, headers=ana) as again:
            assert again.status == 200
        second.close()
