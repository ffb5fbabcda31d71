"""A run that one version of the workflow began goes on under another one."""

import asyncio
from collections.abc import Callable

import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

import changed_workflows
import engine_clusters
import engine_world
import temporal_server
from engine_clusters import Clusters
from volary.engine.execution import runners
from volary.engine.runs import state
from volary.engine.temporal import workflows
from volary.model.statuses import RunStatus

Make = Callable[..., state.Run]


async def begun(place: engine_world.Place, run: state.Run) -> None:
    """Begin a run, and leave it in the middle of its first task."""
    clusters = Clusters(us=engine_clusters.deaf)
    async with (
        engine_world.opened(place, heartbeat_seconds=2) as world,
        asyncio.TaskGroup() as tasks,
    ):
        carried = tasks.create_task(world.runner(run, clusters).carry_out())
        await clusters.until_started("us")
        carried.cancel()


async def test_a_version_that_replays_the_history_goes_on_with_it(
    temporal: temporal_server.Server, planned_run: Make
) -> None:
    place, run, clusters = engine_world.Place(temporal.address), planned_run(("us",)), Clusters()
    await begun(place, run)

    async with engine_world.opened(place, heartbeat_seconds=2) as world:
        ended = await world.runner(run, clusters).carry_out()

    assert ended.status is RunStatus.SUCCEEDED


async def test_a_version_that_cannot_replay_the_history_goes_on_from_what_was_kept(
    temporal: temporal_server.Server, planned_run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is interrupted once, and nothing of it is done in another order."""
    place, run, clusters = engine_world.Place(temporal.address), planned_run(("us",)), Clusters()
    await begun(place, run)
    monkeypatch.setattr(workflows, "RunWorkflow", changed_workflows.RunWorkflow)

    async with engine_world.opened(place, heartbeat_seconds=2) as world:
        with pytest.raises(runners.Interrupted, match=r"(?i)nondeterminism"):
            await world.runner(run, clusters).carry_out()
        ended = await world.runner(run, clusters).carry_out()

    assert ended.status is RunStatus.SUCCEEDED
    assert [each[:2] for each in clusters.started] == [
        ("1-K8S_CANARY_ROLLOUT", "us"),
        ("2-K8S_PRIMARY_ROLLOUT", "us"),
    ]
    versions = [step.expected_version for step in place.keeper.steps]
    assert versions == list(range(1, len(versions) + 1))
