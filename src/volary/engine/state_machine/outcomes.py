"""Writes down what happened to a run; what follows from it is decided in `settle`.

Facts are never refused. One about a task that is not running with that attempt any
more is stale and changes nothing.
"""

from dataclasses import replace

from volary.engine.runs import policies, state, updates
from volary.engine.state_machine import budgets, events
from volary.model import statuses

_FAILURES = (
    statuses.TaskStatus.FAILED,
    statuses.TaskStatus.UNREACHABLE,
    statuses.TaskStatus.CANCELLED,
)


def start(run: state.Run, event: events.Start) -> state.Run:
    """Begin the run; its limit counts from now."""
    return replace(
        run,
        status=statuses.RunStatus.RUNNING,
        started=event.at,
        deadline=event.at + run.policy.timeout,
    )


def take_over(run: state.Run, event: events.TakenOver) -> state.Run:
    """Keep for good what is touched for the sake of tasks under way: their process is no more.

    Whoever carries them out again can only say what they write from now on.
    """
    return updates.forget_begun(run, event.cluster)


def follow_project(run: state.Run, event: events.ProjectChanged) -> state.Run:
    """Keep what the project says now: what has not begun is held to it."""
    return updates.with_project_rules(run, event.windows, event.most_at_once)


def progress(run: state.Run, event: events.TaskProgressed) -> state.Run:
    """Keep how far a running task is."""
    task = _running(run, event)
    if task is None:
        return run
    return _with_task(run, replace(task, progress=event.progress))


def finish(run: state.Run, event: events.TaskFinished) -> state.Run:
    """Keep how a task ended, and what its cluster has gone through."""
    task = _running(run, event)
    return run if task is None else conclude(run, task, event)


def conclude(run: state.Run, task: state.TaskState, event: events.TaskFinished) -> state.Run:
    """End `task` of the current stage with the event's outcome."""
    rolls_back = run.rollback is not None or bool(task.rolling_back)
    outcome = _counted(task, _proven(run, task, event.outcome), rolls_back=rolls_back)
    status, reason = outcome.status, outcome.reason
    if task.rolling_back:
        proven = status is statuses.TaskStatus.SUCCEEDED
        run, reason = budgets.conclude_rollback(run, task, proven, reason)
        # The stage has not been done there, however well the rollback went.
        status = statuses.TaskStatus.FAILED
    ended = replace(
        task,
        status=status,
        reason=reason,
        details=outcome.details,
        finished=event.at,
        deadline=None,
        rolling_back="",
        refused=_is_refusal(run, task, outcome),
        exception=outcome.exception if status is statuses.TaskStatus.SUCCEEDED else "",
    )
    limit = updates.retry_deadline(run.current, ended)
    if _is_waited_for(run, ended) and (limit is None or event.at < limit):
        again = event.at + run.policy.again_after
        again = again if limit is None else min(again, limit)
        said = f"{reason}; trying again"
        ended = replace(
            ended, status=statuses.TaskStatus.WAITING, reason=said, finished=None, deadline=again
        )
    if task.stop_cause is state.StopCause.AGAIN and status is statuses.TaskStatus.CANCELLED:
        ended = state.TaskState(task.target, attempt=task.attempt, reason=task.stop_reason)
    run = _with_task(run, ended)
    if not task.rolling_back:
        # What was lost or broken off may have written only where its stage may.
        wrote = outcome.touched and run.current.stage.kind.changes_cluster
        run = updates.conclude_begun(run, task.target, wrote=wrote)
    return _leave_out_unreachable(run, ended)


def try_again(run: state.Run, event: events.ClusterReachable) -> state.Run:
    """Queue the task of a cluster that was waited for and answers; its timer counts no more."""
    task = run.current.task(event.cluster)
    if task is None or task.status is not statuses.TaskStatus.WAITING:
        return run
    limit = updates.retry_deadline(run.current, task)
    if limit is not None and event.at >= limit and run.clock_stopped is None:
        return run  # its time is over, which is for the clock to say
    return _with_task(run, queued_again(task))


def queued_again(task: state.TaskState) -> state.TaskState:
    """Return the task of a cluster that was waited for, as one that has its turn again.

    When it was tried first stays known: its time is counted from then on.
    """
    first, tries = task.started, task.attempt
    return state.TaskState(task.target, attempt=tries, reason=task.reason, started=first)


