"""What becomes of a task by what is reported of its end."""

from datetime import UTC, datetime, timedelta

import pytest

from volary.engine.runs import policies, run_builder, state
from volary.engine.state_machine import events, machine
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import added_stages, rollout_stages
from volary.model.statuses import RunStatus, TaskStatus

START = datetime(2026, 1, 1, tzinfo=UTC)
SYNC = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
GATE = pipelines.Stage(
    added_stages.WAVE_GATE.name, added_stages.WaveGateOptions(timedelta(hours=1)), index=1
)


def begun(*stages: pipelines.Stage) -> state.Run:
    """A run of one wave with one cluster, at its first stage."""
    rule = policies.WaveRule("all", ("us",), on_failure=policies.OnFailure.STOP)
    group = run_builder.Group(("us",), "all")
    steps = tuple(run_builder.WaveStep(stage, group, "all") for stage in stages)
    made = run_builder.RunSpec("shop", "new", (group,), stages, waves=(rule,), steps=steps)
    return machine.advance(run_builder.new_run("run", made, START), events.Start(START)).run


def ended(run: state.Run, outcome: statuses.Outcome) -> state.Run:
    (task,) = run.current.running
    told = events.TaskFinished(START, run.current.id, "us", task.attempt, outcome)
    return machine.advance(run, told).run


@pytest.mark.parametrize(
    "status",
    [TaskStatus.PENDING, TaskStatus.WAITING, TaskStatus.RUNNING, TaskStatus.ROLLED_BACK],
)
def test_a_stage_that_reports_no_end_has_failed_and_may_have_written(status: TaskStatus) -> None:
    run = ended(begun(SYNC), statuses.Outcome(status, "so it was"))

    task = run.stages[0].task("us")
    assert task is not None
    assert task.status is TaskStatus.FAILED
    assert task.reason == f"the stage reported {status.value}, which is no end"
    assert run.touched == ("us",)
    assert run.status is RunStatus.FAILED


def test_a_proof_of_health_that_was_passed_over_is_none_and_says_why() -> None:
    run = ended(begun(SYNC, GATE), statuses.Outcome(TaskStatus.SUCCEEDED, "done"))
    run = ended(run, statuses.Outcome(TaskStatus.SKIPPED, "nothing to look at"))

    assert run.status is RunStatus.FAILED
    assert run.stages[1].reason == "us: not seen healthy on this release: nothing to look at"


@pytest.mark.parametrize("status", [TaskStatus.SUCCEEDED, TaskStatus.CANCELLED])
def test_a_soak_that_was_promoted_begins_again_unless_it_is_over_already(
    status: TaskStatus,
) -> None:
    run = ended(begun(SYNC, GATE), statuses.Outcome(TaskStatus.SUCCEEDED, "done"))
    run = machine.advance(run, events.PromoteWave(START, "ana", "it is urgent")).run
    run = ended(run, statuses.Outcome(status, "so it was"))

    (task,) = run.stages[1].tasks
    expected = {
        TaskStatus.SUCCEEDED: (TaskStatus.SUCCEEDED, 1, RunStatus.SUCCEEDED),
        TaskStatus.CANCELLED: (TaskStatus.RUNNING, 2, RunStatus.RUNNING),
    }
    assert (task.status, task.attempt, run.status) == expected[status]


@pytest.mark.parametrize("on_failure", policies.OnFailure)
def test_only_a_run_that_asks_a_person_is_held_after_a_failure(
    on_failure: policies.OnFailure,
) -> None:
    """A run on its way back is not: skipping a cluster would begin the failed stage again."""
    spec = run_builder.RunSpec(
        "shop",
        "new",
        run_builder.one_group(("us",)),
        (SYNC,),
        policy=policies.Policy(on_failure=on_failure),
    )
    run = machine.advance(run_builder.new_run("run", spec, START), events.Start(START)).run
    run = ended(run, statuses.Outcome(TaskStatus.FAILED, "no such image", touched=True))

    assert run.held is (on_failure is policies.OnFailure.HOLD)
