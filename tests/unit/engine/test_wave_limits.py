"""Limits in waves: a cluster that is late is one failure, not that of its wave."""

from datetime import UTC, datetime, timedelta

from volary.engine import events, machine, plan, rules, state
from volary.model import outcome, stage
from volary.model.status import RunStatus, TaskStatus

START = datetime(2026, 1, 1, tzinfo=UTC)
SYNC = stage.Stage(stage.StageName.SYNC, stage.SyncOptions(), timeout=timedelta(minutes=10))
NAMES = ("us", "eu")


def begun(*, concurrency: int = 0) -> state.Run:
    rule = rules.WaveRule("all", NAMES, failures=1)
    step = plan.Step(SYNC, plan.Group(NAMES, "all", concurrency), "all")
    groups = (plan.Group(NAMES),)
    made = plan.Plan("shop", "new", groups, (SYNC,), waves=(rule,), steps=(step,))
    return machine.advance(plan.new_run("run", made, START), events.Start(START)).run


def ended(run: state.Run, name: str, at: datetime, status: TaskStatus) -> state.Run:
    told = outcome.Outcome(status, "so it was")
    return machine.advance(run, events.TaskFinished(at, "all/1-K8S_SYNC", name, 1, told)).run


def test_a_cluster_that_is_late_costs_its_place_in_the_budget_alone() -> None:
    run = ended(begun(), "us", START + timedelta(minutes=1), TaskStatus.SUCCEEDED)
    late = START + SYNC.timeout
    run = machine.advance(run, events.TimePassed(late)).run
    assert run.status is RunStatus.RUNNING
    run = ended(run, "eu", late + timedelta(seconds=5), TaskStatus.CANCELLED)

    assert run.status is RunStatus.FAILED
    assert "the run went on without eu (failed: timed out after 10m" in run.reason
    assert run.stages[0].status is TaskStatus.SUCCEEDED


def test_clusters_that_had_no_turn_in_time_fail_the_wave() -> None:
    late = START + SYNC.timeout
    run = machine.advance(begun(concurrency=1), events.TimePassed(late)).run
    assert run.stages[0].status is TaskStatus.FAILED
    assert run.stages[0].reason.startswith("timed out after 10m on eu")