def _is_refusal(run: state.Run, task: state.TaskState, outcome: statuses.Outcome) -> bool:
    """Say whether the release was refused: by a no, or because nobody agreed in time."""
    if task.rolling_back or outcome.status is not statuses.TaskStatus.FAILED:
        return False
    asks = run.current.stage.kind.asks_for_agreement
    return outcome.refused or (asks and task.stop_cause is state.StopCause.TIMEOUT)


def _is_waited_for(run: state.Run, task: state.TaskState) -> bool:
    """Say whether an unreachable cluster is tried again, as its wave or the run says."""
    if task.status is not statuses.TaskStatus.UNREACHABLE or run.rollback or run.ending:
        return False
    wave = run.wave_of(task.target)
    rule = wave.on_unreachable if wave else run.policy.on_unreachable
    return rule is policies.OnUnreachable.WAIT and run.current.status is statuses.TaskStatus.RUNNING


def _leave_out_unreachable(run: state.Run, task: state.TaskState) -> state.Run:
    """Leave an unreachable cluster out, where the policy says so."""
    lenient = run.policy.on_unreachable is policies.OnUnreachable.CONTINUE_WITHOUT
    unreachable = task.status is statuses.TaskStatus.UNREACHABLE
    if not lenient or run.waves or run.rollback or not unreachable:
        return run
    why = f"unreachable: {task.reason}"
    return updates.leave_out(run, task.target, why, state.LeftOut.UNREACHABLE)


def _running(
    run: state.Run, event: events.TaskProgressed | events.TaskFinished
) -> state.TaskState | None:
    # Only the current stage has running tasks: it is not left before they have ended.
    if run.current.id != event.stage:
        return None
    task = run.current.task(event.target)
    return task if task and task.is_running and task.attempt == event.attempt else None


def _with_task(run: state.Run, changed: state.TaskState) -> state.Run:
    return updates.replace_current(run, updates.replace_task(run.current, changed))


def _proven(run: state.Run, task: state.TaskState, outcome: statuses.Outcome) -> statuses.Outcome:
    """Return the outcome; a proof that was passed over is none, unless a person said so."""
    is_proof = run.current.stage.kind.proves_wave and not task.rolling_back
    passed_over = outcome.status is statuses.TaskStatus.SKIPPED
    if not is_proof or not passed_over or task.stop_cause is state.StopCause.SKIP:
        return outcome
    reason = f"not seen healthy on this release: {outcome.reason}"
    return replace(outcome, status=statuses.TaskStatus.FAILED, reason=reason)


def _counted(
    task: state.TaskState, outcome: statuses.Outcome, *, rolls_back: bool
) -> statuses.Outcome:
    """Return the outcome as it counts, given what the task had been asked to do."""
    if rolls_back and outcome.status is statuses.TaskStatus.ROLLED_BACK:
        return replace(outcome, status=statuses.TaskStatus.SUCCEEDED)
    if outcome.status in (statuses.TaskStatus.SUCCEEDED, statuses.TaskStatus.SKIPPED):
        return outcome
    if outcome.status not in _FAILURES:
        reason = f"the stage reported {outcome.status.value}, which is no end"
        return replace(outcome, status=statuses.TaskStatus.FAILED, reason=reason, touched=True)
    return _counted_failure(task, outcome)


def _counted_failure(task: state.TaskState, outcome: statuses.Outcome) -> statuses.Outcome:
    match task.stop_cause:
        case state.StopCause.TIMEOUT:
            unreachable = outcome.status is statuses.TaskStatus.UNREACHABLE
            status = outcome.status if unreachable else statuses.TaskStatus.FAILED
            return replace(outcome, status=status, reason=_joined(task, outcome))
        case state.StopCause.SKIP:
            return replace(
                outcome, status=statuses.TaskStatus.SKIPPED, reason=_joined(task, outcome)
            )
        case state.StopCause.NONE if outcome.status is statuses.TaskStatus.CANCELLED:
            reason = f"it stopped without being asked to: {outcome.reason}"
            return replace(outcome, status=statuses.TaskStatus.FAILED, reason=reason)
        case _:
            return outcome


def _joined(task: state.TaskState, outcome: statuses.Outcome) -> str:
    if not outcome.reason:
        return task.stop_reason
    if outcome.reason.startswith(task.stop_reason):
        return outcome.reason
    return f"{task.stop_reason}: {outcome.reason}"
