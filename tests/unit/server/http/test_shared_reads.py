"""Many viewers of one thing cost the store what one does."""

import asyncio
import collections
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

import process_time
import server_world
from volary.controller.status import application_statuses
from volary.model import errors, server_settings
from volary.server import permissions, server_state, shared_reads
from volary.server.authorization import visibility
from volary.server.connections import bounds
from volary.store.sql.database import database
from volary.store.sql.repositories import runs

VIEWERS = 200


class Reads:
    """Counts the questions that the store is asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        real = database.Database.rows

        async def counted(base: database.Database, *arguments: Any) -> Any:
            self.count += 1
            return await real(base, *arguments)

        monkeypatch.setattr(database.Database, "rows", counted)


async def _event(answer: aiohttp.ClientResponse, wanted: str) -> None:
    async for line in answer.content:
        if line.startswith(f"event: {wanted}".encode()):
            return
    pytest.fail(f"it ended before {wanted}")


async def _reads_of(
    world: server_world.Served, reads: Reads, viewers: int, path: str, header: dict[str, str]
) -> int:
    """Return how often the store was read for so many viewers to see three more events."""
    connector = aiohttp.TCPConnector(limit=0)
    async with (
        asyncio.timeout(process_time.HANG),
        aiohttp.ClientSession(connector=connector) as session,
    ):
        answers = await asyncio.gather(
            *(session.get(world.url + path, headers=header) for _ in range(viewers))
        )
        before = 0
        for version, event in enumerate(("first", "second", "third"), start=1):
            before = reads.count
            await world.tell("going", version, event)
            await asyncio.gather(*(_event(answer, event) for answer in answers))
        # Of the last one: by then all of them are at one place.
        asked = reads.count - before
        for answer in answers:
            answer.close()
    return asked


@pytest.mark.parametrize("path", ["runs/going/events/stream", "events/stream"])
@pytest.mark.parametrize("labels", [{}, {"team": "shop"}], ids=["everything", "one team"])
async def test_two_hundred_viewers_cost_the_store_what_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, labels: dict[str, str]
) -> None:
    reads, asked = Reads(monkeypatch), {}
    allowance = bounds.derive(server_settings.Limits(streams_per_person=1000), 10_000)
    patience = server_state.StreamTimeouts(heartbeat=3600)
    for viewers in (1, VIEWERS):
        directory = tmp_path / str(viewers)
        async with server_world.served(directory, patience, allowance) as world:
            await world.keep_run("going", "web", ended=False)
            header = world.token("viewer", **labels)
            asked[viewers] = await _reads_of(world, reads, viewers, f"/api/v1/{path}", header)

    # A moment may end while the viewers are served, and the server looks by itself as well.
    assert asked[VIEWERS] <= asked[1] + 12, asked


async def test_a_read_is_shared_for_a_moment_and_never_after_a_change() -> None:
    asked: collections.Counter[str] = collections.Counter()
    changes = 0
    reads = shared_reads.SharedReads(lambda: changes)

    async def read() -> int:
        asked["read"] += 1
        await asyncio.sleep(0)
        return asked["read"]

    together = await asyncio.gather(*(reads.read("a", read) for _ in range(10)))
    changes += 1
    after = await reads.read("a", read)
    other = await reads.read("b", read)

    assert together == [1] * 10 or len(set(together)) <= 2
    assert after > max(together)
    assert other > after


async def test_who_leaves_while_reading_takes_nobody_along() -> None:
    reads, begun = shared_reads.SharedReads(lambda: 0), asyncio.Event()

    async def never() -> int:
        begun.set()
        await asyncio.Event().wait()
        return 0

    async def at_once() -> int:
        return 1

    async with asyncio.TaskGroup() as group:
        first = group.create_task(reads.read("a", never))
        await begun.wait()
        second = group.create_task(reads.read("a", at_once))
        await asyncio.sleep(0)
        first.cancel()

    assert second.result() == 1


async def test_a_store_that_is_away_is_asked_once() -> None:
    reads, asked = shared_reads.SharedReads(lambda: 0), 0

    async def fail() -> int:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0)
        raise errors.TemporaryError("away")

    failures = await asyncio.gather(
        *(reads.read("a", fail) for _ in range(20)), return_exceptions=True
    )

    assert {type(each) for each in failures} == {errors.TemporaryError}
    assert asked <= 2


@pytest.mark.parametrize("path", ["applications", "applications/web", "runs/going"])
async def test_the_leader_reads_once_until_something_is_stored_and_others_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(shared_reads, "LONGEST", 3600.0)
    asked, real = 0, runs.Runs.load

    async def counted(repository: runs.Runs, run_id: str) -> Any:
        nonlocal asked
        asked += 1
        return await real(repository, run_id)

    async with server_world.served(tmp_path) as world:
        await world.keep_run("going", "web", ended=False)
        known = await world.service.store.applications.get("web")
        assert known is not None
        under_way = application_statuses.ApplicationStatus(run="going", under_way=True)
        await world.service.store.applications.keep(
            replace(known, status="running", document=application_statuses.to_document(under_way)),
            fence=None,
        )
        monkeypatch.setattr(runs.Runs, "load", counted)
        header, taken = world.token("viewer", team="shop"), []
        for is_leader in (True, False):
            world.service.fleet.register.is_leader = is_leader
            world.service.kept.notify_all()
            before = asked
            answers = [await world.ask("GET", f"/api/v1/{path}", headers=header) for _ in range(10)]
            assert [status for status, _ in answers] == [200] * 10
            taken.append(asked - before)
        world.service.fleet.register.is_leader = True
        before = asked
        for version in (1, 2, 3):
            await world.tell("going", version, "something")
            await world.ask("GET", f"/api/v1/{path}", headers=header)

    # The server itself may say beside that something was stored.
    assert taken[0] < 5 <= taken[1], taken
    assert asked - before >= 3


async def test_what_streams_found_missing_is_not_found_by_the_route_either(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        seen = visibility.Visibility(
            permissions.Person("token:ana"),
            world.service,
            reads=world.application.state.server_state.reads,
        )
        assert not await seen.can_see("gone")
        status, _ = await world.ask("GET", "/api/v1/applications/gone")

    assert status == 404
