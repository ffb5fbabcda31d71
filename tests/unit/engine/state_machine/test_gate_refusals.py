"""A gate that says no fails its wave, whatever the wave may lose of its clusters."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from volary.engine.runs import policies, run_builder, state
from volary.engine.state_machine import events, machine
from volary.model import statuses
from volary.model.pipeline import pipelines, webhook
from volary.model.pipeline.stage_kinds import external_stages, rollout_stages
from volary.model.statuses import RunStatus, TaskStatus

START = datetime(2026, 1, 1, tzinfo=UTC)
SYNC = pipelines.Stage(
    rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(minutes=10)
)
GATE = pipelines.Stage(
    external_stages.WEBHOOK_GATE.name,
    external_stages.WebhookGateOptions(webhook.Webhook(url="http://gate.example", name="gate")),
    index=1,
    timeout=timedelta(minutes=5),
)


def at_the_gate(names: tuple[str, ...] = ("us",)) -> state.Run:
    """Two waves, each of which may lose every cluster; the first one has come to its gate."""
    members = (names, ("eu",))
    waves = tuple(
        policies.WaveRule(
            f"wave-{number}", each, failures=len(each), on_failure=policies.OnFailure.STOP
        )
        for number, each in enumerate(members, start=1)
    )
    steps = tuple(
        run_builder.WaveStep(each, run_builder.Group(wave.targets, wave.name), wave.name)
        for wave in waves
        for each in (SYNC, GATE)
    )
    groups = (run_builder.Group((*names, "eu")),)
    made = run_builder.RunSpec("shop", "new", groups, (SYNC, GATE), waves=waves, steps=steps)
    run = machine.advance(run_builder.new_run("run", made, START), events.Start(START)).run
    for name in names:
        run = ended(run, name, statuses.Outcome(TaskStatus.SUCCEEDED, "done", touched=True))
    assert run.current.stage.kind is external_stages.WEBHOOK_GATE
    return run


def ended(run: state.Run, name: str, told: statuses.Outcome, at: datetime = START) -> state.Run:
    return machine.advance(run, events.TaskFinished(at, run.current.id, name, 1, told)).run


@pytest.mark.parametrize("names", [("us",), ("us", "asia")])
def test_a_no_is_not_covered_by_the_budget_of_the_clusters_that_ask(names: tuple[str, ...]) -> None:
    no = statuses.Outcome(TaskStatus.FAILED, "gate answered 403", refused=True)

    run = ended(at_the_gate(names), "us", no)
    for name in names[1:]:
        run = ended(run, name, statuses.Outcome(TaskStatus.CANCELLED, "stopped"))

    assert run.status is RunStatus.FAILED
    assert run.stages[1].reason == "us: gate answered 403"
    assert [each.name for each in run.clusters if each.left_out] == []
    assert run.stages[2].started is None


def test_no_answer_in_time_is_a_no() -> None:
    """The stage was told to stop, so that it could not say itself how it ended."""
    run, late = at_the_gate(), START + GATE.timeout
    run = machine.advance(run, events.TimePassed(late)).run

    run = ended(run, "us", statuses.Outcome(TaskStatus.CANCELLED, "no longer waiting"), late)

    assert run.status is RunStatus.FAILED
    assert run.stages[1].reason == "us: timed out after 5m: no longer waiting"
    assert run.stages[2].started is None


def test_a_cluster_that_fails_while_a_gate_is_asked_costs_its_place_alone() -> None:
    run = ended(at_the_gate(), "us", statuses.Outcome(TaskStatus.FAILED, "canary went down"))

    assert [each.name for each in run.clusters if each.left_out] == ["us"]
    assert run.status is RunStatus.RUNNING


def test_asked_again_after_a_no_the_answer_alone_counts() -> None:
    """It is held, a person has it tried again, and then it is the cluster that fails."""
    run = at_the_gate()
    held = tuple(
        policies.WaveRule(each.name, each.targets, failures=1, on_failure=policies.OnFailure.HOLD)
        for each in run.waves
    )
    run = replace(run, waves=held)
    run = ended(run, "us", statuses.Outcome(TaskStatus.FAILED, "no", refused=True))
    assert run.held
    run = machine.advance(run, events.Retry(START, "ana")).run
    failed = statuses.Outcome(TaskStatus.FAILED, "canary went down")
    run = machine.advance(run, events.TaskFinished(START, run.current.id, "us", 2, failed)).run

    assert [each.name for each in run.clusters if each.left_out] == ["us"]
