"""Tells observers what changed between two states of a run, in the order it makes sense.

Progress and log lines are not among it: they go to the observers as they are reported.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from volary.engine.observers import feed
from volary.engine.runs import state, updates
from volary.engine.state_machine import failures
from volary.model import statuses


def between(before: state.Run | None, after: state.Run, at: datetime) -> tuple[feed.RunEvent, ...]:
    """Return the events of the step from `before` to `after`, not numbered yet."""
    if before is after or (before is None and after.rollback_of):
        # What one that takes another run back begins with was reported by that one.
        return ()
    return tuple(_all(before, after, at))


def _all(before: state.Run | None, after: state.Run, at: datetime) -> Iterator[feed.RunEvent]:
    if after.started and not (before and before.started):
        yield _started(after, at)
    for _, old, stage in updates.changed_stages(before, after):
        if stage.id == state.ROLLBACK_ID and old is None:
            yield feed.RollbackStarted(
                at=at, run=after.id, reason=after.reason, targets=after.touched
            )
        said = {"at": at, "run": after.id, "stage": stage.id, "stage_name": stage.stage.name}
        yield from _of_stage(said, old, stage)
    yield from _of_run(before, after, at)


def _started(run: state.Run, at: datetime) -> feed.RunEvent:
    return feed.RunStarted(
        at=at,
        run=run.id,
        application=run.application,
        commit=run.commit,
        running_commit=run.running_commit,
        targets=run.targets,
        stages=() if run.rollback_of else tuple(stage.id for stage in run.stages),
        left_out=tuple(cluster.name for cluster in run.clusters if cluster.left_out),
        waves={wave.name: wave.targets for wave in run.waves},
        warnings=() if run.rollback_of else run.warnings,
    )


def _of_run(before: state.Run | None, after: state.Run, at: datetime) -> Iterator[feed.RunEvent]:
    same = before and (before.status, before.reason) == (after.status, after.reason)
    if same or after.status is statuses.RunStatus.PLANNED:
        return
    if after.is_final:
        yield feed.RunFinished(
            at=at,
            run=after.id,
            status=after.status,
            reason=after.reason,
            touched=after.touched,
            exceptions={
                **{one.name: one.left_out for one in after.clusters if one.left_out},
                **(failures.undone(after) if after.status in statuses.GOOD_ENDS else {}),
            },
        )
    else:
        yield feed.RunChanged(at=at, run=after.id, status=after.status, reason=after.reason)


def _of_task(
    said: Mapping[str, Any], before: state.TaskState | None, after: state.TaskState
) -> Iterator[feed.RunEvent]:
    """Yield what changed about one task; `said` is what every event of its stage says."""
    same = before is not None and before.attempt == after.attempt
    stopping = before.stopping if same and before else state.Stopping.NOT
    said = {**said, "target": after.target, "attempt": after.attempt}
    if after.is_running and not (same and before and before.is_running):
        yield feed.TaskStarted(**said, deadline=after.deadline)
    if weights := _new_weights(before if same else None, after):
        wanted, observed = weights
        yield feed.TaskTraffic(**said, wanted_weights=wanted, observed_weights=observed)
    if after.is_running and after.stopping is not stopping:
        yield feed.TaskStopping(**said, how=after.stopping, reason=after.stop_reason)
    if after.status is statuses.TaskStatus.WAITING and before and before.is_running:
        # Nobody is at it, so nobody else would say why nothing happens.
        yield feed.TaskProgressed(**said, sentence=after.reason, ready=0, total=0)
    if after.is_final and not (before and before.is_final):
        yield feed.TaskFinished(
            **said, status=after.status, reason=after.reason, details=after.details
        )


def _new_weights(
    before: state.TaskState | None, after: state.TaskState
) -> tuple[Mapping[str, int], Mapping[str, int]] | None:
    """Return how traffic is divided, as wanted and as observed; None: as it was before."""
    now, then = after.progress, before.progress if before else None
    if now is None or now is then or not now.wanted_weights:
        return None
    weights = (now.wanted_weights, now.observed_weights)
    if then is not None and weights == (then.wanted_weights, then.observed_weights):
        return None
    return weights


def _of_stage(
    said: Mapping[str, Any], before: state.StageState | None, stage: state.StageState
) -> Iterator[feed.RunEvent]:
    status = before.status if before else statuses.TaskStatus.PENDING
    began = stage.started is not None and (before is None or before.started is None)
    again = before is not None and before.is_final and not stage.is_final
    if began or again:
        # Who was left out beforehand takes no part, nor who succeeded before a retry.
        targets = tuple(task.target for task in stage.tasks if not task.is_final)
        yield feed.StageStarted(**said, targets=targets, deadline=stage.deadline)
    waits = (
        stage.status is statuses.TaskStatus.WAITING and status is not statuses.TaskStatus.WAITING
    )
    # For people; what waits for a window is said by the run.
    if waits and not any(group.closed for group in stage.groups):
        yield feed.StageWaiting(**said, reason=stage.reason)
    for old, task in updates.changed_tasks(before, stage):
        yield from _of_task(said, old, task)
    has_new_reason = before is not None and before.is_final and before.reason != stage.reason
    if stage.is_final and (stage.status is not status or has_new_reason):
        yield feed.StageFinished(**said, status=stage.status, reason=stage.reason)
