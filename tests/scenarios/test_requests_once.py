"""Asked again and again, and controllers are killed at the commits of what is done."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

import command_world
from controller_process import ControllerProcesses
from controller_world import Clock
from killed_world import NAMES, SPEED, SYNCED, V1, V2, WORK, until
from volary.engine.persistence import codec
from volary.engine.runs import state
from volary.engine.state_machine import sightings
from volary.store import factory, records

TWO_GATES = """
apiVersion: pipecd.dev/v1beta1
kind: KubernetesApp
spec:
  name: simple
  planner: {alwaysUsePipeline: true}
  pipeline:
    stages:
    - {name: WAIT_APPROVAL, with: {approvers: [ana, bo]}}
    - {name: WAIT_APPROVAL, with: {approvers: [ana, bo]}}
    - {name: K8S_PRIMARY_ROLLOUT}
"""
FIRST, SECOND = "1-WAIT_APPROVAL", "2-WAIT_APPROVAL"
ONLY_WHEN_ASKED = """
apiVersion: pipecd.dev/v1beta1
kind: KubernetesApp
spec:
  name: simple
  trigger: {onCommit: {disabled: true}}
"""
#: An application's first release asks nobody: it is quick.
WAITS = "select max(id) from runs where status = 'waiting'"
ANSWERED = "select count(*) from requests where answered is not null"
KNOWN = "select count(*) from applications where status != ''"
REQUESTED = "select count(*) from applications where document like '%\"sync-1\"%'"
STEPS = "select coalesce(sum(version), 0) from runs"


async def looked_at(controllers: ControllerProcesses, run_id: str) -> state.Sighting:
    async with factory.open_store(controllers.address, clock=Clock()) as store:
        stored = await store.runs.load(run_id)
        assert stored is not None
        return sightings.of_run(codec.read_run(stored))


async def fire(
    controllers: ControllerProcesses, run_id: str, seen: state.Sighting, names: Sequence[str]
) -> None:
    """Have ana and bo approve what they saw, each again and again."""
    document = {"seen": msgspec.to_builtins(seen)}
    async with factory.open_store(controllers.address, clock=Clock()) as store:
        for place, name in enumerate(names):
            by = ("ana", "bo")[place % 2]
            await store.requests.ask(
                records.RequestRecord(
                    name, "approve", by, Clock().now(), "simple", run_id, document=document
                )
            )


def told(controllers: ControllerProcesses) -> dict[str, str]:
    query = "select id, refusal from requests where answered is not null"
    return dict(controllers.ask(query))


@pytest.mark.usefixtures("engine")
async def test_an_approval_passes_one_gate_however_often_it_is_sent(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, *NAMES, speed=SPEED) as world:
        shutil.copy(command_world.EXAMPLES / "simple" / "deployment.yaml", world.directory)
        controllers = ControllerProcesses(tmp_path / "volary.db", world.directory, world.fleet)
        async with controllers.started():
            await until(controllers, SYNCED, bool)
            world.write({"app.pipecd.yaml": TWO_GATES})
            world.edit("deployment.yaml", V1, V2, message="Deploy v2")
            run_id = await until(controllers, WAITS, bool)
        seen = await looked_at(controllers, run_id)
        assert seen.stage == FIRST

        # Killed at the commit of the step, which is that of its answer, and among the refusals.
        await fire(controllers, run_id, seen, [f"first-{number:02}" for number in range(25)])
        ((steps,),) = controllers.ask(STEPS)
        await controllers.run_until(STEPS, steps + 1)
        at_step = told(controllers)
        await controllers.run_until(ANSWERED, 4)
        among = told(controllers)
        async with controllers.started():
            await until(controllers, ANSWERED, lambda count: count == 25)
            second = await until_at(controllers, run_id, SECOND)
            # Those who saw the first gate, and press once more.
            await fire(controllers, run_id, seen, [f"late-{number:02}" for number in range(10)])
            await until(controllers, ANSWERED, lambda count: count == 35)
            after_first = told(controllers)
            given = controllers.ask("select stage from approvals order by position")
            await fire(controllers, run_id, second, ["second-1", "second-2"])
            await until(controllers, WORK, lambda open_runs: open_runs == 0)
            await until(controllers, ANSWERED, lambda count: count == 37)
            await until(controllers, SYNCED, bool)

        assert list(at_step.values()) == [""], "the step and its answer are one"
        assert at_step.items() <= among.items() <= after_first.items() <= told(controllers).items()
        assert given == [(FIRST,)]
        refused = [refusal for refusal in after_first.values() if refusal]
        assert len(refused) == 34
        assert {each.startswith(f"stage {FIRST} was approved by ") for each in refused} == {True}
        assert f"the run is at {SECOND}" in after_first["late-09"]
        assert controllers.ask("select stage from approvals order by position") == [
            (FIRST,),
            (SECOND,),
        ]
        assert world.images("us") == f"{V2} 2/2"


async def until_at(controllers: ControllerProcesses, run_id: str, stage: str) -> state.Sighting:
    query = f"select status from stages where run_id = '{run_id}' and id = '{stage}'"
    await until(controllers, query, lambda status: status == "waiting")
    seen = await looked_at(controllers, run_id)
    assert seen.stage == stage
    return seen


async def test_a_sync_is_requested_and_answered_at_once_and_never_again(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, *NAMES, speed=SPEED) as world:
        shutil.copy(command_world.EXAMPLES / "simple" / "deployment.yaml", world.directory)
        world.write({"app.pipecd.yaml": ONLY_WHEN_ASKED}, message="Wait to be asked")
        controllers = ControllerProcesses(tmp_path / "volary.db", world.directory, world.fleet)
        async with controllers.started():
            await until(controllers, KNOWN, lambda count: count == 1)
        async with factory.open_store(controllers.address, clock=Clock()) as store:
            asked = records.RequestRecord("sync-1", "sync", "ana", Clock().now(), "simple")
            await store.requests.ask(asked)

        # Killed at the commit of the request for a run, which is that of the answer.
        await controllers.run_until(REQUESTED, 1)
        heard, begun = told(controllers), controllers.ask("select count(*) from runs")
        async with controllers.started():
            await until(controllers, SYNCED, bool)
            await until(controllers, WORK, lambda open_runs: open_runs == 0)

        assert (heard, begun) == ({"sync-1": ""}, [(0,)])
        assert told(controllers) == heard
        assert controllers.ask("select id, status from runs") == [("sync-1", "succeeded")]
        assert world.images("us") == f"{V1} 2/2"
