"""What people ask of a run: what is taken, what is refused, and in which words."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from volary.engine.runs import policies, run_builder, state, updates
from volary.engine.state_machine import commands, events, machine, requests
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, waiting_stages
from volary.model.statuses import RunStatus, TaskStatus

AT = datetime(2026, 1, 1, tzinfo=UTC)
NOW = AT + timedelta(minutes=5)
SYNC = pipelines.Stage(
    rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(minutes=10)
)
ANALYSIS = pipelines.Stage(
    waiting_stages.ANALYSIS.name, waiting_stages.AnalysisOptions(timedelta(minutes=5))
)
RULE = policies.ApprovalRule(2, ("ana", "bo", "cy"))
LEAVING = state.Ending(RunStatus.FAILED, "it failed", rollback=True)


def run_of(*stages: pipelines.Stage, asks: bool = False, **policy: Any) -> state.Run:
    group = run_builder.Group(("us", "eu"), approval=RULE if asks else None)
    made = run_builder.RunSpec(
        "shop", "new", (group,), stages or (SYNC, ANALYSIS), "old", policies.Policy(**policy)
    )
    planned = run_builder.new_run("run-1", made, AT)
    return machine.advance(planned, events.Start(AT)).run


def with_stage(run: state.Run, **changes: Any) -> state.Run:
    stages = (replace(run.stages[0], **changes), *run.stages[1:])
    return replace(run, stages=stages)


def with_tasks(run: state.Run, **statuses: TaskStatus) -> state.Run:
    (group,) = run.stages[0].groups
    tasks = tuple(
        replace(task, status=statuses.get(task.target, task.status)) for task in group.tasks
    )
    return with_stage(run, groups=(replace(group, tasks=tasks),))


def held(**statuses: TaskStatus) -> state.Run:
    run = with_tasks(run_of(), **({"us": TaskStatus.FAILED, "eu": TaskStatus.SUCCEEDED} | statuses))
    return replace(
        with_stage(run, status=TaskStatus.FAILED, finished=NOW),
        held=True,
        status=RunStatus.WAITING,
    )


def waiting(*given: str) -> state.Run:
    run = run_of(asks=True)
    for name in given:
        run = machine.advance(run, events.Approve(AT, name)).run
    return run


def rolling_back() -> state.Run:
    touched = tuple(replace(each, touched=True) for each in run_of().clusters)
    run = replace(run_of(), ending=LEAVING, clusters=touched)
    return replace(run, rollback=run_builder.rollback_stage(run), status=RunStatus.ROLLING_BACK)


def left_out(run: state.Run, name: str) -> state.Run:
    clusters = (
        replace(each, left_out="x" if each.name == name else each.left_out) for each in run.clusters
    )
    return replace(run, clusters=tuple(clusters))


PAUSED = replace(run_of(), pause=state.Pause("bo", AT))
ENDING = replace(run_of(), ending=LEAVING)
CANCEL, NOT_NOW = events.Cancel(NOW, "ana"), "the run is ending and starts nothing new"


@pytest.mark.parametrize(
    ("ask", "run", "event", "refusal"),
    [
        (
            requests.cancel,
            rolling_back(),
            CANCEL,
            "the rollback goes on; cancel now to break it off",
        ),
        (requests.pause, PAUSED, events.PauseAsked(NOW, "ana"), "the run is already paused by bo"),
        (requests.pause, ENDING, events.PauseAsked(NOW, "ana"), NOT_NOW),
        (requests.resume, run_of(), events.Resume(NOW, "ana"), "the run is not paused"),
        (
            requests.skip,
            run_of(),
            events.SkipCluster(NOW, "ana", "lab", ""),
            "lab is not a cluster of this run",
        ),
        (
            requests.skip,
            left_out(run_of(), "us"),
            events.SkipCluster(NOW, "ana", "us", ""),
            "us is already left out",
        ),
        (
            requests.skip,
            rolling_back(),
            events.SkipCluster(NOW, "ana", "us", "", cordoned=True),
            "the run has begun on us, and finishes or goes back there",
        ),
        (
            requests.skip_stage,
            run_of(ANALYSIS),
            events.SkipStage(NOW, "ana", "2-ANALYSIS", "x"),
            "the run is at 1-ANALYSIS, not at 2-ANALYSIS",
        ),
        (
            requests.skip_stage,
            replace(run_of(ANALYSIS), ending=LEAVING),
            events.SkipStage(NOW, "ana", "1-ANALYSIS", "x"),
            "the run is ending and goes on with nothing",
        ),
        (
            requests.skip_stage,
            rolling_back(),
            events.SkipStage(NOW, "ana", "rollback", "x"),
            "the run is ending and goes on with nothing",
        ),
        (
            requests.skip_stage,
            replace(run_of(ANALYSIS), held=True),
            events.SkipStage(NOW, "ana", "1-ANALYSIS", "x"),
            "the stage has failed already; try it again, or cancel",
        ),
        (
            requests.retry,
            run_of(),
            events.Retry(NOW, "ana"),
            "only a run that waits after a failure can be tried again",
        ),
        (
            requests.retry,
            held(),
            events.Retry(NOW, "ana", ("us", "eu", "lab")),
            "there is nothing to try again on eu and lab",
        ),
        (requests.approve, run_of(), events.Approve(NOW, "ana"), "nothing waits for approval"),
        (requests.reject, run_of(), events.Reject(NOW, "ana"), "nothing waits for approval"),
        (
            requests.approve,
            waiting(),
            events.Approve(NOW, "dan"),
            "dan is not one of the approvers: ana, bo and cy",
        ),
        (
            requests.reject,
            waiting(),
            events.Reject(NOW, "dan"),
            "dan is not one of the approvers: ana, bo and cy",
        ),
        (requests.approve, waiting("ana"), events.Approve(NOW, "ana"), "ana has approved already"),
        (
            requests.promote,
            run_of(),
            events.PromoteWave(NOW, "ana", "x", "first"),
            "the run is not moving in waves",
        ),
        (
            requests.promote,
            ENDING,
            events.PromoteWave(NOW, "ana", "x"),
            "the run is ending and goes on with nothing",
        ),
        (
            requests.promote,
            with_stage(run_of(), status=TaskStatus.FAILED),
            events.PromoteWave(NOW, "ana", "x"),
            "the run is ending and goes on with nothing",
        ),
        (
            requests.unfreeze,
            replace(run_of(), unfrozen=state.Unfreezing("bo", AT, "y")),
            events.Unfreeze(NOW, "ana", "x"),
            "the windows are open to this run already: unfrozen by bo: y",
        ),
        (
            requests.unfreeze,
            ENDING,
            events.Unfreeze(NOW, "ana", "x"),
            "the run is ending, and windows never hold up a rollback",
        ),
        (
            requests.unfreeze,
            rolling_back(),
            events.Unfreeze(NOW, "ana", "x"),
            "the run is ending, and windows never hold up a rollback",
        ),
        (
            requests.unfreeze,
            run_of(),
            events.Unfreeze(NOW, "ana", "x"),
            "nothing of this run waits for a window",
        ),
        (
            requests.withdraw,
            waiting("bo"),
            events.Withdraw(NOW, "ana"),
            "ana has not approved what waits",
        ),
        (
            requests.withdraw,
            run_of(),
            events.Withdraw(NOW, "ana"),
            "nothing waits for approval",
        ),
        (
            requests.withdraw,
            waiting("ana", "bo"),
            events.Withdraw(NOW, "ana"),
            "too late: the gate has opened, and what it held up has begun",
        ),
    ],
)
def test_what_cannot_be_done_now(
    ask: Any, run: state.Run, event: events.Event, refusal: str
) -> None:
    assert ask(run, event) == requests.Refusal(refusal)


def test_a_cancel_keeps_the_reason_of_the_first_and_the_choice_of_the_last() -> None:
    first = requests.cancel(PAUSED, events.Cancel(NOW, "ana", reason="wrong", rollback=True))
    assert isinstance(first, state.Run)
    assert first.ending == state.Ending(RunStatus.CANCELLED, "cancelled by ana: wrong", True)
    assert (first.pause, first.held) == (None, False)
    assert {task.stopping for task in first.current.running} == {state.Stopping.GRACEFULLY}
    assert {task.deadline for task in first.current.running} == {NOW + first.policy.grace}

    second = requests.cancel(first, events.Cancel(NOW, "bo", now=True))
    assert isinstance(second, state.Run)
    assert second.ending == replace(first.ending, rollback=False)  # type: ignore[type-var]
    assert {task.stopping for task in second.current.running} == {state.Stopping.NOW}
    assert {task.stop_reason for task in second.current.running} == {"cancelled by ana: wrong"}


def test_a_rollback_is_broken_off_by_name() -> None:
    run = requests.cancel(rolling_back(), events.Cancel(NOW, "ana", now=True))

    assert isinstance(run, state.Run)
    assert (run.current.status, run.current.reason) == (TaskStatus.FAILED, "broken off by ana")
    assert run.current.finished == NOW


def test_a_cluster_that_is_left_out_says_by_whom_and_why() -> None:
    def reason(**event: Any) -> tuple[str, state.LeftOut]:
        planned = run_builder.new_run(
            "run-1",
            run_builder.RunSpec("shop", "new", run_builder.one_group(("us", "eu")), (SYNC,)),
            AT,
        )
        run = requests.skip(planned, events.SkipCluster(NOW, "ana", "us", **event))
        assert isinstance(run, state.Run)
        cluster = run.cluster("us")
        assert cluster is not None
        return cluster.left_out, cluster.left_out_for

    assert reason(reason="") == ("skipped by ana", state.LeftOut.SKIPPED)
    assert reason(reason="x") == ("skipped by ana: x", state.LeftOut.SKIPPED)
    assert reason(reason="x", cordoned=True) == ("cordoned by ana: x", state.LeftOut.CORDONED)


def statuses_after(answer: requests.Answer) -> dict[str, TaskStatus]:
    assert isinstance(answer, state.Run)
    return {task.target: task.status for task in answer.stages[0].tasks}


def test_a_running_task_of_a_skipped_cluster_finishes_its_write() -> None:
    run = requests.skip(run_of(), events.SkipCluster(NOW, "ana", "us", "x"))

    assert isinstance(run, state.Run)
    us, eu = run.current.tasks
    assert (us.stopping, us.stop_cause) == (state.Stopping.GRACEFULLY, state.StopCause.SKIP)
    assert (us.stop_reason, us.deadline) == ("skipped by ana: x", NOW + run.policy.grace)
    assert eu.stopping is state.Stopping.NOT


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        (TaskStatus.FAILED, TaskStatus.SKIPPED),
        (TaskStatus.UNREACHABLE, TaskStatus.SKIPPED),
        (TaskStatus.CANCELLED, TaskStatus.SKIPPED),
        (TaskStatus.PENDING, TaskStatus.SKIPPED),
        (TaskStatus.SUCCEEDED, TaskStatus.SUCCEEDED),
    ],
)
def test_of_a_held_run_a_cluster_is_skipped_that_did_not_succeed(
    was: TaskStatus, becomes: TaskStatus
) -> None:
    run = requests.skip(held(us=was), events.SkipCluster(NOW, "ana", "us", "x"))

    assert statuses_after(run)["us"] is becomes


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        (TaskStatus.PENDING, TaskStatus.SKIPPED),
        (TaskStatus.WAITING, TaskStatus.SKIPPED),
        (TaskStatus.FAILED, TaskStatus.FAILED),
        (TaskStatus.SUCCEEDED, TaskStatus.SUCCEEDED),
    ],
)
def test_a_stage_that_is_skipped_ends_where_it_has_not(
    was: TaskStatus, becomes: TaskStatus
) -> None:
    run = with_tasks(run_of(ANALYSIS), us=was)
    answer = requests.skip_stage(run, events.SkipStage(NOW, "ana", "1-ANALYSIS", "enough"))

    assert statuses_after(answer) == {"us": becomes, "eu": TaskStatus.RUNNING}
    assert isinstance(answer, state.Run)
    us, eu = answer.current.tasks
    assert (eu.stopping, eu.stop_reason) == ((state.Stopping.GRACEFULLY, "skipped by ana: enough"))
    if becomes is TaskStatus.SKIPPED:
        assert (us.reason, us.finished) == ("skipped by ana: enough", NOW)


def test_a_cluster_on_its_way_back_is_not_skipped_with_the_stage() -> None:
    run = run_of(ANALYSIS)
    (group,) = run.current.groups
    us = replace(group.tasks[0], rolling_back="it failed")
    run = with_stage(run, groups=(replace(group, tasks=(us, group.tasks[1])),))
    answer = requests.skip_stage(run, events.SkipStage(NOW, "ana", "1-ANALYSIS", "enough"))

    assert isinstance(answer, state.Run)
    assert next(iter(answer.current.tasks)) is us


@pytest.mark.parametrize(
    ("was", "targets", "expected"),
    [
        (TaskStatus.FAILED, (), TaskStatus.PENDING),
        (TaskStatus.UNREACHABLE, ("us",), TaskStatus.PENDING),
        # What was stopped for the others starts again with them.
        (TaskStatus.CANCELLED, ("eu",), TaskStatus.PENDING),
        (TaskStatus.FAILED, ("eu",), TaskStatus.FAILED),
        (TaskStatus.SUCCEEDED, (), TaskStatus.SUCCEEDED),
    ],
)
def test_a_held_stage_is_tried_again_with_a_fresh_limit(
    was: TaskStatus, targets: tuple[str, ...], expected: TaskStatus
) -> None:
    run = left_out(held(us=was, eu=TaskStatus.FAILED), "us")
    answer = requests.retry(run, events.Retry(NOW, "ana", targets))

    assert statuses_after(answer)["us"] is expected
    assert isinstance(answer, state.Run)
    stage = answer.stages[0]
    assert (stage.status, stage.reason, stage.finished) == (TaskStatus.RUNNING, "", None)
    assert (stage.started, stage.deadline) == (AT, NOW + SYNC.timeout)
    assert not answer.held
    cluster = answer.cluster("us")
    assert cluster is not None
    tried = was is not TaskStatus.SUCCEEDED and targets != ("eu",)
    assert (cluster.left_out == "") is tried
    assert cluster.left_out_for is state.LeftOut.NOT


def test_the_limit_of_a_retry_counts_from_when_the_clock_stopped() -> None:
    answer = requests.retry(replace(held(), clock_stopped=AT), events.Retry(NOW, "ana"))

    assert isinstance(answer, state.Run)
    assert answer.stages[0].deadline == AT + SYNC.timeout


def test_a_retry_asks_again_for_what_was_not_given() -> None:
    def asked_again(*given: str) -> state.GroupState:
        run = waiting(*given)
        (group,) = run.stages[0].groups
        tasks = tuple(replace(task, status=TaskStatus.FAILED) for task in group.tasks)
        failed = with_stage(run, groups=(replace(group, tasks=tasks),), status=TaskStatus.FAILED)
        answer = requests.retry(replace(failed, held=True), events.Retry(NOW, "ana"))
        assert isinstance(answer, state.Run)
        return answer.stages[0].groups[0]

    lost, kept = asked_again("ana"), asked_again("ana", "bo")
    assert (lost.asked, lost.expires, lost.approvals) == (None, None, ())
    assert kept.asked == AT
    assert [each.by for each in kept.approvals] == ["ana", "bo"]


def test_approvals_are_counted_and_one_no_is_enough() -> None:
    one = requests.approve(waiting(), events.Approve(NOW, "ana", "fine"))
    assert isinstance(one, state.Run)
    assert one.current.groups[0].approvals == (state.Approval("ana", NOW, "fine"),)
    assert one.current.reason == "awaiting approval: 1 of 2 (approvers: ana, bo and cy)"

    back = requests.withdraw(one, events.Withdraw(NOW, "ana"))
    assert isinstance(back, state.Run)
    assert back.current.groups[0].approvals == ()
    assert back.current.status is TaskStatus.WAITING
    assert back.current.reason == "awaiting approval: 0 of 2 (approvers: ana, bo and cy)"

    for comment, said in (("", "rejected by bo"), ("why", "rejected by bo: why")):
        no = requests.reject(one, events.Reject(NOW, "bo", comment))
        assert isinstance(no, state.Run)
        assert (no.current.status, no.current.reason) == (TaskStatus.FAILED, said)
        assert no.current.finished == NOW


def test_what_was_let_happen_before_its_time_is_named_once() -> None:
    run = replace(run_of(), unfrozen=state.Unfreezing("bo", AT, "y"))
    stages = tuple(replace(each, wave="a", promoted="promoted by ana: x") for each in run.stages)
    promoted = replace(run, stages=stages)

    assert requests.exceptions(run_of()) == requests.current_exception(run_of()) == ""
    assert requests.exceptions(run) == requests.current_exception(run) == "unfrozen by bo: y"
    assert requests.exceptions(promoted) == ("wave a promoted by ana: x and unfrozen by bo: y")
    assert requests.current_exception(promoted) == "promoted by ana: x"


def test_an_abandoned_run_counts_what_ran_as_written() -> None:
    happened, step = machine.abandon(run_of(), "ana", "gone", NOW)

    assert (step.run.status, step.run.touched) == (RunStatus.CANCELLED, ("us", "eu"))
    assert [type(event).__name__ for event in happened] == [
        "Cancel",
        "TaskFinished",
        "TaskFinished",
    ]
    assert "cancelled by ana: gone" in step.run.reason
    reasons = {task.reason for task in step.run.stages[0].tasks}
    assert reasons == {"nobody carries it out any more"}


def test_an_approval_is_withdrawn_while_its_gate_is_closed_and_nothing_has_begun() -> None:
    one = machine.advance(waiting("ana"), events.SkipCluster(AT, "bo", "us", "on fire")).run
    back = requests.withdraw(one, events.Withdraw(NOW, "ana"))
    assert isinstance(back, state.Run), "that a cluster was skipped opens no gate"
    assert back.current.groups[0].approvals == ()

    passed = waiting("ana", "bo")
    (group,) = passed.current.groups
    tried = tuple(replace(task, status=TaskStatus.PENDING, attempt=1) for task in group.tasks)
    late = with_stage(passed, groups=(replace(group, tasks=tried),))
    refusal = requests.withdraw(late, events.Withdraw(NOW, "ana"))
    assert refusal == requests.Refusal(
        "too late: the gate has opened, and what it held up has begun"
    )


def test_approvals_are_asked_for_once() -> None:
    later = machine.advance(waiting(), events.TimePassed(AT + timedelta(minutes=1))).run

    (group,) = later.current.groups
    assert (group.asked, group.expires) == (AT, AT + RULE.timeout)


def test_what_never_began_ends_when_the_run_is_cancelled() -> None:
    run = machine.advance(waiting(), events.Cancel(NOW, "ana")).run

    assert run.status is RunStatus.CANCELLED
    assert [stage.finished for stage in run.stages[:1]] == [NOW]
    assert {task.finished for task in run.stages[0].tasks} == {NOW}


def test_a_task_that_has_ended_takes_no_second_report() -> None:
    first = statuses.Outcome(TaskStatus.SUCCEEDED, "done", touched=True)
    second = statuses.Outcome(TaskStatus.FAILED, "no image", touched=True)
    run = run_of()
    run = machine.advance(run, events.TaskFinished(AT, run.current.id, "us", 1, first)).run
    step = machine.advance(run, events.TaskFinished(NOW, run.current.id, "us", 1, second))

    task = step.run.current.task("us")
    assert task is not None
    assert (task.status, task.reason, task.finished) == (TaskStatus.SUCCEEDED, "done", AT)


def test_a_task_runs_from_its_first_try_and_says_so() -> None:
    task = run_of().current.task("us")

    assert task is not None
    assert (task.status, task.reason) == (TaskStatus.RUNNING, "running")
    assert (task.started, task.attempt) == (AT, 1)


def test_a_cluster_that_is_skipped_keeps_what_it_has_done() -> None:
    run = run_of(SYNC, ANALYSIS)
    done = statuses.Outcome(TaskStatus.SUCCEEDED, "done", touched=True)
    run = machine.advance(run, events.TaskFinished(AT, run.current.id, "us", 1, done)).run
    run = machine.advance(run, events.SkipCluster(NOW, "bo", "us", "on fire")).run

    task = run.stages[0].task("us")
    assert task is not None
    assert (task.status, task.finished) == (TaskStatus.SUCCEEDED, AT)


def test_a_stage_that_fails_has_an_end() -> None:
    run = updates.fail_current(run_of(), "no cluster is left", NOW)

    assert (run.current.status, run.current.reason) == (TaskStatus.FAILED, "no cluster is left")
    assert run.current.finished == NOW


def test_a_run_is_released_once() -> None:
    cancelled = machine.advance(waiting(), events.Cancel(NOW, "ana"))
    again = commands.between(cancelled.run, replace(cancelled.run, reason="said otherwise"))

    released = [one for one in cancelled.commands if isinstance(one, commands.Release)]
    assert released == [commands.Release(RunStatus.CANCELLED, cancelled.run.reason)]
    assert not [one for one in again if isinstance(one, commands.Release)]
    taken_over = commands.between(None, cancelled.run)
    assert released == [one for one in taken_over if isinstance(one, commands.Release)]
