"""The way on: starting stages, groups and tasks, and completing them.

The rollback stage is carried out by the same rules; only that a failing cluster
does not keep the others from rolling back.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from volary.engine.runs import counters, state, updates
from volary.engine.state_machine import deadlines, failures, requests, windows
from volary.model import phrases, statuses


def skip_left_out(run: state.Run, now: datetime) -> state.Run:
    """Skip the queued tasks of clusters the run goes on without."""
    if run.rollback or run.current.is_final:
        return run
    reasons = counters.clusters(run.clusters).left_out
    if not reasons or not any(counters.of(group.tasks).pending for group in run.current.groups):
        return run

    def skip(task: state.TaskState) -> state.TaskState:
        if task.status is not statuses.TaskStatus.PENDING or task.target not in reasons:
            return task
        reason = f"left out: {reasons[task.target]}"
        return replace(task, status=statuses.TaskStatus.SKIPPED, reason=reason, finished=now)

    return updates.replace_current(run, updates.change_tasks(run.current, skip))


def request_approval(run: state.Run, now: datetime) -> state.Run:
    """Ask for the approvals of the group that comes next."""
    group = windows.next_group(run)
    if (
        not windows.may_start(run)
        or group is None
        or group.is_open
        or group.asked
        or not group.rule
    ):
        return run
    asked = replace(group, asked=now, expires=now + group.rule.timeout)
    stage = updates.replace_group(run.current, group, asked)
    status = statuses.TaskStatus.WAITING
    reason = phrases.awaiting_approval(0, group.rule.count, group.rule.approvers)
    return updates.replace_current(run, replace(stage, status=status, reason=reason))


def begin_stage(run: state.Run, now: datetime) -> state.Run:
    """Start the stage, or go on with it once its group is approved and a window is open."""
    group = windows.next_group(run)
    stage = run.current
    waits = stage.status in (statuses.TaskStatus.PENDING, statuses.TaskStatus.WAITING)
    if not windows.may_start(run) or not waits or group is None or not group.is_open:
        return run
    if windows.is_all_closed(run, group, now):
        waiting = replace(stage, status=statuses.TaskStatus.WAITING, reason=group.closed)
        return run if waiting == stage else updates.replace_current(run, waiting)
    begun = replace(
        stage,
        status=statuses.TaskStatus.RUNNING,
        reason="",
        started=stage.started or now,
        deadline=stage.deadline or now + stage.stage.timeout,
    )
    return updates.replace_current(run, begun)


def start_tasks(run: state.Run, now: datetime) -> state.Run:
    """Start queued tasks of the group, as many as may run at once; a rollback takes no slot."""
    group = windows.next_group(run)
    if not windows.may_start(run) or group is None:
        return run
    deadline = _task_deadline(run)
    if deadline is None or run.current.status is not statuses.TaskStatus.RUNNING:
        return run
    tasks, counts = group.tasks, counters.of(group.tasks)
    closed = windows.closed(run, group, now)
    concurrency = _concurrency(run, group)
    free = concurrency - (counts.running - counts.rolling_back)
    if not concurrency and counts.pending > len(closed):
        tasks = tuple(
            task if task.target in closed else _begun(task, group, now, deadline) for task in tasks
        )
    while concurrency and free > 0 and (place := _next(tasks, closed)) is not None:
        tasks = counters.replaced(tasks, place, _begun(tasks[place], group, now, deadline))
        free -= 1
    if tasks is group.tasks:
        return run
    if run.current.stage.kind.changes_cluster:
        # In the step that starts it: whoever comes after a crash has to know that it may write.
        begun = [tasks[place].target for place in counters.changes(group.tasks, tasks)]
        run = updates.mark_begun(run, begun)
    return updates.replace_current(
        run, updates.replace_group(run.current, group, replace(group, tasks=tasks))
    )


def _concurrency(run: state.Run, group: state.GroupState) -> int:
    """Return how many tasks of a group may run at once; 0: all. A rollback is never held up."""
    most = run.most_at_once
    if not most or run.rollback or not run.current.stage.kind.changes_cluster:
        return group.concurrency
    return min(group.concurrency, most) if group.concurrency else most


def _next(tasks: tuple[state.TaskState, ...], closed: Collection[str]) -> int | None:
    """Return the position of the first queued task that may start; None when none may."""
    if not closed:
        return counters.next_pending(tasks)
    return next(
        (
            place
            for place, task in enumerate(tasks)
            if task.status is statuses.TaskStatus.PENDING and task.target not in closed
        ),
        None,
    )


def _begun(
    task: state.TaskState, group: state.GroupState, now: datetime, deadline: datetime
) -> state.TaskState:
    """Return a pending task as started; another one as it is."""
    if task.status is not statuses.TaskStatus.PENDING:
        return task
    first = task.started or now
    return state.TaskState(
        task.target,
        status=statuses.TaskStatus.RUNNING,
        reason="running",
        attempt=task.attempt + 1,
        started=first,
        deadline=_group_deadline(group, first, now, deadline),
    )


def _task_deadline(run: state.Run) -> datetime | None:
    if run.rollback:
        return run.rollback.deadline
    times = [time for time in (run.current.deadline, run.deadline) if time]
    return min(times, default=None)


def _group_deadline(
    group: state.GroupState, first: datetime, now: datetime, deadline: datetime
) -> datetime:
    """Return when a task that starts now has to be done, and was tried `first` before.

    One that had no turn until its time was over has a last one.
    """
    limit = group.progress_deadline
    if limit is None:
        return deadline
    return min(deadline, first + limit if now < first + limit else now + limit)


def complete_stage(run: state.Run, now: datetime) -> state.Run:
    """End a stage whose tasks have all ended well, and go to the next or finish."""
    stage = run.current
    if run.rollback or run.ending or stage.is_final or windows.next_group(run) is not None:
        return run
    if len(counters.clusters(run.clusters).left_out) == len(run.clusters):
        return updates.fail_current(run, "no cluster is left to go on with", now)
    run = updates.replace_current(run, _completed(stage, now))
    if run.position + 1 < len(run.stages):
        return replace(run, position=run.position + 1)
    return _finished(run, now)


def _completed(stage: state.StageState, now: datetime) -> state.StageState:
    done, failed, skipped = [], [], []
    for task in stage.tasks:
        match task.status:
            case statuses.TaskStatus.SUCCEEDED:
                done.append(task.target)
            case statuses.TaskStatus.FAILED | statuses.TaskStatus.UNREACHABLE:
                failed.append(task.target)
            case _:
                skipped.append(task.target)
    status = statuses.TaskStatus.SUCCEEDED if done else statuses.TaskStatus.SKIPPED
    said = (("done on", done), ("failed on", failed), ("skipped on", skipped))
    parts = [f"{how} {phrases.join_names(names)}" for how, names in said if names]
    reason = ", ".join(parts) or "no cluster is in this wave"
    return replace(stage, status=status, reason=reason, finished=now)


def _finished(run: state.Run, now: datetime) -> state.Run:
    """Succeed without exceptions only when every cluster has, with nothing left undone."""
    missing, undone = failures.left_out(run), failures.undone_sentence(run)
    done = phrases.join_names([cluster.name for cluster in run.clusters if not cluster.left_out])
    status, reason = statuses.RunStatus.SUCCEEDED, f"every stage is done on {done}"
    if missing or undone:
        status = statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS
        without = f"the run went on without {missing}" if missing else ""
        reason += f", but {'; '.join(filter(None, (without, undone)))}"
    reason += f"; left out: {run.absent}" if run.absent else ""
    before_time = requests.exceptions(run)
    reason += f" ({before_time})" if before_time else ""
    return updates.finish(run, status, reason, now)


def reason(run: state.Run) -> str:
    """Say in one sentence what the run is doing or waiting for, without the details."""
    stage = run.current
    wave = f" in wave {stage.wave}" if stage.wave else ""
    where = f"stage {run.position + 1} of {len(run.stages)}, {stage.stage.name}{wave}"
    if run.held:
        return f"{stage.stage.name} failed: {stage.reason}; retry, skip or cancel"
    if run.pause:
        return _paused(run, run.pause)
    if stage.status is statuses.TaskStatus.FAILED:
        return f"{stage.stage.name} failed: {stage.reason}; {_running_targets(run)}"
    if deadlines.waiting_group(run):
        return f"{where}: {stage.reason}"
    closed = next((group.closed for group in stage.groups if group.closed), "")
    said = [closed, _unreachable(stage), requests.current_exception(run)]
    return ": ".join([where, *[part for part in said if part]])


def _unreachable(stage: state.StageState) -> str:
    """Say who could not be reached and is tried again; empty: nobody."""
    waiting = [task.target for task in stage.unreachable_tasks]
    return f"waiting for {phrases.join_names(waiting)} to answer" if waiting else ""


def _paused(run: state.Run, pause: state.Pause) -> str:
    said = f"paused by {pause.by}" + (f": {pause.reason}" if pause.reason else "")
    return f"{said}; {_running_targets(run)}" if run.current.is_busy else said


def _running_targets(run: state.Run) -> str:
    return f"still finishing: {phrases.join_names([task.target for task in run.current.running])}"
