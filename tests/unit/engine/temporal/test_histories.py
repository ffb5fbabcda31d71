"""Recorded histories of run workflows, replayed: what was begun by an older version goes on.

A history that is not replayed any more means that runs under way would stop at an upgrade. Do not
record it anew: let the workflow do as before for runs that began before (`workflow.patched`), and
add a history of the new form with ``python tests/unit/engine/temporal/test_histories.py NAME``.
"""

import asyncio
import sys
from pathlib import Path

import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

from temporalio import client, worker
from temporalio import workflow as workflows_of_sdk

from volary.engine.temporal import engine_hosts, payloads, workflows

HISTORIES = Path(__file__).parents[3] / "cases" / "temporal_histories"


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
    text = (HISTORIES / "rolled-back.json").read_text()

    with pytest.raises(workflows_of_sdk.NondeterminismError):
        await replay(text.replace("volary.keep_step", "volary.forget_step"))


async def record(name: str) -> None:
    """Record the history of a run that fails on its second cluster and is rolled back.

    Called ``ordered`` its first cluster is worked in by others.
    """
    import engine_clusters
    import temporal_server
    import temporal_world

    run, at = temporal_world.planned(concurrency=1), temporal_world.queues()
    orders = {"us": temporal_world.ORDER} if name == "ordered" else {}
    with temporal_server.running() as server:
        beside = temporal_world.Beside(engine_clusters.Clusters())
        async with (
            temporal_world.opened(server.address, at=at) as world,
            temporal_world.working(server.address, at, beside),
        ):
            broken = {} if orders else {"eu": engine_clusters.broken}
            clusters = engine_clusters.Clusters(**broken)
            await world.runner(run, clusters, orders=orders).carry_out()
            workflow_id = world.host.queues.workflow_id(run.id)
            history = await world.host.connection.get_workflow_handle(workflow_id).fetch_history()
    (HISTORIES / f"{name}.json").write_text(history.to_json() + "\n")


if __name__ == "__main__":
    asyncio.run(record(sys.argv[1]))
