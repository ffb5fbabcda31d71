"""A broken version was written when the process went: the next one takes it back everywhere."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import command_world
import process_time
from controller_process import ControllerProcesses
from killed_world import NAMES, SPEED, SYNCED, V1, V2, WORK, state_of, until
from kube_sandbox.apiserver.storage import storage

_APPLICATION = """
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {kind: Service, name: simple}
  workloads: [{kind: Deployment, name: simple}]
  pipeline: {stages: [{name: K8S_PRIMARY_ROLLOUT}]}
"""


def prepared(world: command_world.World) -> None:
    """The application is promoted in one stage; no image of v2 can be pulled anywhere."""
    (world.directory / "app.pipecd.yaml").unlink()
    world.write({"volary.yaml": _APPLICATION}, message="One stage")
    for name in NAMES:
        world.running.clusters[name].faults.images.add("*/simple:v2", "bad")


@contextlib.contextmanager
def when_written(world: command_world.World) -> Iterator[asyncio.Event]:
    """Every cluster has stored v2 of primary; who wrote it may not have heard so."""
    waiting, happened = set(NAMES), asyncio.Event()

    with contextlib.ExitStack() as stack:
        for name in NAMES:

            def stored(change: storage.Change, name: str = name) -> None:
                body = change.item.body
                if body["kind"] == "Deployment" and V2 in str(body["spec"]["template"]):
                    waiting.discard(name)
                if not waiting:
                    happened.set()

            stack.callback(world.running.clusters[name].registry.subscribe(stored))
        yield happened


@pytest.mark.parametrize("signal_sent", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.usefixtures("engine")
async def test_a_controller_that_restarts_takes_back_what_the_one_before_it_wrote(
    tmp_path: Path, signal_sent: signal.Signals
) -> None:
    """Killed or told to end: what it had written looks unchanged to the next one."""
    async with command_world.world(tmp_path, *NAMES, speed=SPEED) as world:
        prepared(world)
        controllers = ControllerProcesses(tmp_path / "volary.db", world.directory, world.fleet)
        async with controllers.started():
            await until(controllers, SYNCED, bool)
        await world.settled()
        before = state_of(world)

        async with controllers.started() as process:
            with when_written(world) as written:
                world.edit("deployment.yaml", V1, V2, message="Deploy a broken v2")
                async with asyncio.timeout(process_time.HANG):
                    await written.wait()
            os.kill(process, signal_sent)
            if signal_sent is not signal.SIGKILL:
                await process_time.until(lambda: not Path(f"/proc/{process}/fd").exists())
        assert controllers.ask(WORK) == [(1,)], "nobody decided anything yet"
        async with controllers.started():
            await until(controllers, WORK, lambda open_runs: open_runs == 0)

        [_, (status, reason)] = controllers.ask("select status, reason from runs order by created")
        assert status == "rolled_back", reason
        assert "rollback verified on us and eu" in reason
        for name in NAMES:
            assert world.images(name) == f"{V1} 2/2"
        await world.settled()
        assert state_of(world) == before


async def test_volary_run_that_goes_on_takes_back_what_the_killed_one_wrote(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, *NAMES, speed=SPEED) as world:
        prepared(world)
        await world.deployed()
        await world.settled()
        before = state_of(world)
        world.edit("deployment.yaml", V1, V2, message="Deploy a broken v2")
        async with world.start("run", ".", "--fleet", world.fleet) as started:
            with when_written(world) as written:
                async with asyncio.timeout(process_time.HANG):
                    await written.wait()
            started.interrupt(signal.SIGKILL)
            await started.ended()

        ended = await world.run("--output", "json")

        assert ended.code == 1, ended
        last = ended.events[-1]
        assert (last["event"], last["status"]) == ("run-finished", "rolled_back")
        assert last["touched"] == list(NAMES)
        for name in NAMES:
            assert world.images(name) == f"{V1} 2/2"
        await world.settled()
        assert state_of(world) == before
