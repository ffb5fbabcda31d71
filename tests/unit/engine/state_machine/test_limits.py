"""What follows from time and from budgets, rule by rule on states made for it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from volary.engine.runs import policies, run_builder, state, updates
from volary.engine.state_machine import budgets, deadlines, ending, events, machine
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.statuses import RunStatus, TaskStatus

AT = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SYNC = pipelines.Stage(
    rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(minutes=10)
)
LEAVING = state.Ending(RunStatus.FAILED, "it failed", rollback=True)


def run_of(**wave: Any) -> state.Run:
    waves, steps = (), ()
    if wave:
        waves = (policies.WaveRule("first", ("us", "eu"), **wave),)  # type: ignore[assignment]
        steps = (run_builder.WaveStep(SYNC, run_builder.Group(("us", "eu")), "first"),)  # type: ignore[assignment]
    groups = run_builder.one_group(("us", "eu"))
    made = run_builder.RunSpec("shop", "new", groups, (SYNC,), "old", waves=waves, steps=steps)
    return machine.advance(run_builder.new_run("run-1", made, AT), events.Start(AT)).run


def with_stage(run: state.Run, **changes: Any) -> state.Run:
    return replace(run, stages=(replace(run.stages[0], **changes),))


def with_tasks(run: state.Run, *tasks: state.TaskState) -> state.Run:
    (group,) = run.stages[0].groups
    return with_stage(run, groups=(replace(group, tasks=tasks),))


def expired(run: state.Run, at: datetime) -> state.Run:
    return deadlines.expire(run, events.TimePassed(at))


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (run_of(), AT + timedelta(minutes=10)),
        (replace(run_of(), deadline=AT + MINUTE), AT + MINUTE),
        # Without limits of stage and run those of tasks are left.
        (
            with_stage(replace(run_of(), deadline=None), deadline=None),
            AT + timedelta(minutes=10),
        ),
        # While the clock stands only tasks have limits, and windows open.
        (
            replace(run_of(), deadline=AT + MINUTE, clock_stopped=AT),
            AT + timedelta(minutes=10),
        ),
        (replace(run_of(), deadline=AT + MINUTE, ending=LEAVING), AT + timedelta(minutes=10)),
        (replace(run_of(), status=RunStatus.FAILED), None),
        (replace(run_of(), status=RunStatus.PLANNED), None),
    ],
)
def test_when_the_next_limit_is(run: state.Run, expected: datetime | None) -> None:
    assert deadlines.next_time(run) == expected


def test_a_window_that_opens_is_a_time_to_wake_at() -> None:
    run = run_of()
    (group,) = run.current.groups
    closed = with_stage(run, groups=(replace(group, opens=AT + MINUTE),))

    assert deadlines.next_time(closed) == AT + MINUTE
    assert not deadlines.is_waiting_for_window(closed), "something runs"
    tasks = tuple(state.TaskState(name) for name in ("us", "eu"))
    queued = with_stage(run, groups=(replace(group, tasks=tasks, opens=AT + MINUTE),))
    assert deadlines.is_waiting_for_window(queued)
    assert not deadlines.is_waiting_for_window(replace(queued, ending=LEAVING))
    assert not deadlines.is_waiting_for_window(replace(queued, status=RunStatus.FAILED))


@pytest.mark.parametrize(
    ("changes", "fails"),
    [
        ({}, True),
        ({"deadline": None}, False),
        ({"deadline": AT + 2 * MINUTE}, False),
        ({"clock_stopped": AT}, False),
        ({"ending": LEAVING}, False),
    ],
)
def test_a_run_fails_at_its_limit_unless_its_clock_stands_or_it_ends_already(
    changes: dict[str, Any], fails: bool
) -> None:
    run = replace(run_of(), **{"deadline": AT + MINUTE, "held": True, **changes})
    after = expired(run, AT + MINUTE)

    assert (after.current.status is TaskStatus.FAILED) is fails
    assert (after.held, after.ending == run.ending) == (not fails, not fails)
    if fails:
        assert after.ending is not None
        assert after.ending.rollback
        assert after.ending.reason.startswith("the run timed out after ")
        assert {task.stop_cause for task in after.current.running} == {state.StopCause.TIMEOUT}


@pytest.mark.parametrize(
    ("on_failure", "rollback", "wave"),
    [
        (policies.OnFailure.ROLLBACK, True, ""),
        (policies.OnFailure.ROLLBACK_WAVE, True, "first"),
        (policies.OnFailure.STOP, False, ""),
        (policies.OnFailure.HOLD, False, ""),
    ],
)
def test_what_a_timeout_of_the_run_leads_to(
    on_failure: policies.OnFailure, rollback: bool, wave: str
) -> None:
    run = run_of(on_failure=on_failure)
    after = expired(replace(run, deadline=AT), AT)

    assert after.ending is not None
    assert (after.ending.rollback, after.ending.wave) == (rollback, wave)
    assert (budgets.on_failure(run), budgets.wave_to_roll_back(run)) == (on_failure, wave)
    assert budgets.wave_to_roll_back(run_of()) == ""
    assert budgets.on_failure(run_of()) is policies.OnFailure.ROLLBACK


def test_a_stage_fails_at_its_limit_for_what_still_runs() -> None:
    run = with_stage(run_of(), deadline=AT + MINUTE)

    assert expired(run, AT).current.status is TaskStatus.RUNNING
    after = expired(run, AT + MINUTE)
    assert after.current.reason == "timed out after 10m on us and eu"
    assert after.current.finished == AT + MINUTE
    assert {task.stop_reason for task in after.current.running} == {"timed out after 10m"}
    stopped = replace(run, clock_stopped=AT)
    assert expired(stopped, AT + MINUTE).current.status is TaskStatus.RUNNING
    unlimited = with_stage(run, deadline=None)
    assert expired(unlimited, AT + MINUTE).current.status is TaskStatus.RUNNING


def test_what_a_person_had_tried_again_and_had_no_turn_fails_the_stage_at_its_limit() -> None:
    """Its cluster is not counted as unreachable: nobody has asked it since."""
    us, _ = run_of().current.tasks
    again, silent = state.TaskState("eu", attempt=1), state.TaskState("eu", reason="x", attempt=1)
    run = with_stage(run_of(), deadline=AT + MINUTE)

    after = expired(with_tasks(run, us, again), AT + MINUTE)
    assert after.current.reason == "timed out after 10m on us and eu"
    assert [task.status for task in after.current.tasks] == [TaskStatus.RUNNING, TaskStatus.PENDING]
    after = expired(with_tasks(run, us, silent), AT + MINUTE)
    assert after.current.reason == "timed out after 10m on us"
    assert [task.status for task in after.current.tasks][1] is TaskStatus.UNREACHABLE


def test_a_task_that_is_late_is_told_more_urgently_and_then_given_up() -> None:
    us, eu = run_of().current.tasks
    run = with_tasks(run_of(), replace(us, deadline=AT + MINUTE), eu)
    grace = run.policy.grace

    asked, _ = expired(run, AT + MINUTE).current.tasks
    assert (asked.stopping, asked.stop_cause) == (
        (state.Stopping.GRACEFULLY, state.StopCause.TIMEOUT)
    )
    assert (asked.stop_reason, asked.deadline) == ("timed out after 1m", AT + MINUTE + grace)
    broken, _ = expired(with_tasks(run, asked, eu), AT + MINUTE + grace).current.tasks
    assert (broken.stopping, broken.deadline) == (state.Stopping.NOW, AT + MINUTE + 2 * grace)
    late = AT + MINUTE + 2 * grace
    lost = expired(with_tasks(run, broken, eu), late)
    assert [task.status for task in lost.current.tasks] == [TaskStatus.FAILED, TaskStatus.RUNNING]
    assert lost.touched == ("us", "eu"), "nobody knows what us wrote, and eu is under way"
    assert [cluster.provisional for cluster in lost.clusters] == [False, True]


@pytest.mark.parametrize("status", [TaskStatus.WAITING, TaskStatus.RUNNING])
def test_a_cluster_that_is_waited_for_is_tried_when_its_time_comes(status: TaskStatus) -> None:
    us, eu = run_of().current.tasks
    silent = replace(us, status=status, reason="silent; trying again", deadline=AT + MINUTE)
    run = with_tasks(run_of(), silent, eu)

    early = next(iter(expired(run, AT).current.tasks))
    assert early is silent
    again = next(iter(expired(run, AT + MINUTE).current.tasks))
    assert (again.status is TaskStatus.PENDING) is (status is TaskStatus.WAITING)
    forever = with_tasks(run, replace(silent, deadline=None), eu)
    assert next(iter(expired(forever, AT + MINUTE).current.tasks)).status is status


def test_limits_stand_still_while_a_person_is_waited_for() -> None:
    pending = tuple(state.TaskState(name) for name in ("us", "eu"))
    paused = replace(with_tasks(run_of(), *pending), pause=state.Pause("ana", AT))
    stopped = deadlines.suspend(paused, AT + MINUTE)
    assert stopped.clock_stopped == AT + MINUTE
    assert deadlines.suspend(stopped, AT + 2 * MINUTE) is stopped
    busy = replace(run_of(), pause=state.Pause("ana", AT))
    assert deadlines.suspend(busy, AT + MINUTE) is busy

    resumed = deadlines.suspend(replace(stopped, pause=None), AT + 4 * MINUTE)
    assert resumed.clock_stopped is None
    assert resumed.deadline == AT + run_of().policy.timeout + 3 * MINUTE
    assert resumed.current.deadline == AT + timedelta(minutes=13)
    # A clock that was set back takes nothing away.
    back = deadlines.suspend(replace(stopped, pause=None), AT)
    assert back.current.deadline == AT + timedelta(minutes=10)


def failed(name: str, *, refused: bool = False) -> state.TaskState:
    return state.TaskState(name, TaskStatus.FAILED, "x", 1, AT, refused=refused)


def test_only_failures_beyond_the_budget_are_said_to_be() -> None:
    run = run_of(failures=1)
    us, eu = failed("us"), failed("eu")

    assert budgets.exceeded(run_of(), (us,)) == ""
    assert budgets.exceeded(run_of(concurrency=1), (us,)) == "", "it has no budget"
    assert budgets.exceeded(run, (us, eu)) == "first: 2 failed, 1 may be"
    silent = tuple(replace(task, status=TaskStatus.UNREACHABLE) for task in (us, eu))
    lenient = run_of(unreachable=1, on_unreachable=policies.OnUnreachable.CONTINUE_WITHOUT)
    assert budgets.exceeded(lenient, silent) == "first: 2 unreachable, 1 may be"
    assert budgets.exceeded(run, (failed("us", refused=True),)) == "", "a no is no failure"
    rolling_back = replace(run, rollback=run.stages[0])
    assert budgets.exceeded(rolling_back, (us, eu)) == ""


def test_a_cluster_that_fails_within_its_budget_is_rolled_back_unless_it_does_not_answer() -> None:
    lenient = run_of(
        failures=1, unreachable=1, on_unreachable=policies.OnUnreachable.CONTINUE_WITHOUT
    )
    _, eu = lenient.current.tasks
    silent = replace(failed("us"), status=TaskStatus.UNREACHABLE)
    for task, status, left_out in (
        (failed("us"), TaskStatus.RUNNING, "failed: x"),
        (silent, TaskStatus.UNREACHABLE, "unreachable: x"),
    ):
        run = updates.conclude_begun(with_tasks(lenient, task, eu), "us", wrote=True)

        after = budgets.tolerate(run, AT)

        us = after.cluster("us")
        assert us is not None
        assert (us.left_out, us.touched) == (left_out, True)
        assert [task.status for task in after.current.tasks] == [status, TaskStatus.RUNNING]


def test_what_runs_is_stopped_for_a_failure_or_an_end_but_a_rollback_goes_on() -> None:
    us, eu = run_of().current.tasks
    back = replace(eu, rolling_back="x")
    run = with_stage(with_tasks(run_of(), us, back), status=TaskStatus.FAILED, reason="y")

    stopped, spared = ending.stop_running(run, AT).current.tasks
    assert (stopped.stopping, stopped.stop_reason) == (
        (state.Stopping.GRACEFULLY, "stopped: K8S_SYNC failed: y")
    )
    assert spared is back
    fine = run_of()
    assert ending.stop_running(fine, AT) is fine
    leaving = ending.stop_running(replace(fine, ending=LEAVING), AT)
    assert {task.stop_reason for task in leaving.current.running} == {"stopped"}
    rollback = replace(fine.stages[0], id=state.ROLLBACK_ID)
    on_the_way = replace(fine, ending=LEAVING, rollback=rollback)
    assert ending.stop_running(on_the_way, AT) is on_the_way
    broken = replace(on_the_way, rollback=replace(rollback, status=TaskStatus.FAILED))
    assert {task.stop_reason for task in ending.stop_running(broken, AT).current.running} == {
        "stopped"
    }
