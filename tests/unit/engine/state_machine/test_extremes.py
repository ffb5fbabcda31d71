"""Clocks that jump, and runs of a size that nobody needs."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

import memory_journal
from volary.config.application import application_files
from volary.engine import executor
from volary.engine.execution import runners
from volary.engine.observers import feed
from volary.engine.persistence import codec, transitions
from volary.engine.runs import run_builder, state, updates
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.statuses import RunStatus, TaskStatus
from volary.planner import plans
from volary.store import factory

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


class JumpingClock:
    """Follows the loop's time, and is set forward or back."""

    def __init__(self) -> None:
        self.off = timedelta()

    def now(self) -> datetime:
        return BEGINNING + self.off + timedelta(seconds=asyncio.get_running_loop().time())


class Waiting:
    """Every task takes a minute, or ends when it is told to stop."""

    def __init__(self, during: Callable[[], None] = lambda: None) -> None:
        self.during = during

    async def execute(
        self, task: executor.TaskContext, report: executor.Reporter
    ) -> statuses.Outcome:
        await asyncio.sleep(30)
        self.during()
        try:
            async with asyncio.timeout(30):
                await task.stop.wait()
        except TimeoutError:
            return statuses.Outcome(TaskStatus.SUCCEEDED, "done", touched=True)
        return statuses.Outcome(TaskStatus.CANCELLED, task.stop.reason, touched=True)


class Quick:
    """Every task takes a second."""

    async def execute(
        self, task: executor.TaskContext, report: executor.Reporter
    ) -> statuses.Outcome:
        await asyncio.sleep(1)
        return statuses.Outcome(TaskStatus.SUCCEEDED, "done", touched=True)


def run_of(*stages: pipelines.Stage) -> state.Run:
    wanted = run_builder.RunSpec("shop", "new", run_builder.one_group(["us", "eu"]), stages, "old")
    return run_builder.new_run("r1", wanted, BEGINNING)


SYNC = pipelines.Stage(
    rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(minutes=10)
)


@pytest.mark.looptime
async def test_a_clock_that_is_set_back_delays_nothing_that_works(looptime: float) -> None:
    clock = JumpingClock()

    def back() -> None:
        clock.off = -HOUR

    run = await runners.Runner(
        run_of(SYNC, SYNC), Waiting(back), clock=clock, keeper=memory_journal.MemoryJournal()
    ).carry_out()

    assert run.status is RunStatus.SUCCEEDED
    assert looptime == 120


@pytest.mark.looptime
async def test_who_is_deaf_is_broken_off_also_after_the_clock_was_set_back(
    looptime: float,
) -> None:
    clock = JumpingClock()

    class Deaf:
        async def execute(
            self, task: executor.TaskContext, report: executor.Reporter
        ) -> statuses.Outcome:
            clock.off = -HOUR
            await asyncio.sleep(10_000_000)
            raise AssertionError("it should have been broken off")

    run = await runners.Runner(
        run_of(SYNC), Deaf(), clock=clock, keeper=memory_journal.MemoryJournal()
    ).carry_out()

    assert run.status is RunStatus.FAILED
    assert "timed out after 10m" in run.reason
    assert looptime < HOUR.total_seconds()


@pytest.mark.looptime
async def test_a_clock_that_jumps_forward_fails_nobody(looptime: float) -> None:
    """In the middle of each stage, by more than any limit."""
    clock = JumpingClock()

    def forward() -> None:
        clock.off += 2 * HOUR

    run = await runners.Runner(
        run_of(SYNC, SYNC), Waiting(forward), clock=clock, keeper=memory_journal.MemoryJournal()
    ).carry_out()

    assert run.status is RunStatus.SUCCEEDED, run.reason
    assert looptime == 120


@pytest.mark.looptime
@pytest.mark.parametrize("jump", [2 * HOUR, -HOUR])
async def test_a_limit_ends_as_late_after_a_jump_as_without_one(
    jump: timedelta, looptime: float
) -> None:
    clock = JumpingClock()

    class Stuck:
        async def execute(
            self, task: executor.TaskContext, report: executor.Reporter
        ) -> statuses.Outcome:
            await asyncio.sleep(30)
            clock.off += jump
            await task.stop.wait()
            return statuses.Outcome(TaskStatus.CANCELLED, task.stop.reason)

    run = await runners.Runner(
        run_of(SYNC), Stuck(), clock=clock, keeper=memory_journal.MemoryJournal()
    ).carry_out()

    assert run.status is RunStatus.FAILED
    assert "timed out after 10m" in run.reason
    assert 600 <= looptime <= 602


@pytest.mark.looptime
async def test_five_hundred_stages_are_read_planned_kept_and_carried_out() -> None:
    text = (
        "apiVersion: volary.dev/v1\nkind: Application\nmetadata: {name: long}\n"
        "spec:\n  pipeline:\n    stages:\n"
        + "    - {name: WAIT, with: {duration: 1s}}\n" * 499
        + "    - {name: K8S_PRIMARY_ROLLOUT}\n"
    )
    began = time.process_time()
    application = application_files.parse(text, file="volary.yaml", default_name="long").require()
    decided = plans.make(application, running={"us": []}, target={"us": []}, subject="x")
    wanted = run_builder.RunSpec(
        "long", "new", run_builder.one_group(["us", "eu"]), application.pipeline
    )
    run = run_builder.new_run("r1", wanted, BEGINNING)
    ended = await runners.Runner(
        run, Quick(), clock=JumpingClock(), keeper=memory_journal.MemoryJournal()
    ).carry_out()

    assert len(application.pipeline) == 500
    assert decided.summary
    assert ended.status is RunStatus.SUCCEEDED, ended.reason
    async with factory.open_store("memory:", clock=JumpingClock()) as store:
        await store.keep_transition(transitions.first_transition(ended, {}, BEGINNING), fence=None)
        stored = await store.runs.load("r1")
        assert stored is not None
        assert codec.read_run(stored) == ended
    assert time.process_time() - began < 20


@pytest.mark.looptime
async def test_who_is_left_out_is_not_said_to_take_part() -> None:
    told: list[feed.RunEvent] = []

    class Listener:
        def notify(self, event: feed.RunEvent) -> None:
            told.append(event)

    run = updates.leave_out(run_of(SYNC), "eu", "unreachable: it is away")
    listener = Listener()
    runner = runners.Runner(
        run,
        Quick(),
        clock=JumpingClock(),
        keeper=memory_journal.MemoryJournal(),
        observers=(listener,),
    )
    ended = await runner.carry_out()

    (started,) = [each for each in told if isinstance(each, feed.RunStarted)]
    (stage_started,) = [each for each in told if isinstance(each, feed.StageStarted)]
    assert (started.targets, started.left_out) == (("us", "eu"), ("eu",))
    assert stage_started.targets == ("us",)
    assert ended.status is RunStatus.SUCCEEDED_WITH_EXCEPTIONS
    assert "eu" in ended.reason
