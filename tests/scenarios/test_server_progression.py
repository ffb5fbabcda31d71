"""Stages that take their time under a server: killed in their middle, and kept within bounds."""

import asyncio
import contextlib
from pathlib import Path

import command_world
import process_time
from controller_process import ControllerProcesses
from controller_world import controlled

SPEED = 60.0
V1, V2 = "example/simple:v1", "example/simple:v2"

GRADUAL = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {name: simple}
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 100%}}
    - {name: K8S_PROGRESSIVE_TRAFFIC, with: {interval: 1s, iterations: 3}}
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
"""
SCRIPTED = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {name: simple}
  pipeline:
    stages:
    - name: SCRIPT_RUN
      with:
        run: |
          echo "on behalf of $SR_TRIGGERED_COMMANDER, $(ls | grep -c yaml) files"
          echo "$SR_REPOSITORY_URL"
    - {name: K8S_PRIMARY_ROLLOUT}
"""


def describe(world: command_world.World, text: str) -> None:
    (world.directory / "app.pipecd.yaml").unlink()
    world.write({"volary.yaml": text}, message="Describe it")


async def until(controllers: ControllerProcesses, query: str, wanted: object) -> None:
    """Look into the database until the single value of `query` is so."""
    value: object = None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(process_time.HANG):
            while value != wanted:
                rows = controllers.ask(query)
                value = rows[0][0] if rows else None
                await asyncio.sleep(0.01)
    assert value == wanted, f"{query} stayed {value!r}"


async def test_a_controller_killed_in_mid_progress_goes_on_from_there(tmp_path: Path) -> None:
    synced = "select running_commit from applications where status = 'synced'"
    remembered = "select count(*) from task_states where document like '%\"iterations\":2%'"
    async with (
        command_world.world(tmp_path, "us", "eu", speed=SPEED) as world,
    ):
        describe(world, GRADUAL)
        controllers = ControllerProcesses(tmp_path / "volary.db", world.directory, world.fleet)
        async with controllers.started():
            await until(controllers, "select status from applications", "synced")
        second = world.edit("deployment.yaml", V1, V2, message="Deploy v2")
        await controllers.run_until(remembered, 2)
        async with controllers.started():
            await until(controllers, synced, second)
        lines = [line for (line,) in controllers.ask("select text from logs")]
        runs = controllers.ask("select status from runs order by created")
        for name in ("us", "eu"):
            assert world.images(name) == f"{V2} 2/2"
    assert runs == [("succeeded",), ("succeeded",)]
    assert sum("going on at" in line for line in lines) == 2
    assert sum("iteration 2/3" in line for line in lines) <= 2


async def test_a_server_runs_no_scripts_unless_it_is_told_to(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", speed=SPEED) as world:
        describe(world, SCRIPTED)
        store = f"sqlite:{tmp_path}/volary.db"
        async with controlled(world, store=store) as given:
            await given.until_application(lambda each: each.status == "synced")
            given.push(V1, V2)
            found = await given.until_application(lambda each: "scripts" in each.reason)
            assert "this server runs no scripts" in found.reason
            assert world.images("us") == f"{V1} 2/2"
        async with controlled(world, store=store, scripts=True) as given:
            await given.synced(given.push(V2, "example/simple:v3"))
            (run, *_) = await given.runs()
            lines = [each.text for each in await given.logs(run.id)]
    assert any("4 files" in each for each in lines), lines
