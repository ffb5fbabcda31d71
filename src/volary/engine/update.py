"""Replaces one part of a run and returns the new run.

Parts that do not change keep their identity: `orders` and `narration` compare two
runs by it and so look only at what an event touched.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from volary.engine import roster, state, tally

TaskChange = Callable[[state.TaskState], state.TaskState]


def current(run: state.Run, stage: state.StageState) -> state.Run:
    """Return `run` with its current stage replaced."""
    if stage is run.current:
        return run
    if run.rollback:
        return replace(run, rollback=stage)
    stages = (*run.stages[: run.position], stage, *run.stages[run.position + 1 :])
    return replace(run, stages=stages)


def tasks(stage: state.StageState, change: TaskChange) -> state.StageState:
    """Return `stage` with `change` made to each task; the same stage when none changed."""
    groups = tuple(_group(group, change) for group in stage.groups)
    if all(new is old for new, old in zip(groups, stage.groups, strict=True)):
        return stage
    return replace(stage, groups=groups)


def task(stage: state.StageState, changed: state.TaskState) -> state.StageState:
    """Return `stage` with the task of the same cluster replaced."""
    for each in stage.groups:
        place = tally.position(each.tasks, changed.target)
        if place is not None:
            tasks = tally.replaced(each.tasks, place, changed)
            return group(stage, each, replace(each, tasks=tasks))
    return stage


def waited_until(stage: state.StageState, task: state.TaskState) -> datetime | None:
    """Return until when a cluster that does not answer is tried again; None: as long as the stage.

    Counted from the first try, as its wave's ``progressDeadline`` says.
    """
    for each in stage.groups:
        if tally.position(each.tasks, task.target) is not None:
            limit = each.progress_deadline
            return None if limit is None or task.started is None else task.started + limit
    return None


def group(
    stage: state.StageState, old: state.GroupState, new: state.GroupState
) -> state.StageState:
    """Return `stage` with the group `old` replaced by `new`."""
    return replace(stage, groups=tuple(new if each is old else each for each in stage.groups))


def cluster(run: state.Run, changed: state.ClusterState) -> state.Run:
    """Return `run` with the cluster of that name replaced."""
    return replace(run, clusters=roster.replaced(run.clusters, changed))


def touch(run: state.Run, name: str) -> state.Run:
    """Return `run` with the cluster remembered as written to."""
    found = run.cluster(name)
    if found is None or found.touched:
        return run
    return cluster(run, replace(found, touched=True))


def untouch(run: state.Run, name: str) -> state.Run:
    """Return `run` with the cluster proven to be as it was before."""
    found = run.cluster(name)
    return run if found is None else cluster(run, replace(found, touched=False))


def leave_out(
    run: state.Run, name: str, reason: str, kind: state.LeftOut = state.LeftOut.SKIPPED
) -> state.Run:
    """Return `run` going on without the cluster; with an empty reason, with it again."""
    found = run.cluster(name)
    if found is None:
        return run
    kind = kind if reason else state.LeftOut.NOT
    return cluster(run, replace(found, left_out=reason, left_out_for=kind))


def _group(group: state.GroupState, change: TaskChange) -> state.GroupState:
    changed = tuple(change(task) for task in group.tasks)
    if all(new is old for new, old in zip(changed, group.tasks, strict=True)):
        return group
    return replace(group, tasks=changed)
