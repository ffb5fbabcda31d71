"""What cannot be carried out: the run is interrupted or fails with a sentence, others go on."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

from temporalio import client
from temporalio.api.common.v1 import Payload

import engine_clusters
import temporal_server
import temporal_world
from engine_clusters import Clusters
from volary.engine.execution import runners
from volary.engine.observers import feed
from volary.engine.persistence import pieces
from volary.engine.runs import policies, state
from volary.engine.state_machine import events
from volary.engine.temporal import documents, leases, payloads
from volary.model import errors
from volary.model.runs import run_records
from volary.model.statuses import RunStatus

Make = Callable[..., state.Run]
Server = temporal_server.Server
Clock = temporal_world.WallClock()
BROKEN = Payload(metadata={"encoding": b"binary/zlib"}, data=b"rubbish")


class Refusing(temporal_world.MemoryKeeper):
    """Keeps a few steps; then it says that somebody else has advanced the run."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    async def keep_step(self, step: run_records.Transition, told: Sequence[feed.RunEvent]) -> None:
        if len(self.steps) >= self._most:
            raise errors.PermanentError("somebody else has advanced the run")
        await super().keep_step(step, told)


async def test_a_step_that_is_refused_interrupts_the_run_and_says_why(
    temporal: Server, planned_run: Make
) -> None:
    """Also while a task is under way that hears nothing: it is broken off."""
    keeper, clusters = Refusing(2), Clusters(us=engine_clusters.deaf)

    async with temporal_world.opened(temporal.address, keeper=keeper) as world:
        with pytest.raises(runners.Interrupted, match="somebody else has advanced the run"):
            await world.runner(planned_run(), clusters).carry_out()

    assert len(keeper.steps) == 2


async def test_rubbish_that_reaches_a_run_harms_nothing(
    temporal: Server, planned_run: Make
) -> None:
    """Reports and requests that cannot be unpacked, read or understood."""
    run, clusters = planned_run(("us",)), Clusters(us=engine_clusters.patient)
    unknown = documents.EventDocument("FromTheFuture", {})
    unreadable = documents.EventDocument("ClusterReachable", {"at": "noon"})

    async with (
        temporal_world.opened(temporal.address, heartbeat_seconds=5) as world,
        asyncio.TaskGroup() as tasks,
    ):
        runner = world.runner(run, clusters)
        carried = tasks.create_task(runner.carry_out())
        await clusters.until_started("us")
        handle = world.host.connection.get_workflow_handle(world.host.queues.workflow_id(run.id))
        raw = temporal_world.undecoded(world.host.connection).get_workflow_handle(handle.id)
        for rubbish in (unknown, unreadable, "rubbish"):
            await handle.signal(documents.REPORT, rubbish)
            await refused(handle.execute_update(documents.REQUEST, rubbish))
        await raw.signal(documents.REPORT, BROKEN)
        await refused(raw.execute_update(documents.REQUEST, BROKEN))
        assert await runner.request(events.Cancel(Clock.now(), "ann")) == ""

    assert carried.result().status is RunStatus.CANCELLED
    assert len(clusters.started) == 1


async def refused(asked: Any) -> None:
    with pytest.raises(client.WorkflowUpdateFailedError):
        await asked


async def test_a_run_that_cannot_be_read_ends_and_another_one_goes_on(
    temporal: Server, planned_run: Make
) -> None:
    """Its bytes were not written by any version of ours."""
    async with temporal_world.opened(temporal.address) as world:
        queues = world.host.queues
        broken = await temporal_world.undecoded(world.host.connection).start_workflow(
            documents.WORKFLOW, BROKEN, id="broken", task_queue=queues.runs
        )
        with pytest.raises(client.WorkflowFailureError):
            await broken.result()
        ended = await world.runner(planned_run(("us",)), Clusters()).carry_out()

    assert ended.status is RunStatus.SUCCEEDED


async def test_what_cannot_be_unpacked_says_so_when_it_is_read() -> None:
    with pytest.raises(ValueError, match="cannot be unpacked"):
        await payloads.CONVERTER.decode([BROKEN], [str])


@contextlib.contextmanager
def crashing(_: leases.Lease) -> Iterator[None]:
    """Nobody who takes the task gets as far as an outcome."""
    raise RuntimeError("the worker is gone")
    yield


async def test_a_task_that_loses_every_worker_has_failed_and_says_so(
    temporal: Server, planned_run: Make
) -> None:
    run = planned_run(("us",), on_failure=policies.OnFailure.STOP)
    clusters = Clusters()

    async with temporal_world.opened(temporal.address) as world:
        host = world.host
        given = documents.RunInput(
            pieces.of_run(run, 1, Clock.now()), host.queues, host.heartbeat_seconds, 4000, 2
        )
        await host.connection.start_workflow(
            documents.WORKFLOW,
            given,
            id=host.queues.workflow_id(run.id),
            task_queue=host.queues.runs,
        )
        ended = await world.runner(run, clusters, under=crashing).carry_out()

    assert ended.status is RunStatus.FAILED
    assert "given up: it lost its worker 2 times in a row" in ended.reason
    assert ended.touched == ("us",)
    assert clusters.started == []
