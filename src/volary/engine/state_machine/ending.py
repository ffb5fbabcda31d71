"""The way out: a failed stage, a cancelled run, the rollback, the last status."""

from dataclasses import replace
from datetime import datetime

from volary.engine.runs import policies, run_builder, state, updates
from volary.engine.state_machine import budgets, failures
from volary.model import phrases, statuses


def fail_stage(run: state.Run, now: datetime) -> state.Run:
    """Fail the stage as soon as one of its tasks has; name the later ones as they come."""
    stage = run.current
    if run.rollback or stage.status not in (
        statuses.TaskStatus.RUNNING,
        statuses.TaskStatus.FAILED,
    ):
        return run
    failed = failures.of_stage(run)
    told = "; ".join(filter(None, (budgets.exceeded(run, failed), failures.sentence(failed))))
    if not failed or stage.reason == told:
        return run
    finished = stage.finished if stage.is_final else now
    changed = replace(stage, status=statuses.TaskStatus.FAILED, reason=told, finished=finished)
    return updates.replace_current(run, changed)


def stop_running(run: state.Run, now: datetime) -> state.Run:
    """Tell the tasks of a failed stage or an ending run to stop after their write."""
    failed = run.current.status is statuses.TaskStatus.FAILED
    if not failed and (run.ending is None or run.rollback is not None):
        return run
    reason = f"stopped: {failures.cause(run)}" if failed and not run.rollback else "stopped"
    how, cause = state.Stopping.GRACEFULLY, state.StopCause.ENDING
    # A rollback goes on: what it restores would have to be restored anyway.
    return updates.stop_running(
        run, how, cause, reason, now, spare_rollbacks=failed and not run.rollback
    )


def hold(run: state.Run, _: datetime) -> state.Run:
    """Wait for a person after a failure, where the policy says so."""
    failed = run.current.status is statuses.TaskStatus.FAILED
    wanted = budgets.on_failure(run) is policies.OnFailure.HOLD and not run.held
    if not failed or not wanted or run.ending or run.current.is_busy:
        return run
    return replace(run, held=True)


def end(run: state.Run, _: datetime) -> state.Run:
    """Stop going forward once a stage has failed."""
    failed = run.current.status is statuses.TaskStatus.FAILED
    if not failed or run.ending or budgets.on_failure(run) is policies.OnFailure.HOLD:
        return run
    return replace(run, ending=budgets.failed_ending(run, ""), pause=None)


def drop_queued(run: state.Run, now: datetime) -> state.Run:
    """Give up what will never start, saying why."""
    if run.rollback:
        dropped = _dropped(run.current, "not started", now) if run.current.is_final else run.current
        return updates.replace_current(run, dropped)
    if run.ending is None:
        return run
    why = f"not started: {failures.cause(run)}"
    stages = tuple(_dropped(stage, why, now) for stage in run.stages)
    if all(new is old for new, old in zip(stages, run.stages, strict=True)):
        return run
    return replace(run, stages=stages)


def _dropped(stage: state.StageState, why: str, now: datetime) -> state.StageState:
    def drop(task: state.TaskState) -> state.TaskState:
        if task.status is statuses.TaskStatus.WAITING:
            return updates.give_up_waiting(task, now)
        if task.status is not statuses.TaskStatus.PENDING:
            return task
        return replace(task, status=statuses.TaskStatus.CANCELLED, reason=why, finished=now)

    stage = updates.change_tasks(stage, drop)
    if stage.is_final or stage.is_busy:
        return stage
    reason = why if stage.started is None else why.removeprefix("not started: ")
    return replace(stage, status=statuses.TaskStatus.CANCELLED, reason=reason, finished=now)


def begin_rollback(run: state.Run, now: datetime) -> state.Run:
    """Once everything has come to rest, roll back what was touched, or finish."""
    if run.ending is None or run.rollback or run.current.is_busy:
        return run
    if run.ending.rollback and run_builder.targets_to_roll_back(run, run.ending.wave):
        return replace(run, rollback=run_builder.rollback_stage(run), clock_stopped=None)
    return updates.finish(run, run.ending.status, f"{failures.cause(run)}; {_remains(run)}", now)


def _remains(run: state.Run) -> str:
    """Say what is left as it is, and why."""
    back = [cluster.name for cluster in run.clusters if cluster.rolled_back]
    if back and not run.touched:
        return f"{phrases.join_names(back)} rolled back, nothing else was changed"
    if not run.touched:
        return "nothing was changed"
    verb = "stays as it is" if len(run.touched) == 1 else "stay as they are"
    said = f"{phrases.join_names(run.touched)} {verb}"
    because = run.policy.stop_reason
    return f"{said} ({because})" if because else said


def finish_rollback(run: state.Run, now: datetime) -> state.Run:
    """End the run when every rollback task has ended; back only if all are proven."""
    stage = run.rollback
    if stage is None or not all(group.is_final for group in stage.groups):
        return run
    done = statuses.TaskStatus.SUCCEEDED
    open_ones = [
        f"{task.target} ({task.reason})" for task in stage.tasks if task.status is not done
    ]
    why = failures.cause(run)
    if not open_ones:
        taken = [task.target for task in stage.tasks]
        back = f"rollback verified on {phrases.join_names(taken)}"
        run = _close_rollback(run, statuses.TaskStatus.SUCCEEDED, back, now)
        kept = [name for name in run.touched if name not in taken]
        if kept:
            verb = "keeps" if len(kept) == 1 else "keep"
            why = f"{why}; {back}; {phrases.join_names(kept)} {verb} the new release"
            return updates.finish(run, statuses.RunStatus.FAILED, why, now)
        # Of one that takes another run back this is what was asked for.
        ended = statuses.RunStatus.SUCCEEDED if run.rollback_of else statuses.RunStatus.ROLLED_BACK
        return updates.finish(run, ended, f"{why}; {back}", now)
    left = f"rollback not verified: {phrases.join_names(open_ones)}"
    run = _close_rollback(run, statuses.TaskStatus.FAILED, left, now)
    return updates.finish(run, statuses.RunStatus.FAILED, f"{why}; {left}", now)


def _close_rollback(
    run: state.Run, status: statuses.TaskStatus, reason: str, now: datetime
) -> state.Run:
    stage = run.current
    if stage.status is statuses.TaskStatus.FAILED:
        # It timed out or was broken off: that stays said, even if every task made it.
        return updates.replace_current(run, replace(stage, reason=f"{stage.reason}; {reason}"))
    return updates.replace_current(run, replace(stage, status=status, reason=reason, finished=now))


def reason(run: state.Run) -> str:
    """Say in one sentence why the run is ending and what it waits for."""
    why = failures.cause(run)
    still = phrases.join_names([task.target for task in run.current.running])
    if run.rollback:
        return f"{why}; rolling back {still}" if still else f"{why}; rolling back"
    return f"{why}; still finishing: {still}" if still else why
