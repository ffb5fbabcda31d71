"""The local runner with a real executor in memory, under virtual time."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

import memory_journal
from volary.engine import executor
from volary.engine.execution import runners
from volary.engine.observers import feed
from volary.engine.runs import policies, state
from volary.engine.state_machine import events
from volary.model import errors, statuses
from volary.model.statuses import RunStatus, TaskStatus

Make = Callable[..., state.Run]
Behaviour = Callable[[executor.TaskContext, executor.Reporter], Awaitable[statuses.Outcome]]
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


class LoopClock:
    """Follows the loop's time, which the tests turn."""

    def now(self) -> datetime:
        return BEGINNING + timedelta(seconds=asyncio.get_running_loop().time())


class Clusters:
    """An executor whose clusters behave as told, and which remembers what it did."""

    def __init__(self, **behaviours: Behaviour) -> None:
        self.behaviours = behaviours
        self.started: list[tuple[str, str]] = []
        self.busy = 0
        self.busiest = 0

    async def execute(
        self, task: executor.TaskContext, report: executor.Reporter
    ) -> statuses.Outcome:
        self.started.append((task.stage_id, task.target))
        self.busy += 1
        self.busiest = max(self.busy, self.busiest)
        try:
            if task.stage_id == state.ROLLBACK_ID:
                return await quick(task, report)
            return await self.behaviours.get(task.target, quick)(task, report)
        finally:
            self.busy -= 1


class Listener:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[feed.RunEvent] = []

    def notify(self, event: feed.RunEvent) -> None:
        self.told.append(event)


class Kept:
    """A journal that keeps every step."""

    def __init__(self) -> None:
        self.records: list[runners.StepRecord] = []

    async def keep(self, record: runners.StepRecord) -> None:
        self.records.append(record)


def done(status: TaskStatus = TaskStatus.SUCCEEDED, reason: str = "done") -> statuses.Outcome:
    return statuses.Outcome(status, reason, touched=True)


async def quick(_: executor.TaskContext, report: executor.Reporter) -> statuses.Outcome:
    report.progress(state.Progress("0 of 1 pods ready", 0, 1))
    await asyncio.sleep(1)
    report.progress(state.Progress("1 of 1 pods ready", 1, 1))
    report.log("ready")
    return done()


async def broken(*_: object) -> statuses.Outcome:
    await asyncio.sleep(2)
    return done(TaskStatus.FAILED, "no such image")


async def patient(task: executor.TaskContext, _: executor.Reporter) -> statuses.Outcome:
    """Waits for something that never comes, until told to stop; its write takes 3 s."""
    await asyncio.sleep(3)
    await task.stop.wait()
    return done(TaskStatus.CANCELLED, f"stopped waiting, {task.stop.reason}")


async def deaf(*_: object) -> statuses.Outcome:
    """Does not listen to the stop flag."""
    await asyncio.sleep(1_000_000)
    return done()


async def buggy(*_: object) -> statuses.Outcome:
    await asyncio.sleep(1)
    raise KeyError("secret-looking detail")


async def denied(*_: object) -> statuses.Outcome:
    raise errors.PermanentError("cannot patch deployments in shop")


async def carry_out(
    run: state.Run, clusters: Clusters, *observers: feed.Observer
) -> tuple[state.Run, runners.Runner]:
    runner = runners.Runner(
        run, clusters, clock=LoopClock(), keeper=memory_journal.MemoryJournal(), observers=observers
    )
    return await runner.carry_out(), runner


@pytest.mark.looptime
async def test_a_run_goes_through_and_tells_its_story_in_order(
    planned_run: Make, looptime: float
) -> None:
    listener, clusters = Listener(), Clusters()

    run, _ = await carry_out(planned_run(), clusters, listener)

    assert run.status is RunStatus.SUCCEEDED
    assert looptime == 2
    assert [event.number for event in listener.told] == list(range(1, len(listener.told) + 1))
    names = [feed.to_json(event)["event"] for event in listener.told]
    assert names[0] == "run-started"
    assert names[-1] == "run-finished"
    of_us = [
        feed.to_json(event)["event"]
        for event in listener.told
        if isinstance(event, feed.TaskEvent) and (event.target, event.stage[0]) == ("us", "1")
    ]
    assert of_us == [
        "task-started",
        "task-progressed",
        "task-progressed",
        "task-logged",
        "task-finished",
    ]


