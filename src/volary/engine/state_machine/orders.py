"""Derives commands from the difference between two states of a run.

With no state before, all outstanding commands come out: so a runner that starts
again after a crash has the running tasks carried out again, one attempt each.
"""

from collections.abc import Iterator

from volary.engine.runs import state, updates
from volary.engine.state_machine import commands, deadlines


def between(before: state.Run | None, after: state.Run) -> tuple[commands.Command, ...]:
    """Return what a runner has to do now that `before` has become `after`."""
    return tuple(_all(before, after))


def _all(before: state.Run | None, after: state.Run) -> Iterator[commands.Command]:
    if before is after:
        return
    yield from _of_stages(before, after)
    wake = deadlines.next_time(after)
    if wake != (deadlines.next_time(before) if before else None):
        yield commands.WakeAt(wake)
    if after.is_final and not (before and before.is_final):
        yield commands.Release(after.status, after.reason)


def _of_stages(before: state.Run | None, after: state.Run) -> Iterator[commands.Command]:
    known = {stage.id: stage for stage in before.all_stages} if before else {}
    for stage in after.all_stages:
        old = known.get(stage.id)
        if old is not stage:
            for before_task, task in updates.changed_tasks(old, stage):
                yield from _of_task(stage.id, before_task, task)


def _of_task(
    stage: str, before: state.TaskState | None, after: state.TaskState
) -> Iterator[commands.Command]:
    if before is after or not after.is_running or after.deadline is None:
        return
    same = before is not None and before.is_running and before.attempt == after.attempt
    if not same:
        back = bool(after.rolling_back)
        yield commands.StartTask(stage, after.target, after.attempt, after.deadline, back)
    told = before.stopping if same and before else state.Stopping.NOT
    if after.stopping is not told:
        yield commands.StopTask(
            stage, after.target, after.attempt, after.stopping, after.stop_reason
        )
