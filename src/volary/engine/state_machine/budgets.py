"""Budgets: which failures of a wave the run goes on without, and what becomes of the cluster.

A cluster that fails within the budget of its wave and of the run is left out of the rest of
the run, and rolled back at once: within the same stage, so that a bad version does not wait
for the end of the run. The stage ends when that is over. Its failure counts for good, also
when the rollback is verified, so a wave never fails more clusters than its budget says.

A gate that says no is no cluster's failure: it is said of the release, so the stage fails
whatever the budgets are.
"""

from collections.abc import Sequence
from datetime import datetime

from volary.engine.runs import policies, state, updates
from volary.engine.state_machine import failures
from volary.model import statuses


def tolerate(run: state.Run, now: datetime) -> state.Run:
    """Go on without clusters whose failure the budgets allow for."""
    if not run.waves or run.rollback or run.ending or run.current.is_final:
        return run
    for task in failures.of_stage(run):
        wave = run.wave_of(task.target)
        if wave is None or task.refused:
            continue
        kind = _kind(wave, task)
        if not _excess(run, wave, kind, 1):
            run = _leave_out(run, task, kind, now)
    return run


def _kind(wave: policies.WaveRule, task: state.TaskState) -> state.LeftOut:
    """Return what the failure counts as."""
    lenient = wave.on_unreachable is not policies.OnUnreachable.FAIL
    if lenient and task.status is statuses.TaskStatus.UNREACHABLE:
        return state.LeftOut.UNREACHABLE
    return state.LeftOut.FAILED


def exceeded(run: state.Run, failed: Sequence[state.TaskState]) -> str:
    """Say how far failures of a stage are beyond the budgets; empty: there are none."""
    rule = _current_wave(run)
    if rule is None or run.rollback or not (rule.unreachable or rule.failures):
        return ""
    kinds = [_kind(rule, task) for task in failed if not task.refused]
    told = (_excess(run, rule, kind, kinds.count(kind)) for kind in dict.fromkeys(kinds))
    return "; ".join(filter(None, told))


def _excess(run: state.Run, wave: policies.WaveRule, kind: state.LeftOut, more: int) -> str:
    """Say which budget so many more of a kind are beyond; empty: none."""
    mine, whole = wave.failures, run.policy.failures
    if kind is state.LeftOut.UNREACHABLE:
        mine, whole = wave.unreachable, run.policy.unreachable
    spent = [cluster.name for cluster in run.clusters if cluster.left_out_for is kind]
    members = set(wave.targets)
    here = sum(name in members for name in spent) + more
    if here > mine:
        return f"{wave.name}: {here} {kind.value}, {mine} may be"
    if whole is not None and len(spent) + more > whole:
        return f"all waves: {len(spent) + more} {kind.value}, {whole} may be"
    return ""


def _leave_out(
    run: state.Run, task: state.TaskState, kind: state.LeftOut, now: datetime
) -> state.Run:
    why = task.reason or task.status.value
    run = updates.leave_out(run, task.target, f"{kind.value}: {why}", kind)
    cluster = run.cluster(task.target)
    if kind is state.LeftOut.UNREACHABLE or cluster is None or not cluster.touched:
        return run
    back = state.TaskState(
        task.target,
        statuses.TaskStatus.RUNNING,
        reason=f"{why}; rolling back",
        attempt=task.attempt + 1,
        started=now,
        deadline=now + run.policy.rollback_timeout,
        details=task.details,
        rolling_back=why,
    )
    return updates.replace_current(run, updates.replace_task(run.current, back))


def conclude_rollback(
    run: state.Run, task: state.TaskState, proven: bool, said: str
) -> tuple[state.Run, str]:
    """Record how the rollback of a left-out cluster ended; return the task's reason too."""
    end = "rollback verified" if proven else f"rollback not verified: {said}"
    reason = f"{task.rolling_back}; {end}"
    kind = state.LeftOut.FAILED
    run = updates.leave_out(run, task.target, f"{kind.value}: {reason}", kind)
    return (updates.mark_back(run, task.target) if proven else run), reason


def on_failure(run: state.Run) -> policies.OnFailure:
    """Return what follows when the current stage has failed: its wave's rule, else the run's."""
    rule = _current_wave(run)
    return run.policy.on_failure if rule is None else rule.on_failure


def failed_ending(run: state.Run, reason: str) -> state.Ending:
    """Return how a run ends whose current stage has failed; `reason` may be that of the stage."""
    rolls_back = on_failure(run) in (policies.OnFailure.ROLLBACK, policies.OnFailure.ROLLBACK_WAVE)
    wave = wave_to_roll_back(run)
    return state.Ending(statuses.RunStatus.FAILED, reason, rollback=rolls_back, wave=wave)


def wave_to_roll_back(run: state.Run) -> str:
    """Return the name of the wave that a rollback is limited to; empty: all is rolled back."""
    rule = _current_wave(run)
    limited = rule is not None and rule.on_failure is policies.OnFailure.ROLLBACK_WAVE
    return rule.name if rule and limited else ""


def _current_wave(run: state.Run) -> policies.WaveRule | None:
    name = run.stages[run.position].wave
    return next((wave for wave in run.waves if wave.name == name), None)
