"""What a run does is the same whoever carries it out: this process, or Temporal.

Nothing here waits for time, so each test runs with both engines. What is about time (limits,
breaking off what does not listen) is in `execution/test_runners.py`, under virtual time: Temporal's
service has none, and limits are the machine's, which is the same. What needs a worker that is lost
is in `temporal`: a process of the local engine is its own only worker.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

import engine_clusters
import engine_fixtures
import engine_world
import process_time
from engine_clusters import Clusters, done
from engine_world import Place
from volary.engine import executor
from volary.engine.execution import runners
from volary.engine.observers import feed
from volary.engine.runs import policies, run_builder, state
from volary.engine.state_machine import events
from volary.model import statuses
from volary.model.statuses import RunStatus, TaskStatus

Make = Callable[..., state.Run]
CANARY, PRIMARY = "1-K8S_CANARY_ROLLOUT", "2-K8S_PRIMARY_ROLLOUT"


@pytest.fixture
def place(engine: str, request: pytest.FixtureRequest) -> Place:
    """Where nothing was kept yet, for the engine of the test."""
    is_local = engine == engine_fixtures.LOCAL
    return Place("" if is_local else request.getfixturevalue("temporal").address)


def asked(
    kind: type[events.Event], *words: object, by: str = "ann", **more: object
) -> events.Event:
    """Return what somebody asks for at this moment."""
    return kind(engine_world.Clock().now(), by, *words, **more)  # type: ignore[call-arg, arg-type]


Act = Callable[[runners.AnyRunner], Awaitable[object]]
Line = str | type[feed.RunEvent] | events.Event | tuple[events.Event, ...] | Act


def until(holds: Callable[[state.Run], object]) -> Act:
    """Wait until the run is so."""
    return lambda runner: process_time.until(lambda: holds(runner.run))


class Talk:
    """A run under way, and a way to speak with it."""

    def __init__(self, place: Place, run: state.Run, clusters: Clusters) -> None:
        self.place, self.planned, self.clusters = place, run, clusters
        self.listener = engine_clusters.Listener()
        self.answers: list[str] = []

    async def go(self, *script: Line) -> state.Run:
        """Carry the run out; meanwhile do what the script says, in this order.

        A name of a cluster: wait until a task has begun there. A kind of event: until that was
        told. A request, or several at the same time: ask. Something to call: await it.
        """
        async with engine_world.opened(self.place) as world, asyncio.TaskGroup() as tasks:
            runner = world.runner(self.planned, self.clusters, self.listener)
            carried = tasks.create_task(runner.carry_out())
            for line in script:
                if isinstance(line, str):
                    await self.clusters.until_started(line)
                elif isinstance(line, type):
                    await self.listener.until(line)
                elif isinstance(line, tuple):
                    self.answers += await asyncio.gather(*map(runner.request, line))
                elif isinstance(line, events.Event):
                    self.answers.append(await runner.request(line))
                else:
                    await line(runner)
        return carried.result()


def status_of(run: state.Run, position: int, target: str) -> TaskStatus:
    task = run.stages[position].task(target)
    assert task is not None
    return task.status


async def test_stages_and_waves_go_one_after_another(place: Place, planned_run: Make) -> None:
    groups = run_builder.Group(("us",), "first"), run_builder.Group(("eu", "asia"), "second")
    clusters = Clusters()

    ended = await Talk(place, planned_run(groups=groups), clusters).go()

    assert ended.status is RunStatus.SUCCEEDED
    order = [(stage, target) for stage, target, _ in clusters.started]
    assert order[0] == (CANARY, "us")
    assert {target for _, target in order[1:3]} == {"eu", "asia"}
    assert order[3] == (PRIMARY, "us")
    versions = [step.expected_version for step in place.keeper.steps]
    assert versions == list(range(1, len(versions) + 1))


async def test_no_more_run_at_once_than_the_group_allows(place: Place, planned_run: Make) -> None:
    names = tuple(f"cluster-{number}" for number in range(6))
    busy: set[str] = set()
    most = 0

    async def counted(task: executor.TaskContext, _: executor.Reporter) -> statuses.Outcome:
        nonlocal most
        busy.add(task.target)
        most = max(most, len(busy))
        await asyncio.sleep(0)
        busy.discard(task.target)
        return done()

    clusters = Clusters(**dict.fromkeys(names, counted))
    ended = await Talk(place, planned_run(names, concurrency=2), clusters).go()

    assert ended.status is RunStatus.SUCCEEDED
    assert 1 <= most <= 2


async def test_a_cluster_is_kept_as_touched_before_anything_is_written_to_it(
    place: Place, planned_run: Make
) -> None:
    planned = planned_run()
    found: list[tuple[str, ...]] = []

    async def looks(task: executor.TaskContext, _: executor.Reporter) -> statuses.Outcome:
        kept = place.keeper.newest(planned)
        running = kept.current.task(task.target)
        assert running is not None
        assert (running.status, running.attempt) == (TaskStatus.RUNNING, task.attempt)
        found.append(kept.touched)
        return done()

    await Talk(place, planned, Clusters(us=looks, eu=looks)).go()

    assert len(found) == 4


async def test_two_have_to_agree_and_one_counts_once(place: Place, planned_run: Make) -> None:
    group = run_builder.Group(("us",), "all", approval=policies.ApprovalRule(2))
    stages = (planned_run().stages[0].stage,)
    yes = asked(events.Approve, id="request-1")
    talk = Talk(place, planned_run(groups=(group,), stages=stages), Clusters())

    ended = await talk.go(
        feed.StageWaiting,
        (yes, yes),
        asked(events.Approve, id="request-2"),
        asked(events.Approve, by="bob"),
        feed.RunFinished,
        asked(events.PauseAsked),
    )

    assert ended.status is RunStatus.SUCCEEDED
    approvals = [each.by for step in place.keeper.steps for each in step.approvals]
    assert approvals == ["ann", "bob"]
    assert "" in talk.answers[:2], "whoever asked first was told so"
    assert "ann" in talk.answers[2]
    assert talk.answers[3:] == ["", "a run that is succeeded cannot be paused"]
    assert set(place.keeper.answers) == {"request-1"}


async def test_a_request_that_was_answered_before_is_not_taken(
    place: Place, planned_run: Make
) -> None:
    """Its step was kept, and whoever kept it died before the run heard so."""
    place.keeper.answers["request-1"] = "said before"
    talk = Talk(place, planned_run(("us",)), Clusters(us=engine_clusters.patient))

    ended = await talk.go("us", asked(events.PauseAsked, id="request-1"), asked(events.Cancel))

    assert talk.answers == ["said before", ""]
    assert ended.status is RunStatus.CANCELLED
    assert all(step.head.status != "waiting" for step in place.keeper.steps)


async def test_a_no_rolls_back_what_was_touched(place: Place, planned_run: Make) -> None:
    groups = (
        run_builder.Group(("us",), "first"),
        run_builder.Group(("eu",), "second", approval=policies.ApprovalRule()),
    )
    clusters = Clusters()

    ended = await Talk(place, planned_run(groups=groups), clusters).go(
        feed.StageWaiting, asked(events.Reject, "too risky")
    )

    assert ended.status is RunStatus.ROLLED_BACK
    assert "too risky" in ended.reason
    assert [(stage, target) for stage, target, _ in clusters.started] == [
        (CANARY, "us"),
        (state.ROLLBACK_ID, "us"),
    ]


async def test_paused_nothing_new_begins_until_it_is_resumed(
    place: Place, planned_run: Make
) -> None:
    goes_on = asyncio.Event()

    async def held(task: executor.TaskContext, report: executor.Reporter) -> statuses.Outcome:
        await goes_on.wait()
        return await engine_clusters.quick(task, report)

    clusters = Clusters(us=held)
    talk = Talk(place, planned_run(("us",)), clusters)

    async def go_on(_: object) -> None:
        assert len(clusters.started) == 1
        goes_on.set()

    ended = await talk.go(
        "us",
        (asked(events.PauseAsked), asked(events.PauseAsked, by="bob")),
        go_on,
        feed.StageFinished,
        asked(events.Retry),
        asked(events.Resume),
    )

    assert ended.status is RunStatus.SUCCEEDED
    assert min(talk.answers[:2]) == ""
    assert "already paused" in max(talk.answers[:2])
    assert talk.answers[2:] == ["only a run that waits after a failure can be tried again", ""]


async def test_a_held_failure_is_tried_again(place: Place, planned_run: Make) -> None:
    async def better_the_second_time(
        task: executor.TaskContext, report: executor.Reporter
    ) -> statuses.Outcome:
        if (task.stage_id, task.attempt) == (CANARY, 1):
            return await engine_clusters.broken(task, report)
        return done()

    talk = Talk(
        place,
        planned_run(on_failure=policies.OnFailure.HOLD),
        Clusters(eu=better_the_second_time),
    )

    ended = await talk.go(until(lambda run: run.held), asked(events.Retry))

    assert ended.status is RunStatus.SUCCEEDED
    assert talk.clusters.started.count((CANARY, "us", 1)) == 1
    assert talk.clusters.started.count((CANARY, "eu", 2)) == 1


async def test_a_cluster_is_left_out_and_the_others_go_on(place: Place, planned_run: Make) -> None:
    clusters = Clusters(eu=engine_clusters.patient)
    skip = asked(events.SkipCluster, "eu", "on fire")

    ended = await Talk(place, planned_run(), clusters).go("eu", skip)

    assert ended.status is RunStatus.SUCCEEDED_WITH_EXCEPTIONS
    assert status_of(ended, 0, "eu") is TaskStatus.SKIPPED
    assert ("us", 1) in [each[1:] for each in clusters.started if each[0] == PRIMARY]
    assert "eu" not in [each[1] for each in clusters.started if each[0] == PRIMARY]


async def test_a_failure_has_the_others_stop_politely_and_all_are_rolled_back(
    place: Place, planned_run: Make
) -> None:
    clusters = Clusters()

    async def fails_once_both_are_there(*_: object) -> statuses.Outcome:
        await clusters.until_started("us")
        return await engine_clusters.broken()

    clusters.behaviours |= {"us": engine_clusters.patient, "eu": fails_once_both_are_there}
    ended = await Talk(place, planned_run(), clusters).go()

    assert ended.status is RunStatus.ROLLED_BACK
    assert status_of(ended, 0, "us") is TaskStatus.CANCELLED
    assert status_of(ended, 0, "eu") is TaskStatus.FAILED
    assert {each[1] for each in clusters.started if each[0] == state.ROLLBACK_ID} == {"us", "eu"}


@pytest.mark.parametrize("behaviour", [engine_clusters.patient, engine_clusters.deaf])
async def test_a_cancel_is_polite_the_first_time_and_not_the_second(
    place: Place, planned_run: Make, behaviour: engine_clusters.Behaviour
) -> None:
    async def interrupt(runner: runners.AnyRunner) -> None:
        runner.interrupt("ann")
        if behaviour is engine_clusters.deaf:
            runner.interrupt("ann")

    talk = Talk(place, planned_run(("us",)), Clusters(us=behaviour))
    ended = await talk.go("us", interrupt)

    task = ended.stages[0].task("us")
    assert ended.status is RunStatus.CANCELLED
    assert ended.touched == ("us",)
    assert task is not None
    expected = "stopped waiting" if behaviour is engine_clusters.patient else "broken off"
    assert expected in task.reason


async def test_a_cancel_with_rollback_takes_back_what_was_written(
    place: Place, planned_run: Make
) -> None:
    clusters = Clusters(us=engine_clusters.patient)

    ended = await Talk(place, planned_run(("us",)), clusters).go(
        "us", asked(events.Cancel, rollback=True)
    )

    assert ended.status is RunStatus.ROLLED_BACK
    assert (state.ROLLBACK_ID, "us", 1) in clusters.started


async def test_what_waits_for_a_cluster_goes_on_when_it_is_reported_however_often(
    place: Place, planned_run: Make
) -> None:
    """Its own timer would wait for a day."""

    async def answers_the_third_time(
        task: executor.TaskContext, _: executor.Reporter
    ) -> statuses.Outcome:
        is_lost = task.stage_id == CANARY and task.attempt < 3
        return done(TaskStatus.UNREACHABLE, "no answer") if is_lost else done()

    def waits_for(attempt: int) -> Callable[[state.Run], object]:
        def waits(run: state.Run) -> bool:
            task = run.stages[0].task("eu")
            return task is not None and (task.status, task.attempt) == (TaskStatus.WAITING, attempt)

        return waits

    async def report(runner: runners.AnyRunner) -> None:
        for _ in range(3):
            runner.report_reachable({"us", "eu", "mars"})

    run = planned_run(on_unreachable=policies.OnUnreachable.WAIT, again_after=timedelta(days=1))
    clusters = Clusters(eu=answers_the_third_time)
    ended = await Talk(place, run, clusters).go(
        until(waits_for(1)), report, until(waits_for(2)), report
    )

    assert ended.status is RunStatus.SUCCEEDED
    attempts = [
        number for stage, name, number in clusters.started if (stage, name) == (CANARY, "eu")
    ]
    assert attempts == [1, 2, 3]


async def test_shutting_down_is_not_cancelling_and_what_was_begun_stays_touched(
    place: Place, planned_run: Make
) -> None:
    """Another process goes on: what the first one may have written is rolled back."""
    run = planned_run(("us",))
    first, second = Clusters(us=engine_clusters.deaf), Clusters(us=engine_clusters.refused)

    async with engine_world.opened(place) as world, asyncio.TaskGroup() as tasks:
        carried = tasks.create_task(world.runner(run, first).carry_out())
        await first.until_started("us")
        carried.cancel()
    assert place.keeper.newest(run).status is RunStatus.RUNNING
    ended = await Talk(place, run, second).go()

    assert ended.status is RunStatus.ROLLED_BACK
    assert second.started == [(CANARY, "us", 1), (state.ROLLBACK_ID, "us", 1)]


async def test_a_broken_view_does_not_harm_the_run(place: Place, planned_run: Make) -> None:
    class Broken:
        def notify(self, _: feed.RunEvent) -> None:
            raise RuntimeError("no terminal")

    listener = engine_clusters.Listener()
    async with engine_world.opened(place) as world:
        runner = world.runner(planned_run(("us",)), Clusters(), Broken(), listener)
        ended = await runner.carry_out()

    assert ended.status is RunStatus.SUCCEEDED
    assert isinstance(listener.told[-1], feed.RunFinished)


async def test_what_a_task_says_just_before_its_end_is_kept(
    place: Place, planned_run: Make
) -> None:
    async def abrupt(_: executor.TaskContext, report: executor.Reporter) -> statuses.Outcome:
        for number in range(1000):
            report.progress(state.Progress("waiting", number // 100, 10))
        return done()

    ended = await Talk(place, planned_run(("us",)), Clusters(us=abrupt)).go()

    us = ended.stages[0].task("us")
    assert us is not None
    assert us.progress == state.Progress("waiting", 9, 10)


async def test_facts_that_come_late_or_twice_change_nothing(
    place: Place, planned_run: Make
) -> None:
    """As a network delivers them: of another attempt, of a stage that is over, after the end."""
    clock = engine_world.Clock()
    late = [
        events.TaskFinished(clock.now(), CANARY, "us", 7, done(TaskStatus.FAILED)),
        events.TaskProgressed(clock.now(), CANARY, "us", 7, state.Progress("late", 0, 9)),
        events.TaskFinished(clock.now(), PRIMARY, "us", 1, done(TaskStatus.FAILED)),
        events.ClusterReachable(clock.now(), "us"),
        events.TimePassed(clock.now()),
    ]

    async def deliver(runner: runners.AnyRunner) -> None:
        for event in (*late, *reversed(late)):
            runner.submit(event)

    goes_on = asyncio.Event()

    async def held(task: executor.TaskContext, report: executor.Reporter) -> statuses.Outcome:
        await goes_on.wait()
        return await engine_clusters.quick(task, report)

    async def go_on(_: object) -> None:
        goes_on.set()

    clusters = Clusters(us=held)
    ended = await Talk(place, planned_run(("us",)), clusters).go(
        "us", deliver, asked(events.PauseAsked), asked(events.Resume), go_on
    )

    assert ended.status is RunStatus.SUCCEEDED
    assert clusters.started == [(CANARY, "us", 1), (PRIMARY, "us", 1)]
