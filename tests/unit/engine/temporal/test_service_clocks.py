"""The service's clock is set, or seems to be."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

import engine_clusters
import temporal_server
import temporal_world
from engine_clusters import Clusters
from volary.engine.persistence import codec, pieces
from volary.engine.runs import state
from volary.engine.state_machine import events
from volary.engine.temporal import service_clocks
from volary.model.statuses import RunStatus

Make = Callable[..., state.Run]
AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_a_clock_that_was_set_is_seen_once_two_looks_agree(jump: timedelta) -> None:
    meter = service_clocks.JumpMeter()
    second = timedelta(seconds=1)

    looks = [
        meter.look(AT, 100.0, is_sure=False),
        meter.look(AT + second, 101.0, is_sure=False),
        meter.look(AT + 2 * second + jump, 102.0, is_sure=False),
        meter.look(AT + 3 * second + jump, 103.0, is_sure=True),
        meter.look(AT + 4 * second + jump, 104.0, is_sure=False),
    ]

    assert looks == [timedelta(), timedelta(), None, jump, timedelta()]


def test_a_moment_that_took_a_minute_is_no_jump() -> None:
    """The process stood still between the service's answer and its own look."""
    meter = service_clocks.JumpMeter()
    minute = timedelta(minutes=1)

    first = meter.look(AT, 100.0, is_sure=False)
    late = meter.look(AT, 160.0, is_sure=False)
    again = meter.look(AT + minute, 160.0, is_sure=True)

    assert (first, late, again) == (timedelta(), None, timedelta())


class Elapsed:
    """The process' own clock; what it is set back by, the service's was set forward."""

    def __init__(self) -> None:
        self.behind = 0.0

    def __call__(self) -> float:
        return temporal_world.elapsed() - self.behind


@pytest.mark.parametrize("jump", [HOUR, timedelta(minutes=-1)])
async def test_no_limit_counts_what_the_service_was_set_by(
    temporal: temporal_server.Server, planned_run: Make, jump: timedelta
) -> None:
    run, elapsed = planned_run(("us",)), Elapsed()
    clusters = Clusters(us=engine_clusters.patient)

    async with (
        temporal_world.opened(temporal.address, steady=elapsed) as world,
        asyncio.TaskGroup() as tasks,
    ):
        runner = world.runner(run, clusters)
        carried = tasks.create_task(runner.carry_out())
        await clusters.until_started("us")
        before = deadlines(world, run)
        elapsed.behind = jump.total_seconds()
        assert await runner.request(events.PauseAsked(AT, "ann")) == ""
        after = deadlines(world, run)
        # The writes of the task go by the same clock, which was never set.
        elapsed.behind = 0.0
        assert await runner.request(events.Cancel(AT, "ann")) == ""

    assert carried.result().status is RunStatus.CANCELLED
    for earlier, later in zip(before, after, strict=True):
        assert abs(later - earlier - jump) < timedelta(seconds=30)


def deadlines(world: temporal_world.TemporalWorld, planned: state.Run) -> list[datetime]:
    """Return the limits of a run, its stage and its task, as they were kept last."""
    stored = pieces.of_run(planned, 1, AT)
    for step in world.keeper.steps:
        stored = pieces.after(stored, step)
    run = codec.read_run(stored)
    task = run.current.task("us")
    assert task is not None
    found = [run.deadline, run.current.deadline, task.deadline]
    return [each for each in found if each is not None]
