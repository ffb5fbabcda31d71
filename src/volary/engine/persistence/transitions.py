"""What a step leaves behind, as the record that a store keeps whole.

Only what the step changed is in it: the work does not grow with what stays as it is. Commands are
not: those outstanding follow from the run (`machine.outstanding`).
"""

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from volary.engine.observers import feed, observer_events
from volary.engine.persistence import codec
from volary.engine.runs import state, updates
from volary.engine.state_machine import events, windows
from volary.model import json
from volary.model.runs import run_records


def first_transition(
    run: state.Run,
    origin: json.JsonObject,
    at: datetime,
    *,
    clusters: json.JsonObject | None = None,
    manifests: bytes = b"",
) -> run_records.Transition:
    """Return the first transition of a planned run.

    `origin` says why the run exists, `clusters` how its clusters are described, `manifests` has
    what it applies.
    """
    told = observer_events.between(None, run, at)
    made = _between(None, run, 0, at, told=told, origin=origin)
    return replace(made, clusters=clusters or {}, manifests=manifests)


def step_transition(
    before: state.Run,
    happened: Sequence[events.Event],
    after: state.Run,
    told: Sequence[feed.RunEvent],
    version: int,
) -> run_records.Transition:
    """Return the transition of a step that events, in order, led to; observers get `told`.

    `version` is the one that `before` was stored with.
    """
    return _between(before, after, version, happened[-1].at, told=told, happened=happened)


def _between(
    before: state.Run | None,
    after: state.Run,
    version: int,
    at: datetime,
    *,
    told: Iterable[feed.RunEvent],
    happened: Sequence[events.Event] = (),
    origin: json.JsonObject | None = None,
) -> run_records.Transition:
    changed = tuple(updates.changed_stages(before, after))
    same_head = before is not None and _is_same(before, after, codec.NOT_IN_HEAD)
    return run_records.Transition(
        head=codec.run_head(after, at),
        expected_version=version,
        at=at,
        document=None if same_head else codec.write_head(after),
        stages=tuple(
            codec.stage_record(position, stage)
            for position, old, stage in changed
            if old is None or not _is_same_stage(old, stage)
        ),
        tasks=tuple(task for _, old, stage in changed for task in _tasks(old, stage)),
        feed=tuple(map(event_record, told)),
        approvals=tuple(_approvals(before, after, happened)),
        answers=tuple(
            run_records.RequestAnswer(event.id, event.at)
            for event in happened
            if isinstance(event, events.Request) and event.id
        ),
        origin=origin or {},
    )


def _is_same(before: object, after: object, leave_out: tuple[str, ...]) -> bool:
    names = _compared(type(before), leave_out)  # type: ignore[arg-type]
    return all(getattr(before, name) == getattr(after, name) for name in names)


@functools.cache
def _compared(kind: type[Any], leave_out: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.name not in leave_out)


def _is_same_stage(before: state.StageState, after: state.StageState) -> bool:
    return _is_same(before, after, ("groups",)) and all(
        _is_same(old, group, ("tasks",))
        for old, group in zip(before.groups, after.groups, strict=True)
    )


def _tasks(
    before: state.StageState | None, stage: state.StageState
) -> Iterator[run_records.TaskRecord]:
    old = tuple(before.tasks) if before else ()
    grouped = ((place, task) for place, group in enumerate(stage.groups) for task in group.tasks)
    for position, (group, task) in enumerate(grouped):
        if not old or old[position] is not task:
            yield codec.task_record(stage.id, position, group, task)


def event_record(event: feed.RunEvent) -> run_records.EventRecord:
    """Return what is kept of an event of the feed."""
    document = feed.to_json(event)
    del document["number"]  # given by the store
    return run_records.EventRecord(
        at=event.at,
        event=document["event"],
        document=document,
        stage=document.get("stage", ""),
        target=document.get("target", ""),
    )


def _approvals(
    before: state.Run | None, after: state.Run, happened: Sequence[events.Event]
) -> Iterable[run_records.ApprovalRecord]:
    """Return what a person decided, with the group it was about; nothing comes with it."""
    event = happened[0] if len(happened) == 1 else None
    if before is None or not isinstance(event, events.Decision):
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
