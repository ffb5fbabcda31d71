"""The machine when a cluster is cordoned in mid-run."""

from datetime import UTC, datetime

from volary.engine.runs import run_builder, state
from volary.engine.state_machine import events, machine
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages

AT = datetime(2026, 1, 1, tzinfo=UTC)
SYNC = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())


def begun() -> state.Run:
    """A run that has begun on us, with eu waiting for its turn."""
    made = run_builder.RunSpec(
        "shop", "new", run_builder.one_group(("us", "eu"), concurrency=1), (SYNC,)
    )
    return machine.advance(run_builder.new_run("run-1", made, AT), events.Start(AT)).run


def cordon(run: state.Run, cluster: str) -> machine.Step:
    return machine.advance(run, events.SkipCluster(AT, "ana", cluster, "1.36", cordoned=True))


def test_it_is_left_out_where_nothing_has_begun_and_does_not_count_as_skipped() -> None:
    step = cordon(begun(), "eu")

    eu = step.run.cluster("eu")
    assert step.refusal == ""
    assert eu is not None
    assert (eu.left_out, eu.left_out_for) == ("cordoned by ana: 1.36", state.LeftOut.CORDONED)


def test_nothing_is_left_out_of_a_rollback() -> None:
    run = machine.advance(begun(), events.Cancel(AT, "ana", rollback=True)).run
    told = statuses.Outcome(statuses.TaskStatus.CANCELLED, "stopped", touched=True)
    run = machine.advance(run, events.TaskFinished(AT, run.current.id, "us", 1, told)).run
    assert run.status is statuses.RunStatus.ROLLING_BACK

    step = cordon(run, "eu")

    assert step.refusal == "the run has begun on eu, and finishes or goes back there"
    assert step.run is run


def test_where_it_has_begun_it_finishes() -> None:
    step = cordon(begun(), "us")

    us = step.run.cluster("us")
    assert step.refusal == "the run has begun on us, and finishes or goes back there"
    assert us is not None
    assert us.left_out == ""
