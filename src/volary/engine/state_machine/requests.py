"""Writes down what people ask for, or says why it cannot be done now.

A refusal changes nothing and is one sentence for the person who asked.

*Promote* ends what the current wave waits for at its end: the rest of a soak, a webhook, an
analysis. It does not skip safety: the clusters are seen healthy on this release once more, and
an approval is given by those who may, or not at all. *Unfreeze* lets one run change clusters
whose windows are closed. *Withdraw* takes an approval back for as long as nothing came of it.
Who did it and why stays with the run.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from volary.engine.runs import counters, policies, state, updates, wave_gates
from volary.engine.state_machine import deadlines, events, failures, windows
from volary.model import identities, phrases, statuses
from volary.model.pipeline.stage_kinds import added_stages, catalog


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
        ending = state.Ending(statuses.RunStatus.CANCELLED, why, rollback=event.rollback)
    else:
        # It is ending already; the person still chooses whether it rolls back.
        ending = replace(run.ending, rollback=event.rollback)
    run = replace(run, ending=ending, pause=None, held=False)
    how = state.Stopping.NOW if event.now else state.Stopping.GRACEFULLY
    return updates.stop_running(run, how, state.StopCause.ENDING, why, event.at)


def _cancel_rollback(run: state.Run, event: events.Cancel) -> Answer:
    if not event.now:
        return Refusal("the rollback goes on; cancel now to break it off")
    why = f"broken off by {event.by}"
    run = updates.fail_current(run, why, event.at)
    return updates.stop_running(run, state.Stopping.NOW, state.StopCause.ENDING, why, event.at)


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
    if event.cordoned and (run.rollback or _has_cluster_begun(run, cluster)):
        return Refusal(f"the run has begun on {event.target}, and finishes or goes back there")
    said = f"{event.by}: {event.reason}" if event.reason else event.by
    why = f"cordoned by {said}" if event.cordoned else f"skipped by {said}"
    kind = state.LeftOut.CORDONED if event.cordoned else state.LeftOut.SKIPPED
    if not cluster.left_out:
        run = updates.leave_out(run, event.target, why, kind)
    stage = updates.change_tasks(run.current, lambda task: _skip_task(run, task, event, why))
    run = updates.replace_current(run, stage)
    return _go_on(run, event) if run.held and not failures.of_stage(run) else run


def _has_cluster_begun(run: state.Run, cluster: state.ClusterState) -> bool:
    tasks = (stage.task(cluster.name) for stage in run.stages)
    return cluster.touched or any(task is not None and task.started for task in tasks)


def _skip_task(
    run: state.Run, task: state.TaskState, event: events.SkipCluster, why: str
) -> state.TaskState:
    if task.target != event.target:
        return task
    if run.held and task.status is not statuses.TaskStatus.SUCCEEDED:
        return replace(task, status=statuses.TaskStatus.SKIPPED, reason=why, finished=event.at)
    return _passed_over(run, task, why, event.at)


def _passed_over(run: state.Run, task: state.TaskState, why: str, now: datetime) -> state.TaskState:
    """Return a task that is skipped: stopped where it runs, and as it is where it has ended."""
    if task.is_running:
        until = now + run.policy.grace
        return updates.stop_task(task, state.Stopping.GRACEFULLY, state.StopCause.SKIP, why, until)
    if task.is_final:
        return task
    return replace(task, status=statuses.TaskStatus.SKIPPED, reason=why, finished=now)


def skip_stage(run: state.Run, event: events.SkipStage) -> Answer:
    """End the current stage on every cluster, if it only measures or waits."""
    stage = run.current
    if run.rollback or run.ending:
        return Refusal("the run is ending and goes on with nothing")
    if event.stage != stage.id:
        return Refusal(f"the run is at {stage.id}, not at {event.stage}")
    if not stage.stage.kind.is_skippable:
        skippable = sorted(kind.name for kind in catalog.listed() if kind.is_skippable)
        return Refusal(f"only {phrases.join_names(skippable)} can be skipped")
    if run.held:
        return Refusal("the stage has failed already; try it again, or cancel")
    if run.position in wave_gates.positions(run):
        return Refusal(f"it is the gate of wave {stage.wave}; promote the wave instead")
    why = f"skipped by {event.by}: {event.reason}"

    def end(task: state.TaskState) -> state.TaskState:
        return task if task.rolling_back else _passed_over(run, task, why, event.at)

    return updates.replace_current(run, updates.change_tasks(stage, end))


def retry(run: state.Run, event: events.Retry) -> Answer:
    """Try the failed stage of a held run again, on some or all clusters."""
    if not run.held:
        return Refusal("only a run that waits after a failure can be tried again")
    open_targets = [task.target for task in run.current.tasks if task.status in _TRIED_AGAIN]
    wrong = [target for target in event.targets if target not in open_targets]
    if wrong:
        return Refusal(f"there is nothing to try again on {phrases.join_names(wrong)}")
    chosen = event.targets or tuple(open_targets)
    for target in chosen:
        run = updates.leave_out(run, target, "")
    stage = updates.change_tasks(
        run.current, lambda task: _again(task) if task.target in chosen else task
    )
    return _go_on(updates.replace_current(run, stage), event)


#: How a task of a held stage may have ended to be tried again.
_TRIED_AGAIN = (
    statuses.TaskStatus.FAILED,
    statuses.TaskStatus.CANCELLED,
    statuses.TaskStatus.UNREACHABLE,
    statuses.TaskStatus.PENDING,
)


def _go_on(run: state.Run, event: events.Retry | events.SkipCluster) -> state.Run:
    """Begin the held stage again with a fresh limit; what was stopped for it starts again."""
    stage = updates.change_tasks(
        run.current,
        lambda task: _again(task) if task.status is statuses.TaskStatus.CANCELLED else task,
    )
    stage = replace(
        stage,
        status=statuses.TaskStatus.RUNNING,
        reason="",
        started=stage.started or event.at,
        finished=None,
        # The clock that stood still while a person was waited for adds its time itself.
        deadline=(run.clock_stopped or event.at) + stage.stage.timeout,
    )
    groups = tuple(_ask_again(group) for group in stage.groups)
    return replace(updates.replace_current(run, replace(stage, groups=groups)), held=False)


def _ask_again(group: state.GroupState) -> state.GroupState:
    """Drop an approval that expired or was refused; one that was given stays."""
    if group.is_open or group.asked is None:
        return group
    return replace(group, asked=None, expires=None, approvals=())


def _again(task: state.TaskState) -> state.TaskState:
    return state.TaskState(task.target, attempt=task.attempt)


def approve(run: state.Run, event: events.Approve) -> Answer:
    """Count one person's yes for the group that waits."""
    group = deadlines.waiting_group(run)
    answer = _may_decide(group, event.by)
    if answer or group is None:
        return Refusal(answer)
    if any(approval.by == event.by for approval in group.approvals):
        return Refusal(f"{event.by} has approved already")
    given = (*group.approvals, state.Approval(event.by, event.at, event.comment))
    stage = updates.replace_group(run.current, group, replace(group, approvals=given))
    return updates.replace_current(run, replace(stage, reason=_awaiting(group, len(given))))


