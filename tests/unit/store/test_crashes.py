"""Killed at any moment: the run and its feed agree."""

import asyncio
import random
import sys
from pathlib import Path

import pytest

import process_time
import store_fixtures as given
import store_writer
from volary.engine.persistence import codec
from volary.store import factory, stores

WRITER = Path(store_writer.__file__)


async def start(address: str, seed: int, *mode: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(WRITER),
        address,
        str(seed),
        *mode,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )


async def hear(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(process_time.HANG):
        return (await process.stdout.readline()).decode().strip()


async def end(process: asyncio.subprocess.Process) -> int:
    if process.returncode is None:
        process.kill()
    await process.communicate()
    return await process.wait()


async def assert_agreement(store: stores.Store) -> int:
    """Follow the feed: it leads to the run that is stored."""
    stored = await store.runs.load("run-1")
    assert stored is not None
    run = codec.read_run(stored)
    told = [
        event
        for part in range(100)
        for event in await store.events.after("run-1", part * 100, limit=100)
    ]
    started, ended = {}, {}
    for event in told:
        document = event.record.document
        if event.record.event == "task-started":
            started[document["stage"], document["target"]] = document["attempt"]
            ended.pop((document["stage"], document["target"]), None)
        if event.record.event == "task-finished":
            outcome = (document["status"], document["reason"])
            ended[document["stage"], document["target"]] = outcome
    tasks = {(stage.id, task.target): task for stage in run.all_stages for task in stage.tasks}

    assert [event.number for event in told] == list(range(1, stored.last_event + 1))
    assert started == {key: task.attempt for key, task in tasks.items() if task.attempt}
    assert ended == {
        key: (task.status, task.reason) for key, task in tasks.items() if task.is_final
    }
    return stored.version


@pytest.mark.parametrize("seed", [1])
async def test_a_process_killed_at_random_leaves_whole_steps(tmp_path: Path, seed: int) -> None:
    address = f"sqlite:{tmp_path / 'volary.db'}"
    dice = random.Random(seed)
    reached = 0
    for turn in range(3):
        process = await start(address, seed + turn)
        heard = ""
        try:
            for _ in range(dice.randrange(3, 30)):
                heard = await hear(process)
            # Somewhere within the next steps, also in mid-commit.
            await asyncio.sleep(dice.random() * 0.02)
        finally:
            await end(process)
        async with factory.open_store(address, clock=given.TurnedClock()) as store:
            version = await assert_agreement(store)
        assert heard.startswith("kept"), heard
        assert version >= int(heard.split()[1]), "what was called safe is there"
        assert version > reached
        reached = version


async def test_a_process_that_was_overtaken_writes_nothing(database_address: str) -> None:
    process = await start(database_address, 7, "step")
    clock = given.TurnedClock()
    try:
        assert process.stdin is not None
        assert await hear(process) == "ready"
        process.stdin.write(b"\n")
        assert await hear(process) == "kept 2"
        assert await hear(process) == "ready"
        async with factory.open_store(database_address, clock=clock, lease_clock=clock) as store:
            clock.time = store_writer.RealClock().now()
            assert await store.leases.acquire("drive", "other", given.timedelta(minutes=1)) is None
            clock.turn(minutes=2)
            assert await store.leases.acquire("drive", "other", given.timedelta(minutes=1))
            process.stdin.write(b"\n")

            assert await hear(process) == "overtaken: another process took over the lease drive"
            async with asyncio.timeout(process_time.HANG):
                assert await process.wait() == 3
            assert await assert_agreement(store) == 2
    finally:
        await end(process)
