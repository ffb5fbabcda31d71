"""Recorded histories of run workflows, replayed: what was begun by an older version goes on.

Each release records some: ``python tests/unit/engine/temporal/test_histories.py VERSION`` (with
``tests`` and ``sandbox/tests`` on the path). A history of a released version that is not replayed
any more means that tasks under way are begun again at an upgrade: let the workflow do as before for
runs that began before (`workflow.patched`). Those of ``unreleased`` may be recorded anew.
"""

import asyncio
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

from temporalio import client, worker
from temporalio import workflow as workflows_of_sdk

import engine_clusters
import engine_world
import temporal_server
import temporal_world
from volary.engine.state_machine import events
from volary.engine.temporal import engine_hosts, payloads, workflows

HISTORIES = Path(__file__).parents[3] / "cases" / "temporal_histories"
CHANGELOG = Path(__file__).parents[4] / "CHANGELOG.md"


async def replay(text: str) -> None:
    replayer = worker.Replayer(
        workflows=[workflows.RunWorkflow],
        workflow_runner=engine_hosts.sandbox(),
        data_converter=payloads.CONVERTER,
    )
    await replayer.replay_workflow(client.WorkflowHistory.from_json("a-run", text))


@pytest.mark.parametrize("name", sorted(path.stem for path in HISTORIES.glob("*.json")))
async def test_a_recorded_history_is_replayed(name: str) -> None:
    await replay((HISTORIES / f"{name}.json").read_text())


async def test_a_workflow_that_does_something_else_is_noticed() -> None:
    text = (HISTORIES / "unreleased-rolled-back.json").read_text()

    with pytest.raises(workflows_of_sdk.NondeterminismError):
        await replay(text.replace("volary.keep_step", "volary.forget_step"))


def test_every_released_version_has_histories() -> None:
    released = re.findall(r"^## v?(\d+\.\d+\.\d+)", CHANGELOG.read_text(), re.MULTILINE)
    recorded = {path.stem.partition("-")[0] for path in HISTORIES.glob("*.json")}

    assert {*released, "unreleased"} <= recorded, f"record some: {__doc__}"


async def _rolled_back(world: temporal_world.TemporalWorld) -> str:
    """A run that fails on its second cluster."""
    run = temporal_world.planned(concurrency=1)
    await world.runner(run, engine_clusters.Clusters(eu=engine_clusters.broken)).carry_out()
    return run.id


async def _asked(world: temporal_world.TemporalWorld) -> str:
    """A run of which people ask this and that, until they end it."""
    run, clusters = temporal_world.planned(), engine_clusters.Clusters(us=engine_clusters.patient)
    async with asyncio.TaskGroup() as tasks:
        runner = world.runner(run, clusters)
        tasks.create_task(runner.carry_out())
        await clusters.until_started("us")
        for kind in (events.PauseAsked, events.Resume, events.Resume, events.Cancel):
            await runner.request(kind(engine_world.Clock().now(), "ann"))
    return run.id


async def _ordered(world: temporal_world.TemporalWorld) -> str:
    """A run whose first cluster is worked in by others."""
    run, orders = temporal_world.planned(concurrency=1), {"us": temporal_world.ORDER}
    beside = temporal_world.Beside(engine_clusters.Clusters())
    address = world.host.connection.service_client.config.target_host
    async with temporal_world.working(address, world.host.queues, beside):
        await world.runner(run, engine_clusters.Clusters(), orders=orders).carry_out()
    return run.id


STORIES = {"rolled-back": _rolled_back, "asked": _asked, "ordered": _ordered}


async def record(version: str) -> None:
    """Record the histories of some runs, as this version writes them."""
    for name, story in STORIES.items():
        with temporal_server.running() as server:
            async with temporal_world.opened(server.address) as world:
                workflow_id = world.host.queues.workflow_id(await story(world))
                handle = world.host.connection.get_workflow_handle(workflow_id)
                history = await handle.fetch_history()
        (HISTORIES / f"{version}-{name}.json").write_text(history.to_json() + "\n")


if __name__ == "__main__":
    asyncio.run(record(sys.argv[1]))
