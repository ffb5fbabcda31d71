"""What follows from time: deadlines of tasks, stages, runs and approvals.

A timeout is a failure, never a cancel. Limits of stage and run stand still while the
run waits for a person or a window and nothing runs; limits of running tasks never do.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from volary.engine.runs import counters, state, updates
from volary.engine.state_machine import budgets, events, outcomes, windows
from volary.model import phrases, statuses


def expire(run: state.Run, event: events.TimePassed) -> state.Run:
    """Write down every limit that has passed by the event's time."""
    run = _try_again(run, event.at)
    run = _expire_tasks(run, event.at)
    run = _expire_approval(run, event.at)
    run = _expire_stage(run, event.at)
    return _expire_run(run, event.at)


def postpone(run: state.Run, event: events.ClockJumped) -> state.Run:
    """Move every limit that is running by what the clock jumped; windows go by the clock."""

    def later(at: datetime | None) -> datetime | None:
        return at if at is None else at + event.by

    def later_task(task: state.TaskState) -> state.TaskState:
        if task.is_final:
            return task
        return replace(task, started=later(task.started), deadline=later(task.deadline))

    stage = updates.change_tasks(run.current, later_task)
    groups = tuple(
        group if group.expires is None else replace(group, expires=later(group.expires))
        for group in stage.groups
    )
    stage = replace(
        stage, groups=groups, started=later(stage.started), deadline=later(stage.deadline)
    )
    run = replace(run, deadline=later(run.deadline), clock_stopped=later(run.clock_stopped))
    return updates.replace_current(run, stage)


def _try_again(run: state.Run, now: datetime) -> state.Run:
    """Queue the tasks of clusters that were waited for long enough."""

    def again(task: state.TaskState) -> state.TaskState:
        waits = task.status is statuses.TaskStatus.WAITING
        if not waits or task.deadline is None or now < task.deadline:
            return task
        limit = updates.retry_deadline(run.current, task)
        if limit is not None and now >= limit and run.clock_stopped is None:
            return updates.give_up_waiting(task, now)
        return outcomes.queued_again(task)

    return updates.replace_current(run, updates.change_tasks(run.current, again))


def _give_up_waiting(run: state.Run, now: datetime) -> state.Run:
    """Count clusters that are still waited for as unreachable; their time is over."""

    def give_up(task: state.TaskState) -> state.TaskState:
        # What is queued has a reason only when it was tried before.
        never = task.status is statuses.TaskStatus.PENDING and task.reason
        waits = task.status is statuses.TaskStatus.WAITING or never
        return updates.give_up_waiting(task, now) if waits else task

    return updates.replace_current(run, updates.change_tasks(run.current, give_up))


def _expire_tasks(run: state.Run, now: datetime) -> state.Run:
    """Ask an overdue task to stop, then break it off, then give it up."""
    for task in run.current.running:
        if task.deadline is not None and now >= task.deadline:
            run = _expire_task(run, task, now)
    return run


def _expire_task(run: state.Run, task: state.TaskState, now: datetime) -> state.Run:
    if task.stopping is state.Stopping.NOW:
        outcome = state.lost_outcome("it was broken off and did not report how it ended")
        event = events.TaskFinished(now, run.current.id, task.target, task.attempt, outcome)
        return outcomes.conclude(run, task, event)
    asked = task.stopping is state.Stopping.GRACEFULLY
    how = state.Stopping.NOW if asked else state.Stopping.GRACEFULLY
    reason = f"timed out after {phrases.duration(now - (task.started or now))}"
    late = updates.stop_task(task, how, state.StopCause.TIMEOUT, reason, now + run.policy.grace)
    return updates.replace_current(run, updates.replace_task(run.current, late))


def _expire_approval(run: state.Run, now: datetime) -> state.Run:
    """Fail the stage when nobody agreed in time."""
    group = waiting_group(run)
    if group is None or group.rule is None or group.expires is None or now < group.expires:
        return run
    reason = f"not approved within {phrases.duration(group.rule.timeout)}"
    return updates.fail_current(run, reason, now)


def _expire_stage(run: state.Run, now: datetime) -> state.Run:
    stage = run.current
    over = stage.deadline is not None and now >= stage.deadline
    if not over or run.clock_stopped or stage.status is not statuses.TaskStatus.RUNNING:
        return run
    run = _give_up_waiting(run, now)
    stage = run.current
    open_targets = _open_targets(stage)
    if not open_targets:
        return run
    limit = phrases.duration(stage.stage.timeout)
    reason = f"timed out after {limit} on {phrases.join_names(open_targets)}"
    run = updates.fail_current(run, reason, now)
    return _stop_overdue(run, f"timed out after {limit}", now)


