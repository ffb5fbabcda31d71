"""Writes down what people ask for, or says why it cannot be done now.

A refusal changes nothing and is one sentence for the person who asked.
"""

from dataclasses import dataclass, replace

from volary.engine import events, failures, gate, halt, limits, state, update, wording
from volary.model import stage as stages
from volary.model import status as words


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not taken, in one sentence."""

    reason: str


Answer = state.Run | Refusal


def cancel(run: state.Run, event: events.Cancel) -> Answer:
    """Stop going forward; with `now` also break off what runs."""
    if run.rollback:
        return _cancel_rollback(run, event)
    why = f"cancelled by {event.by}" + (f": {event.reason}" if event.reason else "")
    if run.ending is None:
        ending = state.Ending(words.RunStatus.CANCELLED, why, rollback=event.rollback)
    else:
        # It is ending already; the person still chooses whether it rolls back.
        ending = replace(run.ending, rollback=event.rollback)
    run = replace(run, ending=ending, pause=None, held=False)
    how = state.Stopping.NOW if event.now else state.Stopping.POLITELY
    return halt.running(run, how, state.StopCause.ENDING, why, event.at)


def _cancel_rollback(run: state.Run, event: events.Cancel) -> Answer:
    if not event.now:
        return Refusal("the rollback goes on; cancel now to break it off")
    why = f"broken off by {event.by}"
    stage = replace(run.current, status=words.TaskStatus.FAILED, reason=why, finished=event.at)
    run = update.current(run, stage)
    return halt.running(run, state.Stopping.NOW, state.StopCause.ENDING, why, event.at)


def pause(run: state.Run, event: events.PauseAsked) -> Answer:
    """Start nothing new until resumed."""
    if run.pause:
        return Refusal(f"the run is already paused by {run.pause.by}")
    if run.ending:
        return Refusal("the run is ending and starts nothing new")
    return replace(run, pause=state.Pause(event.by, event.at, event.reason))


def resume(run: state.Run, _: events.Resume) -> Answer:
    """Go on after a pause."""
    if run.pause is None:
        return Refusal("the run is not paused")
    return replace(run, pause=None)


def skip(run: state.Run, event: events.SkipCluster) -> Answer:
    """Leave one cluster out of what is still to come."""
    cluster = run.cluster(event.target)
    if cluster is None:
        return Refusal(f"{event.target} is not a cluster of this run")
    if cluster.left_out and run.rollback is None:
        return Refusal(f"{event.target} is already left out")
    if event.cordoned and (run.rollback or _has_begun(run, cluster)):
        return Refusal(f"the run has begun on {event.target}, and finishes or goes back there")
    said = f"{event.by}: {event.reason}" if event.reason else event.by
    why = f"cordoned by {said}" if event.cordoned else f"skipped by {said}"
    kind = state.LeftOut.CORDONED if event.cordoned else state.LeftOut.SKIPPED
    if not cluster.left_out:
        run = update.leave_out(run, event.target, why, kind)
    stage = update.tasks(run.current, lambda task: _skip_task(run, task, event, why))
    run = update.current(run, stage)
    return _go_on(run, event) if run.held and not failures.of_stage(run) else run


def _has_begun(run: state.Run, cluster: state.ClusterState) -> bool:
    """Say whether anything was started on a cluster."""
    tasks = (stage.task(cluster.name) for stage in run.stages)
    return cluster.touched or any(task is not None and task.started for task in tasks)


def _skip_task(
    run: state.Run, task: state.TaskState, event: events.SkipCluster, why: str
) -> state.TaskState:
    if task.target != event.target:
        return task
    if task.is_running:
        return halt.task(
            task, state.Stopping.POLITELY, state.StopCause.SKIP, why, event.at + run.policy.grace
        )
    pending = task.status in (words.TaskStatus.PENDING, words.TaskStatus.WAITING)
    if pending or (run.held and task.status is not words.TaskStatus.SUCCEEDED):
        return replace(task, status=words.TaskStatus.SKIPPED, reason=why, finished=event.at)
    return task


#: Stages that change nothing, so that nothing is missing without them.
_PASSED_OVER = (stages.StageName.ANALYSIS, stages.StageName.WAIT)


def skip_stage(run: state.Run, event: events.SkipStage) -> Answer:
    """End the current stage on every cluster, if it only measures or waits."""
    stage = run.current
    if run.rollback or run.ending:
        return Refusal("the run is ending and goes on with nothing")
    if event.stage != stage.id:
        return Refusal(f"the run is at {stage.id}, not at {event.stage}")
    if stage.stage.name not in _PASSED_OVER:
        return Refusal(f"only {wording.names(_PASSED_OVER)} can be skipped")
    if run.held:
        return Refusal("the stage has failed already; try it again, or cancel")
    if run.position in gate.positions(run):
        return Refusal(f"it is the gate of wave {stage.wave}; promote the wave instead")
    why = f"skipped by {event.by}: {event.reason}"

    def end(task: state.TaskState) -> state.TaskState:
        if task.returning:
            return task
        if task.is_running:
            until = event.at + run.policy.grace
            return halt.task(task, state.Stopping.POLITELY, state.StopCause.SKIP, why, until)
        if task.is_final:
            return task
        return replace(task, status=words.TaskStatus.SKIPPED, reason=why, finished=event.at)

    return update.current(run, update.tasks(stage, end))


def retry(run: state.Run, event: events.Retry) -> Answer:
    """Try the failed stage of a held run again, on some or all clusters."""
    if not run.held:
        return Refusal("only a run that waits after a failure can be tried again")
    open_targets = [task.target for task in run.current.tasks if task.status in _TRIED_AGAIN]
    wrong = [target for target in event.targets if target not in open_targets]
    if wrong:
        return Refusal(f"there is nothing to try again on {wording.names(wrong)}")
    chosen = event.targets or tuple(open_targets)
    for target in chosen:
        run = update.leave_out(run, target, "")
    stage = update.tasks(run.current, lambda task: _again(task) if task.target in chosen else task)
    return _go_on(update.current(run, stage), event)


#: How a task of a held stage may have ended to be tried again.
_TRIED_AGAIN = (
    words.TaskStatus.FAILED,
    words.TaskStatus.CANCELLED,
    words.TaskStatus.UNREACHABLE,
    words.TaskStatus.PENDING,
)


def _go_on(run: state.Run, event: events.Retry | events.SkipCluster) -> state.Run:
    """Begin the held stage again with a fresh limit; what was stopped for it starts again."""
    stage = update.tasks(
        run.current,
        lambda task: _again(task) if task.status is words.TaskStatus.CANCELLED else task,
    )
    stage = replace(
        stage,
        status=words.TaskStatus.RUNNING,
        reason="",
        started=stage.started or event.at,
        finished=None,
        # The clock that stood still while a person was waited for adds its time itself.
        deadline=(run.clock_stopped or event.at) + stage.stage.timeout,
    )
    groups = tuple(_ask_again(group) for group in stage.groups)
    return replace(update.current(run, replace(stage, groups=groups)), held=False)


def _ask_again(group: state.GroupState) -> state.GroupState:
    """Forget an approval that expired or was refused; one that was given stands."""
    if group.is_open or group.asked is None:
        return group
    return replace(group, asked=None, expires=None, approvals=())


def _again(task: state.TaskState) -> state.TaskState:
    return state.TaskState(task.target, attempt=task.attempt)


def approve(run: state.Run, event: events.Approve) -> Answer:
    """Count one person's yes for the group that waits."""
    group = limits.waiting_group(run)
    answer = _may_decide(group, event.by)
    if answer or group is None:
        return Refusal(answer)
    if any(each.by == event.by for each in group.approvals):
        return Refusal(f"{event.by} has approved already")
    given = (*group.approvals, state.Approval(event.by, event.at, event.comment))
    stage = update.group(run.current, group, replace(group, approvals=given))
    return update.current(run, stage)


def reject(run: state.Run, event: events.Reject) -> Answer:
    """Fail the stage that waits for approval."""
    answer = _may_decide(limits.waiting_group(run), event.by)
    if answer:
        return Refusal(answer)
    why = f"rejected by {event.by}" + (f": {event.comment}" if event.comment else "")
    stage = replace(run.current, status=words.TaskStatus.FAILED, reason=why, finished=event.at)
    return update.current(run, stage)


def _may_decide(group: state.GroupState | None, by: str) -> str:
    """Say why `by` cannot decide about `group`; empty when they can."""
    if group is None or group.rule is None:
        return "nothing waits for approval"
    if group.rule.approvers and by not in group.rule.approvers:
        return f"{by} is not one of the approvers: {wording.names(group.rule.approvers)}"
    return ""