def reject(run: state.Run, event: events.Reject) -> Answer:
    """Fail the stage that waits for approval."""
    answer = _may_decide(deadlines.waiting_group(run), event.by)
    if answer:
        return Refusal(answer)
    why = f"rejected by {event.by}" + (f": {event.comment}" if event.comment else "")
    return updates.fail_current(run, why, event.at)


def _may_decide(group: state.GroupState | None, by: str) -> str:
    """Say why `by` cannot decide about `group`; empty when they can."""
    if group is None or group.rule is None:
        return "nothing waits for approval"
    if group.rule.approvers and not identities.is_among(by, group.rule.approvers):
        return f"{by} is not one of the approvers: {phrases.join_names(group.rule.approvers)}"
    return ""


def promote(run: state.Run, event: events.PromoteWave) -> Answer:
    """End what the current wave waits for at its end, as far as nobody has to agree."""
    refusal = _not_promoted(run, event)
    if refusal:
        return Refusal(refusal)
    why = f"promoted by {event.by}: {event.reason}"
    gates = wave_gates.positions(run)
    stages = (
        _promoted(run, stage, why, event.at)
        if position in gates and position >= run.position
        else stage
        for position, stage in enumerate(run.stages)
    )
    return replace(run, stages=tuple(stages))


def _not_promoted(run: state.Run, event: events.PromoteWave) -> str:
    wave = run.stages[run.position].wave
    if run.rollback or run.ending or run.current.is_final:
        return "the run is ending and goes on with nothing"
    if not wave or (event.wave and event.wave != wave):
        at = f"at wave {wave}, not at {event.wave}" if wave else "not moving in waves"
        return f"the run is {at}"
    if run.position not in wave_gates.positions(run):
        return f"wave {wave} is still being rolled out; it can be promoted once it soaks"
    if run.current.stage.kind.waits_for_people:
        return f"wave {wave} waits for approval; only those who may approve it can end that"
    if run.current.promoted:
        return f"wave {wave} is already {run.current.promoted}"
    return ""


