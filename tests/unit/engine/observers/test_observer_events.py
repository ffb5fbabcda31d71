"""What observers are told of the step from one state of a run to the next."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from volary.engine.observers import feed, observer_events
from volary.engine.runs import policies, run_builder, state
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.statuses import RunStatus, TaskStatus

AT = datetime(2026, 1, 1, tzinfo=UTC)
SYNC = pipelines.Stage(
    rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(minutes=10)
)
PLANNED = run_builder.new_run(
    "run-1",
    run_builder.RunSpec("shop", "new", run_builder.one_group(("us", "eu")), (SYNC,), "old"),
    AT,
)
RUNNING = state.TaskState("us", TaskStatus.RUNNING, "running", 1, AT, deadline=AT)


def with_stage(run: state.Run, **changes: Any) -> state.Run:
    return replace(run, stages=(replace(run.stages[0], **changes),))


def with_task(run: state.Run, task: state.TaskState) -> state.Run:
    (group,) = run.stages[0].groups
    return with_stage(run, groups=(replace(group, tasks=(task, group.tasks[1])),))


def told(before: state.Run | None, after: state.Run) -> list[dict[str, Any]]:
    shown = []
    for event in observer_events.between(before, after, AT):
        said = {"event": type(event).__name__, **msgspec.structs.asdict(event)}
        assert (said.pop("at"), said.pop("run"), said.pop("number")) == (AT, "run-1", 0)
        if isinstance(event, feed.StageEvent):
            assert (said.pop("stage"), said.pop("stage_name")) == ("1-K8S_SYNC", "K8S_SYNC")
        if isinstance(event, feed.TaskEvent):
            assert (said.pop("target"), said.pop("attempt")) == (
                "us",
                after.stages[0].groups[0].tasks[0].attempt,
            )
        shown.append(said)
    return shown


def test_a_start_says_what_is_going_to_happen_where() -> None:
    waves = (policies.WaveRule("a", ("us",)), policies.WaveRule("b", ("eu",)))
    left = replace(PLANNED.clusters[1], left_out="cordoned by ana")
    planned = replace(PLANNED, waves=waves, warnings=("x has no effect",))
    begun = replace(planned, started=AT, clusters=(PLANNED.clusters[0], left))

    assert told(PLANNED, begun) == [
        {
            "event": "RunStarted",
            "application": "shop",
            "commit": "new",
            "running_commit": "old",
            "targets": ("us", "eu"),
            "stages": ("1-K8S_SYNC",),
            "left_out": ("eu",),
            "waves": {"a": ("us",), "b": ("eu",)},
            "warnings": ("x has no effect",),
        }
    ]
    assert told(begun, replace(begun, policy=policies.Policy(stop_reason="x"))) == []
    assert told(begun, begun) == []


def test_what_a_run_that_rolls_another_back_begins_with_was_told_before() -> None:
    planned = replace(PLANNED, rollback_of="run-0")
    begun = replace(planned, started=AT)

    assert told(None, planned) == []
    assert told(planned, begun)[0]["stages"] == ()


@pytest.mark.parametrize(
    ("status", "reason", "expected"),
    [
        (RunStatus.PLANNED, "other", []),
        (
            RunStatus.RUNNING,
            "stage 1",
            [{"event": "RunChanged", "status": RunStatus.RUNNING, "reason": "stage 1"}],
        ),
        (
            RunStatus.FAILED,
            "why",
            [
                {
                    "event": "RunFinished",
                    "status": RunStatus.FAILED,
                    "reason": "why",
                    "touched": ("us",),
                    "exceptions": {"eu": "skipped by ana"},
                }
            ],
        ),
    ],
)
def test_status_and_reason_of_the_run(
    status: RunStatus, reason: str, expected: list[dict[str, Any]]
) -> None:
    touched = replace(PLANNED.clusters[0], touched=True)
    skipped = replace(PLANNED.clusters[1], left_out="skipped by ana")
    before = replace(PLANNED, clusters=(touched, skipped))

    assert told(before, replace(before, status=status, reason=reason)) == expected


def test_a_rollback_is_announced_once_with_what_it_visits() -> None:
    stage = replace(PLANNED.stages[0], id=state.ROLLBACK_ID, groups=())
    touched = replace(PLANNED.clusters[0], touched=True)
    before = replace(PLANNED, clusters=(touched, PLANNED.clusters[1]), reason="x")
    after = replace(before, rollback=stage)

    assert told(before, after) == [{"event": "RollbackStarted", "reason": "x", "targets": ("us",)}]
    assert told(after, replace(after, rollback=replace(stage, wave="a"))) == []


def test_a_stage_begins_once_and_again_after_a_retry() -> None:
    begun = with_stage(PLANNED, started=AT, status=TaskStatus.RUNNING, deadline=AT)
    failed = with_stage(begun, status=TaskStatus.FAILED, reason="x", finished=AT)
    started = {"event": "StageStarted", "targets": ("us", "eu"), "deadline": AT}

    assert told(PLANNED, begun) == [started]
    assert told(begun, with_stage(begun, promoted="ana")) == []
    assert told(begun, failed) == [
        {"event": "StageFinished", "status": TaskStatus.FAILED, "reason": "x"}
    ]
    assert told(failed, begun) == [started]
    assert told(failed, with_stage(failed, reason="x; y")) == [
        {"event": "StageFinished", "status": TaskStatus.FAILED, "reason": "x; y"}
    ]
    assert told(failed, with_stage(failed, promoted="ana")) == []


def test_who_has_ended_takes_no_part_in_a_stage_that_begins() -> None:
    ended = state.TaskState("us", TaskStatus.SKIPPED, "left out")
    before = with_task(PLANNED, ended)
    begun = with_stage(before, started=AT, status=TaskStatus.RUNNING)

    assert told(before, begun)[0]["targets"] == ("eu",)


def test_a_stage_that_waits_for_people_says_so_and_one_that_waits_for_a_window_does_not() -> None:
    waits = with_stage(PLANNED, status=TaskStatus.WAITING, reason="awaiting approval")
    (group,) = waits.stages[0].groups
    closed = with_stage(waits, groups=(replace(group, closed="us waits"),))

    assert told(PLANNED, waits) == [{"event": "StageWaiting", "reason": "awaiting approval"}]
    assert told(waits, with_stage(waits, reason="1 of 2")) == []
    assert told(PLANNED, closed) == []


def test_a_task_from_beginning_to_end() -> None:
    running = with_task(PLANNED, RUNNING)
    how = state.Stopping.GRACEFULLY
    stopping = with_task(PLANNED, replace(RUNNING, stopping=how, stop_reason="x"))
    ended = replace(RUNNING, status=TaskStatus.SUCCEEDED, reason="done", details=("a",))
    started = {"event": "TaskStarted", "deadline": AT}
    finished = {"event": "TaskFinished", "status": TaskStatus.SUCCEEDED, "reason": "done"}

    assert told(PLANNED, running) == [started]
    assert told(running, with_task(PLANNED, replace(RUNNING, progress=state.Progress("x")))) == []
    assert told(running, stopping) == [{"event": "TaskStopping", "how": how, "reason": "x"}]
    assert (
        told(
            stopping,
            with_task(PLANNED, replace(stopping.stages[0].groups[0].tasks[0], deadline=None)),
        )
        == []
    )
    assert told(running, with_task(PLANNED, ended)) == [{**finished, "details": ("a",)}]
    assert told(with_task(PLANNED, ended), with_task(PLANNED, replace(ended, reason="x"))) == []
    again = replace(RUNNING, attempt=2)
    assert told(stopping, with_task(PLANNED, again)) == [started]
    assert told(with_task(PLANNED, ended), with_task(PLANNED, again)) == [started]


def test_a_cluster_that_is_waited_for_says_why_once() -> None:
    running = with_task(PLANNED, RUNNING)
    waits = with_task(PLANNED, replace(RUNNING, status=TaskStatus.WAITING, reason="silent"))
    said = {"event": "TaskProgressed", "sentence": "silent", "ready": 0, "total": 0}
    said |= {"wanted_weights": {}, "observed_weights": {}}

    assert told(running, waits) == [said]
    assert told(PLANNED, waits) == []


def test_traffic_is_told_when_it_is_divided_otherwise() -> None:
    wanted = state.Progress("moving", wanted_weights={"primary": 90, "canary": 10})
    seen = replace(wanted, observed_weights={"primary": 90, "canary": 10})
    before, moving, moved, said_otherwise, nothing_more = (
        with_task(PLANNED, replace(RUNNING, progress=progress))
        for progress in (None, wanted, seen, replace(seen, sentence="moved"), state.Progress("x"))
    )
    event = {"event": "TaskTraffic", "wanted_weights": {"primary": 90, "canary": 10}}

    assert told(before, moving) == [{**event, "observed_weights": {}}]
    assert told(moving, moved) == [{**event, "observed_weights": {"primary": 90, "canary": 10}}]
    assert told(moved, said_otherwise) == []
    assert told(moved, nothing_more) == []
    ended = replace(RUNNING, status=TaskStatus.SUCCEEDED, reason="x", progress=seen)
    # What was seen last is not lost when the task ends in the same step.
    assert [each["event"] for each in told(moving, with_task(PLANNED, ended))] == [
        "TaskTraffic",
        "TaskFinished",
    ]
