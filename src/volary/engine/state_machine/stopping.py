"""Tells running tasks to stop, each time more urgently, never less.

The first cause and reason stay: they say why the task was stopped at all.
"""

from dataclasses import replace
from datetime import datetime

from volary.engine.runs import state, updates

_URGENCY = tuple(state.Stopping)


def stop_task(
    running: state.TaskState,
    how: state.Stopping,
    cause: state.StopCause,
    reason: str,
    deadline: datetime,
) -> state.TaskState:
    """Return the task told to stop; at `deadline` it is told more urgently."""
    if not running.is_running or _URGENCY.index(how) <= _URGENCY.index(running.stopping):
        return running
    first = running.stopping is state.Stopping.NOT
    return replace(
        running,
        stopping=how,
        stop_cause=cause if first else running.stop_cause,
        stop_reason=reason if first else running.stop_reason,
        deadline=deadline,
    )


def stop_running(
    run: state.Run,
    how: state.Stopping,
    cause: state.StopCause,
    reason: str,
    at: datetime,
    *,
    spare_rollbacks: bool = False,
) -> state.Run:
    """Return the run with every running task stopped, rollbacks left alone if requested."""
    deadline = at + run.policy.grace

    def tell(task: state.TaskState) -> state.TaskState:
        spared = spare_rollbacks and task.rolling_back
        return task if spared else stop_task(task, how, cause, reason, deadline)

    return updates.replace_current(run, updates.change_tasks(run.current, tell))
