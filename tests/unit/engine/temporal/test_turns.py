"""Tasks that wait for their turn: of one run only so many are under way at once."""

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

from temporalio import client

import engine_clusters
import temporal_server
import temporal_world
from engine_clusters import Clusters
from volary.engine import executor
from volary.engine.observers import feed
from volary.engine.runs import state
from volary.engine.state_machine import events
from volary.engine.temporal import documents
from volary.model import statuses
from volary.model.statuses import RunStatus

Make = Callable[..., state.Run]
Server = temporal_server.Server
NAMES = ("a", "b", "c", "d", "e")


class Crowd:
    """Counts who is under way at once."""

    def __init__(self) -> None:
        self.most = 0
        self._now = 0

    async def behave(
        self, task: executor.TaskContext, report: executor.Reporter
    ) -> statuses.Outcome:
        self._now += 1
        self.most = max(self.most, self._now)
        await asyncio.sleep(0.1)
        self._now -= 1
        return await engine_clusters.quick(task, report)


async def test_so_many_tasks_are_under_way_at_once_in_order(
    temporal: Server, planned_run: Make
) -> None:
    run, crowd = planned_run(NAMES), Crowd()
    clusters = Clusters(**dict.fromkeys(NAMES, crowd.behave))

    async with temporal_world.opened(temporal.address, most_tasks=2) as world:
        ended = await world.runner(run, clusters).carry_out()

    assert ended.status is RunStatus.SUCCEEDED
    assert crowd.most == 2
    stages = [stage for stage, _, _ in clusters.started]
    assert stages == sorted(stages)
    assert sorted(clusters.started[: len(NAMES)]) == [(stages[0], name, 1) for name in NAMES]
    # Two at once may begin in either order, and no more than that.
    assert {target for _, target, _ in clusters.started[:2]} == {"a", "b"}
    assert clusters.started[4][1] in {"d", "e"}


async def test_in_one_workflow_task_only_so_many_are_begun(
    temporal: Server, planned_run: Make
) -> None:
    """Nobody takes them, so all that may be begun are under way until somebody stops them."""
    run = planned_run([f"cluster-{number}" for number in range(220)])

    async with (
        temporal_world.opened(temporal.address, most_tasks=210) as world,
        asyncio.TaskGroup() as tasks,
    ):
        runner = world.runner(run, Clusters(), orders=temporal_world.elsewhere(world, run))
        carried = tasks.create_task(runner.carry_out())
        handle = world.host.connection.get_workflow_handle(world.host.queues.workflow_id(run.id))
        while await under_way(handle) < 210:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.2)
        begun = await begun_by(handle)
        cancel = events.Cancel(temporal_world.WallClock().now(), "ann", rollback=False)
        assert await runner.request(cancel) == ""

    assert carried.result().status is RunStatus.CANCELLED
    assert carried.result().touched == ()
    assert max(Counter(begun).values()) == 200
    assert len(await begun_by(handle)) == 210


async def under_way(handle: client.WorkflowHandle[object, object]) -> int:
    """Return how many tasks nobody has ended."""
    try:
        described = await handle.describe()
    except temporal_world.RPCError:  # it has not been started yet
        return 0
    return len(described.raw_description.pending_activities)


async def begun_by(handle: client.WorkflowHandle[object, object]) -> list[int]:
    """Return of each task that was begun the end of the workflow task that did it."""
    return [
        told.workflow_task_completed_event_id
        for event in (await handle.fetch_history()).events
        if (told := event.activity_task_scheduled_event_attributes).activity_type.name
        == documents.PERFORM_TASK
    ]


