"""Killed at any moment: the run, its journal, its feed and its commands agree."""

import asyncio
import random
import sys
from pathlib import Path

import pytest

import process_time
import store_fixtures as given
import store_writer
from volary.engine.observers import feed, observer_events
from volary.engine.persistence import codec, transitions
from volary.engine.state_machine import machine
from volary.store import factory, protocol

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


async def assert_agreement(store: protocol.Store) -> int:
    """Play the journal again: it leads to what is stored."""
    stored = await store.runs.load("run-1")
    assert stored is not None
    journal = [entry for part in range(100) for entry in await _part(store.events.journal, part)]
    run = store_writer.new_run()
    told = []
    for version, document in journal:
        event = codec.read_event(document)
        step = machine.advance(run, event)
        told += observer_events.between(run, step.run, event.at)
        run = step.run
        assert not step.refusal, (version, step.refusal)
    commands = {each.key: codec.read_command(each.document) for each in stored.commands}
    events = [each for part in range(100) for each in await _part(store.events.after, part)]

    assert [version for version, _ in journal] == list(range(2, stored.version + 1))
    assert codec.read_run(stored) == run
    assert commands == {transitions.command_key(each): each for each in machine.outstanding(run)}
    assert [each.number for each in events] == list(range(1, stored.last_event + 1))
    assert [each.record.document | {"number": 0} for each in events] == [
        feed.to_json(each) for each in told
    ]
    return stored.version


async def _part(read, part: int):  # type: ignore[no-untyped-def]
    """Read a long list in parts of 100."""
    if read.__name__ == "journal":
        return await read("run-1", after=1 + part * 100, limit=100)
    return await read("run-1", part * 100, limit=100)


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
        async with factory.open_store(database_address, clock=clock) as store:
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