def _promoted(run: state.Run, stage: state.StageState, why: str, now: datetime) -> state.StageState:
    if stage.stage.kind.proves_wave:
        return _proven_once(run, stage, why, now)
    if stage.stage.kind.waits_for_people:
        return stage

    def end(task: state.TaskState) -> state.TaskState:
        stays = task.rolling_back or task.status is statuses.TaskStatus.WAITING
        return task if stays else _passed_over(run, task, why, now)

    return replace(updates.change_tasks(stage, end), promoted=why)


def _proven_once(
    run: state.Run, stage: state.StageState, why: str, now: datetime
) -> state.StageState:
    """Return the proof without the soak; those who soak begin it again."""
    until = now + run.policy.grace

    def again(task: state.TaskState) -> state.TaskState:
        if task.rolling_back:
            return task
        return updates.stop_task(task, state.Stopping.GRACEFULLY, state.StopCause.AGAIN, why, until)

    options = replace(stage.stage, options=added_stages.WaveGateOptions(timedelta()))
    return replace(updates.change_tasks(stage, again), stage=options, promoted=why)


def unfreeze(run: state.Run, event: events.Unfreeze) -> Answer:
    """Let the run change clusters whatever the windows say, for the rest of its way."""
    if run.unfrozen:
        return Refusal(f"the windows are open to this run already: {unfreeze_reason(run.unfrozen)}")
    if run.rollback or run.ending:
        return Refusal("the run is ending, and windows never hold up a rollback")
    if not any(group.opens is not None for group in run.current.groups):
        return Refusal("nothing of this run waits for a window")
    return replace(run, unfrozen=state.Unfreezing(event.by, event.at, event.reason))


def unfreeze_reason(unfrozen: state.Unfreezing) -> str:
    """Return who opened the windows and why."""
    return f"unfrozen by {unfrozen.by}: {unfrozen.reason}"


def withdraw(run: state.Run, event: events.Withdraw) -> Answer:
    """Withdraw one person's approval, as long as nothing came of it."""
    group = windows.next_group(run) if run.rollback is None else None
    if group is None or not _was_given(group, event.by):
        return Refusal(_not_withdrawn(run, group, event.by))
    if _has_group_begun(group):
        return Refusal("too late: the gate has opened, and what it held up has begun")
    rest = tuple(approval for approval in group.approvals if approval.by != event.by)
    stage = updates.replace_group(run.current, group, replace(group, approvals=rest))
    reason = _awaiting(group, len(rest))
    return updates.replace_current(
        run, replace(stage, status=statuses.TaskStatus.WAITING, reason=reason)
    )


def _awaiting(group: state.GroupState, given: int) -> str:
    rule = group.rule or policies.ApprovalRule()
    return phrases.awaiting_approval(given, rule.count, rule.approvers)


def _was_given(group: state.GroupState, by: str) -> bool:
    return any(approval.by == by for approval in group.approvals)


def _has_group_begun(group: state.GroupState) -> bool:
    counts = counters.of(group.tasks)
    # One that failed and is to be tried again is pending, but it had begun.
    begun = counts.pending < len(group.tasks) or any(task.attempt for task in group.tasks)
    return group.is_open and (begun or not group.tasks)


def _not_withdrawn(run: state.Run, group: state.GroupState | None, by: str) -> str:
    others = (other for stage in run.stages for other in stage.groups if other is not group)
    if any(_was_given(other, by) for other in others):
        return "too late: the gate has opened, and what it held up has begun"
    if deadlines.waiting_group(run) is None:
        return "nothing waits for approval"
    return f"{by} has not approved what waits"


def current_exception(run: state.Run) -> str:
    """Return what the run may do at present before its time, as a clause; empty: nothing."""
    if run.current.promoted:
        return run.current.promoted
    return unfreeze_reason(run.unfrozen) if run.unfrozen else ""


def exceptions(run: state.Run) -> str:
    """Return what was let happen before its time, as a clause; empty: nothing was."""
    told = dict.fromkeys(
        f"wave {stage.wave} {stage.promoted}" for stage in run.stages if stage.promoted
    )
    return phrases.join_names([*told, *([unfreeze_reason(run.unfrozen)] if run.unfrozen else [])])