@pytest.mark.parametrize("now", [False, True])
async def test_a_task_that_waits_is_stopped_as_one_that_was_not_begun(
    temporal: Server, planned_run: Make, now: bool
) -> None:
    run, listener = planned_run(NAMES), engine_clusters.Listener()
    clusters = Clusters(a=engine_clusters.patient)

    async with (
        temporal_world.opened(temporal.address, most_tasks=1, heartbeat_seconds=2) as world,
        asyncio.TaskGroup() as tasks,
    ):
        runner = world.runner(run, clusters, listener)
        carried = tasks.create_task(runner.carry_out())
        await clusters.until_started("a")
        cancel = events.Cancel(temporal_world.WallClock().now(), "ann", rollback=False, now=now)
        assert await runner.request(cancel) == ""

    ended = carried.result()
    assert ended.status is RunStatus.CANCELLED
    assert ended.touched == ("a",)
    # A machine that stands still loses its task, which is begun again.
    assert {target for _, target, _ in clusters.started} == {"a"}
    finished = {each.target: each for each in listener.told if isinstance(each, feed.TaskFinished)}
    assert {finished[name].reason for name in NAMES[1:]} == {"broken off before it began"}


async def test_what_waits_behind_a_failure_is_not_begun_any_more(
    temporal: Server, planned_run: Make
) -> None:
    run, clusters = planned_run(NAMES), Clusters(a=engine_clusters.broken)

    async with temporal_world.opened(temporal.address, most_tasks=1) as world:
        ended = await world.runner(run, clusters).carry_out()

    assert ended.status is RunStatus.ROLLED_BACK
    rolled_back = [target for stage, target, _ in clusters.started if stage == state.ROLLBACK_ID]
    begun = {target for stage, target, _ in clusters.started if stage != state.ROLLBACK_ID}
    # The next one may have begun before the failure was kept.
    assert set(rolled_back) == begun
    assert begun <= {"a", "b"}


async def test_stages_go_on_in_new_histories_also_where_tasks_wait(
    temporal: Server, planned_run: Make
) -> None:
    run, clusters = planned_run(NAMES), Clusters()

    async with temporal_world.opened(temporal.address, most_events=10, most_tasks=2) as world:
        ended = await world.runner(run, clusters).carry_out()
        handle = world.host.connection.get_workflow_handle(world.host.queues.workflow_id(run.id))
        described = await handle.describe()

    assert ended.status is RunStatus.SUCCEEDED
    assert described.run_id != described.raw_description.workflow_execution_info.first_run_id
    assert len(clusters.started) == len(set(clusters.started)) == 2 * len(NAMES)


async def test_a_cluster_that_nobody_works_in_is_waited_for_from_its_turn_on(
    temporal: Server, planned_run: Make
) -> None:
    run, waits = planned_run(("a", "b")), timedelta(seconds=1)

    async def long(task: executor.TaskContext, report: executor.Reporter) -> statuses.Outcome:
        await asyncio.sleep(2 * waits.total_seconds())
        return await engine_clusters.quick(task, report)

    async with temporal_world.opened(temporal.address, most_tasks=1) as world:
        world.host.untaken_seconds = waits.total_seconds()
        orders = {"b": temporal_world.ORDER}
        ended = await world.runner(run, Clusters(a=long), orders=orders).carry_out()
        handle = world.host.connection.get_workflow_handle(world.host.queues.workflow_id(run.id))
        history = await handle.fetch_history()

    assert "no agent or worker of b takes tasks" in ended.reason
    at = {event.event_id: event.event_time.ToDatetime() for event in history.events}
    (given_up,) = [
        event.activity_task_timed_out_event_attributes.scheduled_event_id
        for event in history.events
        if event.HasField("activity_task_timed_out_event_attributes")
    ]
    (gave_up,) = [
        event.event_id
        for event in history.events
        if event.HasField("activity_task_timed_out_event_attributes")
    ]
    (first, *_) = [
        event.event_id
        for event in history.events
        if event.HasField("activity_task_completed_event_attributes")
        and (began := event.activity_task_completed_event_attributes.scheduled_event_id)
        and history.events[began - 1].activity_task_scheduled_event_attributes.activity_type.name
        == documents.PERFORM_TASK
    ]
    assert first < given_up
    assert at[gave_up] - at[given_up] >= waits
