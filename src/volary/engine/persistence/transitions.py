"""What a step leaves behind, as the record that a store keeps whole.

Only what the step changed is in it: the work does not grow with what stays as it is. The
commands outstanding after all transitions are those of `machine.outstanding`; the tests hold
the two together.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from datetime import datetime

from volary.engine.observers import feed, observer_events
from volary.engine.persistence import codec
from volary.engine.runs import state
from volary.engine.state_machine import commands, events, machine, windows
from volary.model import json
from volary.model.runs import run_records

#: What a person decides about a group.
_DECISIONS = (events.Approve, events.Reject, events.Withdraw)


def first_transition(
    run: state.Run, origin: json.JsonObject, at: datetime
) -> run_records.Transition:
    """Return the first transition of a planned run; `origin` says why the run exists."""
    return _between(None, run, 0, at, machine.outstanding(run), origin=origin)


def step_transition(
    before: state.Run, happened: Sequence[events.Event], step: machine.Step, version: int
) -> run_records.Transition:
    """Return the transition of a step that events led to, from the run's `version`."""
    at = happened[-1].at
    return _between(before, step.run, version, at, step.commands, happened=happened)


def command_key(command: commands.Command) -> str:
    """Return the key of a command: one replaces the outstanding one with the same key."""
    match command:
        case commands.StartTask():
            return f"start {command.stage} {command.target} {command.attempt}"
        case commands.StopTask():
            return f"stop {command.stage} {command.target} {command.attempt}"
        case commands.WakeAt():
            return "wake"
        case commands.Release():
            return "release"


def run_head(run: state.Run, created: datetime) -> run_records.RunHead:
    """Return the columns of a run; `created` stands in when the run does not say."""
    return run_records.RunHead(
        id=run.id,
        application=run.application,
        status=run.status,
        reason=run.reason,
        commit=run.commit,
        running_commit=run.running_commit,
        created=run.created or created,
        started=run.started,
        finished=run.finished,
    )


def _between(
    before: state.Run | None,
    after: state.Run,
    version: int,
    at: datetime,
    orders: machine.Commands,
    *,
    happened: Sequence[events.Event] = (),
    origin: json.JsonObject | None = None,
) -> run_records.Transition:
    changed = tuple(_changed(before, after))
    same_head = before is not None and _is_same(before, after, ("stages", "rollback"))
    never = commands.WakeAt(None)
    return run_records.Transition(
        head=run_head(after, at),
        expected_version=version,
        at=at,
        document=None if same_head else codec.write_head(after),
        stages=tuple(
            _stage(position, stage)
            for position, old, stage in changed
            if old is None or not _is_same_stage(old, stage)
        ),
        tasks=tuple(task for _, old, stage in changed for task in _tasks(old, stage)),
        events=tuple(_events(happened)),
        commands=tuple(
            run_records.CommandRecord(command_key(command), codec.write_command(command))
            for command in (*orders, *_postponed(changed))
            if command != never
        ),
        settled=(
            *(each for _, old, stage in changed if old for each in _settled(old, stage)),
            *(command_key(command) for command in orders if command == never),
        ),
        feed=tuple(map(_feed, observer_events.between(before, after, at))),
        approvals=tuple(_approvals(before, after, happened)),
        origin=origin or {},
    )


_Changed = tuple[int, state.StageState | None, state.StageState]


def _changed(before: state.Run | None, after: state.Run) -> Iterator[_Changed]:
    """Yield the stages that are new or changed, with their position and how they were."""
    known = {stage.id: stage for stage in before.all_stages} if before else {}
    for position, stage in enumerate(after.all_stages):
        old = known.get(stage.id)
        if old is not stage:
            yield position, old, stage


def _is_same(before: object, after: object, leave_out: tuple[str, ...]) -> bool:
    names = (each.name for each in fields(before))  # type: ignore[arg-type]
    return all(
        getattr(before, name) == getattr(after, name) for name in names if name not in leave_out
    )


def _is_same_stage(before: state.StageState, after: state.StageState) -> bool:
    return _is_same(before, after, ("groups",)) and all(
        _is_same(old, group, ("tasks",))
        for old, group in zip(before.groups, after.groups, strict=True)
    )


def _stage(position: int, stage: state.StageState) -> run_records.StageRecord:
    return run_records.StageRecord(
        id=stage.id,
        position=position,
        name=stage.stage.name,
        status=stage.status,
        reason=stage.reason,
        started=stage.started,
        finished=stage.finished,
        document=codec.write_stage(stage),
    )


def _tasks(
    before: state.StageState | None, stage: state.StageState
) -> Iterator[run_records.TaskRecord]:
    old = tuple(before.tasks) if before else ()
    for position, (group, task) in enumerate(_grouped(stage)):
        if old and old[position] is task:
            continue
        yield run_records.TaskRecord(
            stage=stage.id,
            target=task.target,
            position=position,
            status=task.status,
            reason=task.reason,
            attempt=task.attempt,
            started=task.started,
            finished=task.finished,
            document=codec.write_task(task, group),
        )


def _grouped(stage: state.StageState) -> Iterator[tuple[int, state.TaskState]]:
    for position, group in enumerate(stage.groups):
        for task in group.tasks:
            yield position, task


def _settled(before: state.StageState, after: state.StageState) -> Iterator[str]:
    """Yield the keys of commands for tasks that run no more, or run anew."""
    for old, task in zip(before.tasks, after.tasks, strict=True):
        over = not task.is_running or task.attempt != old.attempt
        if old is not task and old.is_running and over:
            yield f"start {before.id} {old.target} {old.attempt}"
            yield f"stop {before.id} {old.target} {old.attempt}"


def _postponed(changed: Iterable[_Changed]) -> Iterator[commands.Command]:
    """Yield the commands of tasks that run on, with another deadline than before."""
    for _, before, after in changed:
        for old, task in zip(before.tasks, after.tasks, strict=True) if before else ():
            same = old.is_running and task.is_running and old.attempt == task.attempt
            if same and task.deadline is not None and task.deadline != old.deadline:
                back = bool(task.rolling_back)
                yield commands.StartTask(after.id, task.target, task.attempt, task.deadline, back)


def _events(happened: Iterable[events.Event]) -> Iterator[json.JsonObject]:
    for event in happened:
        # How far a task is stands in its record; a journal of it would only grow.
        if not isinstance(event, events.TaskProgressed):
            yield codec.write_event(event)


def _feed(event: feed.RunEvent) -> run_records.EventRecord:
    document = feed.to_json(event)
    del document["number"]  # given by the store
    return run_records.EventRecord(
        at=event.at,
        event=event.event,
        document=document,
        stage=document.get("stage", ""),
        target=document.get("target", ""),
    )


def _approvals(
    before: state.Run | None, after: state.Run, happened: Sequence[events.Event]
) -> Iterable[run_records.ApprovalRecord]:
    """Return what a person decided, with the group it was about; nothing comes with it."""
    event = happened[0] if len(happened) == 1 else None
    if before is None or not isinstance(event, _DECISIONS):
        return
    group = windows.next_group(before)
    if before is not after and group is not None:
        comment = event.comment
        if isinstance(event, events.Withdraw):
            comment = f"withdrawn: {comment}" if comment else "withdrawn"
        yield run_records.ApprovalRecord(
            stage=before.current.id,
            group=group.name,
            by=event.by,
            at=event.at,
            approved=isinstance(event, events.Approve),
            comment=comment,
        )
