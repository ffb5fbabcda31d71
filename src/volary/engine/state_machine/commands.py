"""What a runner has to do: the outputs of `machine.advance`.

Commands follow from the difference between two states. With no state before, all outstanding
ones come out: so a runner that starts again after a crash has the running tasks carried out
again, one attempt each.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from volary.engine.runs import state, updates
from volary.engine.state_machine import deadlines
from volary.model import statuses


@dataclass(frozen=True, slots=True)
class StartTask:
    """Carry out `stage` on `target` and report `events.TaskFinished` with this attempt."""

    stage: str
    target: str
    attempt: int
    deadline: datetime
    #: Take the cluster back instead, as `K8S_ROLLBACK` does.
    rolling_back: bool = False


@dataclass(frozen=True, slots=True)
class StopTask:
    """Tell a running task to stop; it still reports how it ended."""

    stage: str
    target: str
    attempt: int
    how: state.Stopping
    reason: str


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Report `events.TimePassed` at this time; replaces the time before. None: never."""

    at: datetime | None


@dataclass(frozen=True, slots=True)
class Release:
    """The run has ended: give back whatever was held for it."""

    status: statuses.RunStatus
    reason: str


Command = StartTask | StopTask | WakeAt | Release


def between(before: state.Run | None, after: state.Run) -> tuple[Command, ...]:
    """Return what a runner has to do now that `before` has become `after`."""
    return tuple(_all(before, after))


def _all(before: state.Run | None, after: state.Run) -> Iterator[Command]:
    if before is after:
        return
    for _, old, stage in updates.changed_stages(before, after):
        for before_task, task in updates.changed_tasks(old, stage):
            yield from _of_task(stage.id, before_task, task)
    wake = deadlines.next_time(after)
    if wake != (deadlines.next_time(before) if before else None):
        yield WakeAt(wake)
    if after.is_final and not (before and before.is_final):
        yield Release(after.status, after.reason)


def _of_task(
    stage: str, before: state.TaskState | None, after: state.TaskState
) -> Iterator[Command]:
    if before is after or not after.is_running or after.deadline is None:
        return
    same = before is not None and before.is_running and before.attempt == after.attempt
    if not same:
        back = bool(after.rolling_back)
        yield StartTask(stage, after.target, after.attempt, after.deadline, back)
    told = before.stopping if same and before else state.Stopping.NOT
    if after.stopping is not told:
        yield StopTask(stage, after.target, after.attempt, after.stopping, after.stop_reason)