@pytest.mark.looptime
async def test_no_more_run_at_once_than_the_group_allows(planned_run: Make) -> None:
    clusters = Clusters()

    run, _ = await carry_out(
        planned_run(tuple(f"cluster-{number}" for number in range(10)), concurrency=3), clusters
    )

    assert run.status is RunStatus.SUCCEEDED
    assert clusters.busiest == 3


@pytest.mark.looptime
async def test_a_failing_cluster_lets_the_others_finish_their_write(
    planned_run: Make, looptime: float
) -> None:
    """eu fails after 2 s; us writes until 3 s, then stops; then both are rolled back."""
    clusters = Clusters(us=patient, eu=broken)

    run, _ = await carry_out(planned_run(), clusters)

    assert run.status is RunStatus.ROLLED_BACK
    assert looptime == 4
    us = run.stages[0].task("us")
    assert us is not None
    assert us.status is TaskStatus.CANCELLED
    assert us.reason.startswith("stopped waiting")
    assert clusters.started[2:] == [("rollback", "us"), ("rollback", "eu")]


@pytest.mark.looptime
async def test_a_bug_in_one_task_is_an_outcome_and_its_detail_stays_in_the_log(
    planned_run: Make, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        run, _ = await carry_out(planned_run(), Clusters(us=buggy))

    us, eu = run.stages[0].task("us"), run.stages[0].task("eu")
    assert us is not None
    assert us.reason == "internal error (KeyError), see the log"
    assert eu is not None
    assert eu.status is TaskStatus.SUCCEEDED
    assert "secret-looking" not in run.reason
    assert "KeyError" in caplog.text
    assert run.status is RunStatus.ROLLED_BACK


@pytest.mark.looptime
async def test_an_error_raised_on_purpose_keeps_its_words(planned_run: Make) -> None:
    run, _ = await carry_out(planned_run(("us",)), Clusters(us=denied))

    assert "us: cannot patch deployments in shop" in run.reason


@pytest.mark.looptime
async def test_a_deaf_task_is_broken_off_after_the_grace(
    planned_run: Make, looptime: float
) -> None:
    """Told at 10 min, broken off 5 min later; a timeout is a failure."""
    run, _ = await carry_out(planned_run(("us",)), Clusters(us=deaf))

    us = run.stages[0].task("us")
    assert us is not None
    assert us.status is TaskStatus.FAILED
    assert us.reason == "timed out after 10m: broken off"
    assert looptime == 15 * 60 + 1


@pytest.mark.looptime
async def test_the_first_interrupt_is_polite_and_the_second_is_not(
    planned_run: Make, looptime: float
) -> None:
    runner = runners.Runner(
        planned_run(),
        Clusters(us=patient, eu=deaf),
        clock=LoopClock(),
        keeper=memory_journal.MemoryJournal(),
    )

    async with asyncio.TaskGroup() as group:
        ended = group.create_task(runner.carry_out())
        await asyncio.sleep(1)
        runner.interrupt("ana")
        await asyncio.sleep(9)
        assert not ended.done()
        assert [task.target for task in runner.run.current.running] == ["eu"]
        runner.interrupt("ana")

    assert looptime == 10
    assert ended.result().status is RunStatus.CANCELLED
    assert ended.result().reason == "cancelled by ana; us and eu stay as they are"


@pytest.mark.looptime
async def test_an_interrupt_before_a_task_had_its_first_turn(planned_run: Make) -> None:
    """Nothing is lost without a word, and a cluster that was never visited is not touched."""
    clusters = Clusters()
    runner = runners.Runner(
        planned_run(), clusters, clock=LoopClock(), keeper=memory_journal.MemoryJournal()
    )
    async with asyncio.TaskGroup() as group:
        ended = group.create_task(runner.carry_out())
        runner.interrupt("ana")
        runner.interrupt("ana")
        runner.interrupt("ana")

    assert ended.result().status is RunStatus.CANCELLED
    assert ended.result().touched == ()
    assert clusters.started == []


@pytest.mark.looptime
async def test_requests_are_answered_also_after_the_end(planned_run: Make) -> None:
    runner = runners.Runner(
        planned_run(), Clusters(), clock=LoopClock(), keeper=memory_journal.MemoryJournal()
    )
    clock = LoopClock()
    async with asyncio.TaskGroup() as group:
        group.create_task(runner.carry_out())
        await asyncio.sleep(0.5)
        assert await runner.request(events.PauseAsked(clock.now(), "ana")) == ""
        assert await runner.request(events.Retry(clock.now(), "ana")) == (
            "only a run that waits after a failure can be tried again"
        )
        await asyncio.sleep(60)
        assert runner.run.status is RunStatus.WAITING
        assert await runner.request(events.Resume(clock.now(), "ana")) == ""

    assert runner.run.status is RunStatus.SUCCEEDED
    assert await runner.request(events.PauseAsked(clock.now(), "ana")) == (
        "a run that is succeeded cannot be paused"
    )


@pytest.mark.looptime
async def test_shutting_down_is_not_cancelling(planned_run: Make) -> None:
    """The run stays as it was remembered, and a second process goes on with it."""
    kept = memory_journal.MemoryJournal()
    first = runners.Runner(planned_run(), Clusters(), clock=LoopClock(), keeper=kept)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.5):
            await first.carry_out()
    left = kept.runs["run-1"]
    assert left.status is RunStatus.RUNNING
    second = Clusters()

    run, _ = await carry_out(left, second)

    assert run.status is RunStatus.SUCCEEDED
    assert second.started == [("2-K8S_PRIMARY_ROLLOUT", "us"), ("2-K8S_PRIMARY_ROLLOUT", "eu")]


