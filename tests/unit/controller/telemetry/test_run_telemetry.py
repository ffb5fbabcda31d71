"""What a run that has ended leaves behind: metrics and spans."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import exposition

from volary.controller.telemetry import run_metrics, run_spans
from volary.engine.runs import run_builder, state
from volary.engine.state_machine import events, machine
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
STAGE = "1-K8S_CANARY_ROLLOUT"


def _ended(*outcomes: statuses.Outcome) -> state.Run:
    """Return a run of one stage that takes ten seconds, with these outcomes on us, eu, …"""
    stage = pipelines.Stage(
        rollout_stages.CANARY_ROLLOUT.name,
        rollout_stages.VariantRolloutOptions(),
        timeout=timedelta(minutes=10),
    )
    targets = ("us", "eu", "asia")[: len(outcomes)]
    groups = run_builder.one_group(targets)
    spec = run_builder.RunSpec("shop", "c0ffee", groups, (stage,))
    run = run_builder.new_run("4711", spec, BEGAN)
    run = machine.advance(run, events.Start(BEGAN)).run
    for target, outcome in zip(targets, outcomes, strict=True):
        at = BEGAN + timedelta(seconds=10)
        run = machine.advance(run, events.TaskFinished(at, STAGE, target, 1, outcome)).run
    return run


SUCCEEDED = statuses.Outcome(statuses.TaskStatus.SUCCEEDED, "done")


def test_a_run_is_a_trace_with_its_stages_within() -> None:
    run = _ended(SUCCEEDED, SUCCEEDED)

    whole, stage = run_spans.of_run("release", run)

    assert (whole.name, whole.place.parent, whole.failure) == ("run release", None, "")
    assert whole.ended - whole.began == timedelta(seconds=10)
    assert whole.attributes["volary.run.status"] == "succeeded"
    assert (stage.name, stage.place.parent) == ("K8S_CANARY_ROLLOUT", whole.place)
    assert stage.failure == ""


def test_a_run_that_never_began_is_no_trace() -> None:
    run = replace(_ended(SUCCEEDED), started=None)

    assert list(run_spans.of_run("release", run)) == []


def test_runs_are_counted_with_their_stages_and_failures() -> None:
    made = run_metrics.RunMetrics()
    failed = statuses.Outcome(statuses.TaskStatus.FAILED, "no")
    run = _ended(SUCCEEDED, failed)

    made.begun("release", timedelta(seconds=1))
    made.ended("release", run)
    text = exposition.generate_latest(made.registry).decode()

    assert 'volary_run_wait_seconds_sum{kind="release"} 1.0' in text
    assert f'volary_run_seconds_sum{{kind="release",status="{run.status}"}} 10.0' in text
    assert 'volary_stage_seconds_sum{stage="K8S_CANARY_ROLLOUT",status="failed"} 10.0' in text
    assert 'volary_task_failures_total{reason="failed",stage="K8S_CANARY_ROLLOUT"} 1.0' in text
    assert "shop" not in text


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (state.TaskState("us", statuses.TaskStatus.SUCCEEDED), None),
        (state.TaskState("us", statuses.TaskStatus.SKIPPED), None),
        (state.TaskState("us", statuses.TaskStatus.UNREACHABLE), "unreachable"),
        (state.TaskState("us", statuses.TaskStatus.CANCELLED), "cancelled"),
        (state.TaskState("us", statuses.TaskStatus.FAILED), "failed"),
        (state.TaskState("us", statuses.TaskStatus.FAILED, refused=True), "refused"),
        (
            state.TaskState(
                "us", statuses.TaskStatus.FAILED, stop_cause=state.StopCause.TIMEOUT, refused=True
            ),
            "timed-out",
        ),
    ],
)
def test_failures_have_classes(task: state.TaskState, expected: str | None) -> None:
    assert run_metrics.failure_class(task) == expected
