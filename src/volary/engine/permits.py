"""What people may let a run do before its time, and what they take back.

*Promote* ends what the current wave waits for at its end: the rest of a soak, a webhook, an
analysis. It does not skip safety: the clusters are seen healthy on this release once more, and an
approval is given by those who may, or not at all. *Unfreeze* lets one run change clusters whose
windows are closed. *Withdraw* takes an approval back for as long as nothing came of it.

Who did it and why stays with the run.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from volary.engine import (
    events,
    gate,
    halt,
    limits,
    openings,
    requests,
    rules,
    state,
    tally,
    update,
    wording,
)
from volary.model import stage as stages
from volary.model import status as words

#: What a promotion ends; an approval is not among them.
_ENDED = (stages.StageName.ANALYSIS, stages.StageName.WEBHOOK_GATE)


def promote(run: state.Run, event: events.PromoteWave) -> requests.Answer:
    """End what the current wave waits for at its end, as far as nobody has to agree."""
    refusal = _not_promoted(run, event)
    if refusal:
        return requests.Refusal(refusal)
    why = f"promoted by {event.by}: {event.reason}"
    gates = gate.positions(run)
    run = replace(
        run,
        stages=tuple(
            _promoted(run, each, why, event.at)
            if position in gates and position >= run.position
            else each
            for position, each in enumerate(run.stages)
        ),
    )
    return run


def _not_promoted(run: state.Run, event: events.PromoteWave) -> str:
    wave = run.stages[run.position].wave
    if run.rollback or run.ending or run.current.is_final:
        return "the run is ending and goes on with nothing"
    if not wave or (event.wave and event.wave != wave):
        at = f"at wave {wave}, not at {event.wave}" if wave else "not moving in waves"
        return f"the run is {at}"
    if run.position not in gate.positions(run):
        return f"wave {wave} is still being rolled out; it can be promoted once it soaks"
    if run.current.stage.name is stages.StageName.WAIT_APPROVAL:
        return f"wave {wave} waits for approval; only those who may approve it can end that"
    if run.current.promoted:
        return f"wave {wave} is already {run.current.promoted}"
    return ""


def _promoted(run: state.Run, stage: state.StageState, why: str, now: datetime) -> state.StageState:
    if stage.stage.name is stages.StageName.WAVE_GATE:
        return _proven_once(run, stage, why, now)
    if stage.stage.name not in _ENDED:
        return stage
    until = now + run.policy.grace

    def end(task: state.TaskState) -> state.TaskState:
        if task.is_running and not task.returning:
            return halt.task(task, state.Stopping.POLITELY, state.StopCause.SKIP, why, until)
        if task.status is not words.TaskStatus.PENDING:
            return task
        return replace(task, status=words.TaskStatus.SKIPPED, reason=why, finished=now)

    return replace(update.tasks(stage, end), promoted=why)


def _proven_once(
    run: state.Run, stage: state.StageState, why: str, now: datetime
) -> state.StageState:
    """Return the proof without the soak; those who soak begin it again."""
    until = now + run.policy.grace

    def again(task: state.TaskState) -> state.TaskState:
        if task.returning:
            return task
        return halt.task(task, state.Stopping.POLITELY, state.StopCause.AGAIN, why, until)

    options = replace(stage.stage, options=stages.WaveGateOptions(timedelta()))
    return replace(update.tasks(stage, again), stage=options, promoted=why)


def unfreeze(run: state.Run, event: events.Unfreeze) -> requests.Answer:
    """Let the run change clusters whatever the windows say, for the rest of its way."""
    if run.unfrozen:
        return requests.Refusal(f"the windows are open to this run already: {said(run.unfrozen)}")
    if run.rollback or run.ending:
        return requests.Refusal("the run is ending, and windows never hold up the way back")
    if not any(group.opens is not None for group in run.current.groups):
        return requests.Refusal("nothing of this run waits for a window")
    return replace(run, unfrozen=state.Unfreezing(event.by, event.at, event.reason))


def said(unfrozen: state.Unfreezing) -> str:
    """Return who opened the windows and why."""
    return f"unfrozen by {unfrozen.by}: {unfrozen.reason}"


def withdraw(run: state.Run, event: events.Withdraw) -> requests.Answer:
    """Take back one person's yes, as long as nothing came of it."""
    group = openings.next_group(run) if run.rollback is None else None
    if group is None or not _was_given(group, event.by):
        return requests.Refusal(_not_withdrawn(run, group, event.by))
    if _has_begun(group):
        return requests.Refusal("too late: the gate has opened, and what it held up has begun")
    rest = tuple(each for each in group.approvals if each.by != event.by)
    stage = update.group(run.current, group, replace(group, approvals=rest))
    rule = group.rule or rules.ApprovalRule()
    reason = wording.wanted_approval(rule.count, rule.approvers)
    return update.current(run, replace(stage, status=words.TaskStatus.WAITING, reason=reason))


def _was_given(group: state.GroupState, by: str) -> bool:
    return any(each.by == by for each in group.approvals)


def _has_begun(group: state.GroupState) -> bool:
    counts = tally.of(group.tasks)
    # One that failed and is to be tried again is pending, but it had begun.
    begun = counts.pending < len(group.tasks) or any(each.attempt for each in group.tasks)
    return group.is_open and (begun or not group.tasks)


def _not_withdrawn(run: state.Run, group: state.GroupState | None, by: str) -> str:
    earlier = (each for stage in run.stages for each in stage.groups if each is not group)
    if any(_was_given(each, by) for each in earlier):
        return "too late: the gate has opened, and what it held up has begun"
    if limits.waiting_group(run) is None:
        return "nothing waits for approval"
    return f"{by} has not approved what waits"


def of_now(run: state.Run) -> str:
    """Return what the run may do at present before its time, as a clause; empty: nothing."""
    if run.current.promoted:
        return run.current.promoted
    return said(run.unfrozen) if run.unfrozen else ""


def promotions(run: state.Run) -> str:
    """Return what was let happen before its time, as a clause; empty: nothing was."""
    told = dict.fromkeys(
        f"wave {each.wave} {each.promoted}" for each in run.stages if each.promoted
    )
    return wording.names([*told, *([said(run.unfrozen)] if run.unfrozen else [])])