@pytest.mark.looptime
async def test_a_broken_view_does_not_harm_the_run(
    planned_run: Make, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def notify(self, event: feed.RunEvent) -> None:
            raise RuntimeError("no terminal")

    listener = Listener()
    run, _ = await carry_out(planned_run(), Clusters(), Broken(), listener)

    assert run.status is RunStatus.SUCCEEDED
    assert isinstance(listener.told[-1], feed.RunFinished)
    assert caplog.text.count("an observer failed") == 1


@pytest.mark.looptime
async def test_progress_is_kept_with_the_run_and_not_repeated(planned_run: Make) -> None:
    async def chatty(_: executor.TaskContext, report: executor.Reporter) -> statuses.Outcome:
        for number in range(1000):
            report.progress(state.Progress("waiting", number // 100, 10))
        await asyncio.sleep(1)
        return done()

    listener = Listener()
    run, _ = await carry_out(planned_run(("us",)), Clusters(us=chatty), listener)

    us = run.stages[0].task("us")
    assert us is not None
    assert us.progress == state.Progress("waiting", 9, 10)
    assert sum(isinstance(event, feed.TaskProgressed) for event in listener.told) == 20


@pytest.mark.looptime
async def test_what_many_clusters_say_at_about_the_same_time_is_kept_in_one_step(
    planned_run: Make,
) -> None:
    names = tuple(f"cluster-{number}" for number in range(8))

    async def at_its_own_pace(
        task: executor.TaskContext, report: executor.Reporter
    ) -> statuses.Outcome:
        await asyncio.sleep(1.01 + names.index(task.target) / 100)
        report.progress(state.Progress("looking", 0, 1))
        await asyncio.sleep(5)
        return done()

    kept = Kept()
    behaviours = dict.fromkeys(names, at_its_own_pace)
    planned = planned_run(names, concurrency=8)
    runner = runners.Runner(planned, Clusters(**behaviours), clock=LoopClock(), keeper=kept)
    run = await runner.carry_out()

    said = [
        sum(isinstance(event, events.TaskProgressed) for event in record.happened)
        for record in kept.records
    ]
    assert [number for number in said if number] == [8, 8]  # of both stages
    assert run.status is RunStatus.SUCCEEDED


@pytest.mark.looptime
async def test_what_a_task_says_just_before_its_end_is_kept(planned_run: Make) -> None:
    async def abrupt(_: executor.TaskContext, report: executor.Reporter) -> statuses.Outcome:
        report.progress(state.Progress("all ready", 3, 3))
        return done()

    run, _ = await carry_out(planned_run(("us",)), Clusters(us=abrupt))

    us = run.stages[0].task("us")
    assert us is not None
    assert us.progress == state.Progress("all ready", 3, 3)


@pytest.mark.looptime
async def test_what_waits_for_a_cluster_goes_on_when_it_is_reported_once_or_often(
    planned_run: Make, looptime: float
) -> None:
    """Its own timer would wait for a day."""
    answers = asyncio.Event()

    async def lost_at_first(*_: object) -> statuses.Outcome:
        if not answers.is_set():
            return done(TaskStatus.UNREACHABLE, "no answer")
        return done()

    clusters = Clusters(eu=lost_at_first)
    wait = policies.OnUnreachable.WAIT
    run = planned_run(on_unreachable=wait, again_after=timedelta(days=1))
    runner = runners.Runner(run, clusters, clock=LoopClock(), keeper=memory_journal.MemoryJournal())

    async def probe() -> None:
        await asyncio.sleep(10)
        answers.set()
        runner.report_reachable({"us"})
        await asyncio.sleep(10)
        for _ in range(3):
            runner.report_reachable({"us", "eu", "mars"})

    async with asyncio.TaskGroup() as group:
        group.create_task(probe())
        ended = await runner.carry_out()

    assert ended.status is RunStatus.SUCCEEDED
    eu = ended.stages[0].task("eu")
    assert eu is not None
    assert eu.attempt == 2
    assert looptime == 21, "the second stage takes one second after the cluster was reported"


@pytest.mark.looptime
async def test_a_task_knows_what_was_begun_before_it_on_its_cluster(planned_run: Make) -> None:
    known: dict[tuple[str, str], tuple[list[str], bool]] = {}

    async def note(task: executor.TaskContext, _: executor.Reporter) -> statuses.Outcome:
        known[task.stage_id, task.target] = ([each.name for each in task.begun], task.is_last)
        failed = (task.stage_id[0], task.target) == ("2", "eu")
        return done(TaskStatus.FAILED if failed else TaskStatus.SUCCEEDED)

    class Noting(Clusters):
        async def execute(
            self, task: executor.TaskContext, report: executor.Reporter
        ) -> statuses.Outcome:
            return await note(task, report)

    await carry_out(planned_run(), Noting())

    assert known["1-K8S_CANARY_ROLLOUT", "us"] == ([], False)
    assert known["2-K8S_PRIMARY_ROLLOUT", "us"] == (["K8S_CANARY_ROLLOUT"], True)
    both = ["K8S_CANARY_ROLLOUT", "K8S_PRIMARY_ROLLOUT"]
    assert known["rollback", "us"] == (both, False)


@pytest.mark.looptime
async def test_two_people_who_ask_at_the_same_time_are_both_answered(planned_run: Make) -> None:
    clock = LoopClock()
    runner = runners.Runner(
        planned_run(), Clusters(), clock=clock, keeper=memory_journal.MemoryJournal()
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(runner.carry_out())
        await asyncio.sleep(0.5)
        async with asyncio.timeout(60):
            answers = await asyncio.gather(
                runner.request(events.PauseAsked(clock.now(), "ana")),
                runner.request(events.PauseAsked(clock.now(), "bo")),
            )
        assert answers == ["", "the run is already paused by ana"]
        assert await runner.request(events.Resume(clock.now(), "bo")) == ""

    assert runner.run.status is RunStatus.SUCCEEDED


@pytest.mark.looptime
async def test_a_task_that_was_given_up_does_not_hold_up_the_end(
    planned_run: Make, looptime: float
) -> None:
    """Told at 10 min, broken off 5 min later, counted as lost after 5 more; it never listens."""

    async def stubborn(*_: object) -> statuses.Outcome:
        try:
            await asyncio.sleep(1_000_000)
        except asyncio.CancelledError:
            await asyncio.sleep(1_000_000)
        return done()

    planned = planned_run(("us",), on_failure=policies.OnFailure.STOP)
    run, _ = await carry_out(planned, Clusters(us=stubborn))

    assert run.status is RunStatus.FAILED
    assert run.touched == ("us",)
    assert looptime == 20 * 60


@pytest.mark.looptime
async def test_a_cluster_that_was_lost_again_is_tried_again_when_it_is_reported_again(
    planned_run: Make, looptime: float
) -> None:
    async def answers_the_third_time(
        task: executor.TaskContext, _: executor.Reporter
    ) -> statuses.Outcome:
        if task.stage_id.startswith("1") and task.attempt < 3:
            return done(TaskStatus.UNREACHABLE, "no answer")
        return done()

    wait = policies.OnUnreachable.WAIT
    run = planned_run(("eu",), on_unreachable=wait, again_after=timedelta(days=1))
    runner = runners.Runner(
        run,
        Clusters(eu=answers_the_third_time),
        clock=LoopClock(),
        keeper=memory_journal.MemoryJournal(),
    )

    async def probe() -> None:
        for _ in range(2):
            await asyncio.sleep(10)
            runner.report_reachable({"eu"})

    async with asyncio.TaskGroup() as group:
        group.create_task(probe())
        ended = await runner.carry_out()

    assert ended.status is RunStatus.SUCCEEDED
    assert looptime == 20


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("stages", "asked", "said"),
    [
        (1, events.PauseAsked(BEGINNING, "ana"), "a run that is succeeded cannot be paused"),
        (2, events.Resume(BEGINNING, "ana"), "a run that is running cannot be resumed"),
    ],
)
async def test_who_asks_while_a_task_ends_is_answered(
    planned_run: Make, stages: int, asked: events.Event, said: str
) -> None:
    async def a_second(*_: object) -> statuses.Outcome:
        await asyncio.sleep(1)
        return done()

    planned = planned_run(("us",))
    runner = runners.Runner(
        replace(planned, stages=planned.stages[:stages]),
        Clusters(us=a_second),
        clock=LoopClock(),
        keeper=memory_journal.MemoryJournal(),
    )

    async def ask() -> str:
        await asyncio.sleep(1)
        await asyncio.sleep(0)  # so that the end of the task comes first
        return await runner.request(asked)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(runner.carry_out())
        answer = group.create_task(ask())

    assert answer.result() == said


@pytest.mark.looptime
async def test_a_task_knows_where_its_stage_has_succeeded_already(planned_run: Make) -> None:
    known: dict[tuple[str, str], str] = {}

    class Noting(Clusters):
        async def execute(
            self, task: executor.TaskContext, report: executor.Reporter
        ) -> statuses.Outcome:
            known[task.stage_id, task.target] = task.succeeded_on
            return done()

    await carry_out(planned_run(("us", "eu", "asia"), concurrency=1), Noting())

    assert known["1-K8S_CANARY_ROLLOUT", "us"] == ""
    assert known["1-K8S_CANARY_ROLLOUT", "asia"] == "us"
    assert known["2-K8S_PRIMARY_ROLLOUT", "us"] == "", "of this stage, not of the one before"
