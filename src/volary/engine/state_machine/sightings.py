"""What a person saw of a run when they asked for something, and whether it is still so.

A request binds to what was seen: the stage, the group that waits, and the run's *revision*, which
grows whenever something changes that people decide about. So an approval never opens the gate
behind the one it was given for, however late it arrives or how often it is sent. What only stops
a run is not refused for coming late: a pause binds to nothing, a cancel only to the direction.
"""

from dataclasses import replace
from datetime import UTC, datetime

from volary.engine.runs import state
from volary.engine.state_machine import deadlines, events, failures
from volary.model import phrases, statuses

#: What somebody saw who did not look.
NOTHING = state.Sighting("", "", 0)


def of_run(run: state.Run) -> state.Sighting:
    """Return what there is to be seen of the run now."""
    if not run.stages and run.rollback is None:
        return state.Sighting("", "", run.revision)
    group = None if run.is_final else deadlines.waiting_group(run)
    return state.Sighting(run.current.id, group.name if group else "", run.revision)


def revise(before: state.Run, after: state.Run) -> state.Run:
    """Return the run `after` a step, numbered anew when there is something else to decide."""
    if _decided_about(before) == _decided_about(after):
        return after
    return replace(after, revision=before.revision + 1)


def _decided_about(run: state.Run) -> tuple[object, ...]:
    """Return what people decide about; what clusters report while they work is not in it."""
    stage = run.current
    group = deadlines.waiting_group(run)
    return (
        run.status,
        stage.id,
        stage.promoted,
        run.pause,
        run.unfrozen,
        run.ending is not None,
        run.held,
        # A group that is asked about anew is another question.
        (group.name, group.asked) if group else None,
        tuple((task.target, task.status) for task in failures.of_stage(run)) if run.held else (),
    )


def why_stale(run: state.Run, event: events.Request) -> str:
    """Return what changed since the person looked, one sentence; empty: nothing that matters."""
    seen = event.seen
    if seen is None or isinstance(event, events.PauseAsked):
        return ""
    if isinstance(event, events.Cancel):
        return _why_not_broken_off(run, event, seen)
    now = of_run(run)
    return "" if seen == now else f"{_what_changed(run, seen)}; {_where(run, now)}"


def _why_not_broken_off(run: state.Run, event: events.Cancel, seen: state.Sighting) -> str:
    """Return why a cancel that was meant for the way forward does not break off the way back."""
    if run.rollback is None or not event.now or seen.stage == state.ROLLBACK_ID:
        return ""
    began = f"the run began to roll back{_since(run.rollback.started)}"
    return f"{began}, and cancelling now would break that off"


def _what_changed(run: state.Run, seen: state.Sighting) -> str:
    stage = run.stage(seen.stage)
    if stage is None:
        return f"the run has no stage {seen.stage}"
    if stage is run.current and seen.version == run.revision:
        return f"it is not {seen.group or 'a group without a name'} that waits"
    title = f"stage {seen.stage}" + (f" of {seen.group}" if seen.group else "")
    return f"{title} {_became(run, stage, seen)}"


def _became(run: state.Run, stage: state.StageState, seen: state.Sighting) -> str:
    group = next((group for group in stage.groups if group.name == seen.group), None)
    if group is not None and group.rule is not None and group.is_open and group.approvals:
        given = phrases.join_names([approval.by for approval in group.approvals])
        return f"was approved by {given}{_since(group.approvals[-1].at)}"
    if stage is run.current:
        return f"has changed since version {seen.version}, which you saw"
    if stage.promoted:
        return f"was {stage.promoted}"
    return f"{_ENDED[stage.status]}{_since(stage.finished)}" if stage.is_final else "is not due"


_ENDED = {
    statuses.TaskStatus.SUCCEEDED: "succeeded",
    statuses.TaskStatus.FAILED: "failed",
    statuses.TaskStatus.CANCELLED: "was cancelled",
    statuses.TaskStatus.SKIPPED: "was skipped",
    statuses.TaskStatus.UNREACHABLE: "ended without clusters that do not answer",
}


def _where(run: state.Run, now: state.Sighting) -> str:
    of_group = f" of {now.group}" if now.group else ""
    return f"the run is at {now.stage}{of_group}, version {now.version}: {run.reason}"


def _since(at: datetime | None) -> str:
    return f" at {at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if at else ""