def _open_targets(stage: state.StageState) -> list[str]:
    """Return the clusters that the stage's limit is about: a rollback has its own.

    In a wave what runs has its own too: its time is over no later than the stage's, and it counts
    as one failure of the budget, not as that of the wave.
    """
    return [
        task.target
        for task in stage.tasks
        if not task.is_final and not task.rolling_back and not (stage.wave and task.is_running)
    ]


def _is_limited(stage: state.StageState) -> bool:
    counts = [counters.of(group.tasks) for group in stage.groups]
    if stage.wave:
        return any(count.open > count.running for count in counts)
    return any(count.open > count.rolling_back for count in counts)


def _expire_run(run: state.Run, now: datetime) -> state.Run:
    """Fail a run that did not end within its timeout; the rollback has its own."""
    over = run.deadline is not None and now >= run.deadline
    if not over or run.clock_stopped or run.ending or run.rollback:
        return run
    name = run.current.stage.name
    reason = f"the run timed out after {phrases.duration(run.policy.timeout)} in {name}"
    run = replace(run, ending=budgets.failed_ending(run, reason), pause=None, held=False)
    if not run.current.is_final:
        run = updates.fail_current(run, reason, now)
    return _stop_overdue(run, reason, now)


def _stop_overdue(run: state.Run, reason: str, now: datetime) -> state.Run:
    return updates.stop_running(
        run, state.Stopping.GRACEFULLY, state.StopCause.TIMEOUT, reason, now
    )


def waiting_group(run: state.Run) -> state.GroupState | None:
    """Return the group that waits for approvals; None when nothing waits for them."""
    group = None if run.current.is_final else windows.next_group(run)
    return group if group and group.asked and not group.is_open else None


def suspend(run: state.Run, now: datetime) -> state.Run:
    """Stop the limits of stage and run while a person or a window is waited for."""
    waits = is_waiting_for_person(run) or is_waiting_for_window(run)
    stands = waits and not run.current.is_busy
    if stands and run.clock_stopped is None:
        return replace(run, clock_stopped=now)
    if stands or run.clock_stopped is None:
        return run
    pause = max(now - run.clock_stopped, now - now)
    run = replace(run, clock_stopped=None)
    if run.deadline:
        run = replace(run, deadline=run.deadline + pause)
    stage = run.current
    if stage.deadline and stage.started and stage.started <= now - pause:
        stage = replace(stage, deadline=stage.deadline + pause)
        run = updates.replace_current(
            run, updates.change_tasks(stage, lambda task: _later(task, pause))
        )
    return run


def _later(task: state.TaskState, pause: timedelta) -> state.TaskState:
    """Return a task that is tried again as if it had been tried first so much later."""
    waits = task.status in (statuses.TaskStatus.WAITING, statuses.TaskStatus.PENDING)
    if not waits or task.started is None:
        return task
    return replace(task, started=task.started + pause)


def is_waiting_for_person(run: state.Run) -> bool:
    """Say whether the run goes on only when somebody says so."""
    if run.ending or run.rollback:
        return False
    return bool(run.pause) or run.held or waiting_group(run) is not None


def is_waiting_for_window(run: state.Run) -> bool:
    """Say whether nothing runs, and what is queued waits until it may be changed."""
    if run.is_final or run.ending or run.rollback or run.current.is_busy:
        return False
    return any(group.opens is not None for group in run.current.groups)


def next_time(run: state.Run) -> datetime | None:
    """Return when `events.TimePassed` is due; None when no limit is running."""
    if run.is_final or run.status is statuses.RunStatus.PLANNED:
        return None
    times = [counters.of(group.tasks).next_deadline for group in run.current.groups]
    times += [group.opens for group in run.current.groups]
    group = waiting_group(run)
    if group is not None:
        times.append(group.expires)
    if run.clock_stopped is None:
        if run.current.status is statuses.TaskStatus.RUNNING and _is_limited(run.current):
            times.append(run.current.deadline)
        if run.ending is None and run.rollback is None:
            times.append(run.deadline)
    return min((time for time in times if time is not None), default=None)
