"""Replaces one part of a run and returns the new run; finds which tasks differ between two.

Parts that do not change keep their identity: `commands` and `observer_events` compare two
runs by it and so look only at what an event touched.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from volary.engine.runs import counters, policies, state
from volary.model import statuses

TaskChange = Callable[[state.TaskState], state.TaskState]
_URGENCY = tuple(state.Stopping)


def replace_current(run: state.Run, stage: state.StageState) -> state.Run:
    """Return `run` with its current stage replaced."""
    if stage is run.current:
        return run
    if run.rollback:
        return replace(run, rollback=stage)
    stages = (*run.stages[: run.position], stage, *run.stages[run.position + 1 :])
    return replace(run, stages=stages)


def fail_current(run: state.Run, reason: str, now: datetime) -> state.Run:
    """Return `run` with its current stage failed."""
    failed = statuses.TaskStatus.FAILED
    return replace_current(run, replace(run.current, status=failed, reason=reason, finished=now))


def with_project_rules(
    run: state.Run, windows: Sequence[policies.WindowRule], most_at_once: int
) -> state.Run:
    """Return `run` with the windows and the limit that its project has now."""
    own = (rule for rule in run.windows if not rule.project)
    after = (*own, *windows)
    if (after, most_at_once) == (run.windows, run.most_at_once):
        return run
    return replace(run, windows=after, most_at_once=most_at_once)


def finish(run: state.Run, status: statuses.RunStatus, reason: str, now: datetime) -> state.Run:
    """Return `run` as ended."""
    ended = replace(run, status=status, reason=reason, finished=now)
    return replace(ended, pause=None, held=False, clock_stopped=None)


def give_up_waiting(task: state.TaskState, now: datetime) -> state.TaskState:
    """Return the task of a cluster that did not answer, tried no more."""
    reason = task.reason.removesuffix("; trying again")
    ended = statuses.TaskStatus.UNREACHABLE
    return replace(task, status=ended, reason=reason, finished=now, deadline=None)


def change_tasks(stage: state.StageState, change: TaskChange) -> state.StageState:
    """Return `stage` with `change` made to each task; the same stage when none changed."""
    groups = tuple(_change_group(group, change) for group in stage.groups)
    if all(new is old for new, old in zip(groups, stage.groups, strict=True)):
        return stage
    return replace(stage, groups=groups)


def replace_task(stage: state.StageState, changed: state.TaskState) -> state.StageState:
    """Return `stage` with the task of the same cluster replaced."""
    for group in stage.groups:
        place = counters.position(group.tasks, changed.target)
        if place is not None:
            tasks = counters.replaced(group.tasks, place, changed)
            return replace_group(stage, group, replace(group, tasks=tasks))
    return stage


def retry_deadline(stage: state.StageState, task: state.TaskState) -> datetime | None:
    """Return until when a cluster that does not answer is tried again; None: as long as the stage.

    Counted from the first try, as its wave's ``progressDeadline`` says.
    """
    for group in stage.groups:
        if counters.position(group.tasks, task.target) is not None:
            limit = group.progress_deadline
            return None if limit is None or task.started is None else task.started + limit
    return None


def stop_task(
    running: state.TaskState,
    how: state.Stopping,
    cause: state.StopCause,
    reason: str,
    deadline: datetime,
) -> state.TaskState:
    """Return the task asked to stop, each time more urgently, never less.

    At `deadline` it is asked again. The first cause and reason stay: they say why it was stopped
    at all.
    """
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

    def stop(task: state.TaskState) -> state.TaskState:
        spared = spare_rollbacks and task.rolling_back
        return task if spared else stop_task(task, how, cause, reason, deadline)

    return replace_current(run, change_tasks(run.current, stop))


def replace_group(
    stage: state.StageState, old: state.GroupState, new: state.GroupState
) -> state.StageState:
    """Return `stage` with the group `old` replaced by `new`."""
    return replace(stage, groups=tuple(new if group is old else group for group in stage.groups))


def replace_cluster(run: state.Run, changed: state.ClusterState) -> state.Run:
    """Return `run` with the cluster of that name replaced."""
    return replace(run, clusters=counters.replaced_cluster(run.clusters, changed))


def mark_back(run: state.Run, name: str) -> state.Run:
    """Return `run` with the cluster proven to be as it was before."""
    cluster = run.cluster(name)
    if cluster is None or not cluster.touched:
        return run
    return replace_cluster(run, replace(cluster, touched=False, rolled_back=True))


def mark_begun(run: state.Run, names: Collection[str]) -> state.Run:
    """Return `run` with tasks under way on some clusters that may write there."""
    begun = {
        name: replace(cluster, touched=True, provisional=True)
        for name in names
        if (cluster := run.cluster(name)) and not cluster.touched
    }
    if len(begun) == 1:
        # Without a look at all the others.
        return replace_cluster(run, *begun.values())
    if not begun:
        return run
    clusters = (begun.get(cluster.name, cluster) for cluster in run.clusters)
    return replace(run, clusters=tuple(clusters))


def conclude_begun(run: state.Run, name: str, *, wrote: bool) -> state.Run:
    """Return `run` after a task on the cluster has said whether it wrote.

    That it did not takes back only what its own start brought.
    """
    cluster = run.cluster(name)
    if cluster is None or not (wrote or cluster.provisional):
        return run
    if cluster.touched is wrote and not cluster.provisional:
        return run
    return replace_cluster(run, replace(cluster, touched=wrote, provisional=False))


def forget_begun(run: state.Run, name: str = "") -> state.Run:
    """Return `run` when nobody is left who knows what its tasks under way have written.

    With a name those on that cluster alone.
    """
    lost = {each.name for each in run.clusters if each.provisional and name in ("", each.name)}
    if not lost:
        return run
    clusters = (
        replace(cluster, provisional=False) if cluster.name in lost else cluster
        for cluster in run.clusters
    )
    return replace(run, clusters=tuple(clusters))


def leave_out(
    run: state.Run, name: str, reason: str, kind: state.LeftOut = state.LeftOut.SKIPPED
) -> state.Run:
    """Return `run` going on without the cluster; with an empty reason, with it again."""
    cluster = run.cluster(name)
    if cluster is None:
        return run
    kind = kind if reason else state.LeftOut.NOT
    return replace_cluster(run, replace(cluster, left_out=reason, left_out_for=kind))


def _change_group(group: state.GroupState, change: TaskChange) -> state.GroupState:
    changed = tuple(change(task) for task in group.tasks)
    if all(new is old for new, old in zip(changed, group.tasks, strict=True)):
        return group
    return replace(group, tasks=changed)


def changed_stages(
    before: state.Run | None, after: state.Run
) -> Iterator[tuple[int, state.StageState | None, state.StageState]]:
    """Yield each stage that is new or changed, with its position and how it was."""
    known = {stage.id: stage for stage in before.all_stages} if before else {}
    for position, stage in enumerate(after.all_stages):
        old = known.get(stage.id)
        if old is not stage:
            yield position, old, stage


def changed_tasks(
    before: state.StageState | None, after: state.StageState
) -> Iterator[tuple[state.TaskState | None, state.TaskState]]:
    """Yield each changed task with how it was; all of them when the stage is new.

    Tasks never change their places, so states are compared in pairs, by identity.
    """
    if before is None:
        yield from ((None, task) for task in after.tasks)
        return
    for old, new in zip(before.groups, after.groups, strict=True):
        if old.tasks is not new.tasks:
            for place in counters.changes(old.tasks, new.tasks):
                yield old.tasks[place], new.tasks[place]
