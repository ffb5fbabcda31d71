"""Runs, events and commands as JSON documents, and back: the form in which they are stored.

A run is stored in pieces (`model.record`), so that one step writes only what it changed:

- the head: the run without its stages, with ``schema``, the number of this format;
- per stage: the stage without its tasks, with the heads of its groups;
- per task: the task, with the position of its group.

The rules that keep old runs readable for ever: keys are the field names of the dataclasses in
`state`; a new field has a default, and nothing is renamed, retyped or given another meaning;
readers ignore keys they do not know. ``schema`` grows only when that is not enough, and then this
module reads the old form as well. Times are RFC 3339, durations ISO 8601, enums their words.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar, cast, get_type_hints

import msgspec

from volary.engine.runs import state
from volary.engine.state_machine import commands, events
from volary.model import errors, json
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import (
    catalog,
)
from volary.model.runs import run_records

#: The format written here; newer ones are refused.
SCHEMA = 1

Value = TypeVar("Value")

#: Kinds of events by the name they are stored under: never renamed.
EVENTS: Mapping[str, type[events.Event]] = {
    kind.__name__: kind
    for kind in (
        events.Start,
        events.TaskProgressed,
        events.TaskFinished,
        events.TimePassed,
        events.Cancel,
        events.PauseAsked,
        events.Resume,
        events.SkipCluster,
        events.SkipStage,
        events.Retry,
        events.Approve,
        events.Reject,
        events.Withdraw,
        events.PromoteWave,
        events.Unfreeze,
    )
}
#: Kinds of commands, likewise.
COMMANDS: Mapping[str, type[commands.Command]] = {
    kind.__name__: kind
    for kind in (commands.StartTask, commands.StopTask, commands.WakeAt, commands.Release)
}


def write_event(event: events.Event) -> json.JsonObject:
    """Return the document of an event; ``event`` names its kind."""
    return {"event": type(event).__name__, **_plain(event)}


def read_event(document: json.JsonObject) -> events.Event:
    """Read an event.

    Raises:
        errors.PermanentError: It is none, or a newer version's.
    """
    return _read(_kind(EVENTS, document, "event"), document)


def write_command(command: commands.Command) -> json.JsonObject:
    """Return the document of a command; ``command`` names its kind."""
    return {"command": type(command).__name__, **_plain(command)}


def read_command(document: json.JsonObject) -> commands.Command:
    """Read a command.

    Raises:
        errors.PermanentError: It is none, or a newer version's.
    """
    return _read(_kind(COMMANDS, document, "command"), document)


def write_head(run: state.Run) -> json.JsonObject:
    """Return the run without its stages."""
    return {"schema": SCHEMA, **_plain(run, leave_out=("stages", "rollback"))}


def write_stage(stage: state.StageState) -> json.JsonObject:
    """Return the stage without its tasks."""
    return {
        **_plain(stage, leave_out=("groups",)),
        "groups": [_plain(group, leave_out=("tasks",)) for group in stage.groups],
    }


def write_task(task: state.TaskState, group: int) -> json.JsonObject:
    """Return the task, which belongs to the stage's group at position `group`."""
    return {**_plain(task), "group": group}


def read_run(stored: run_records.StoredRun) -> state.Run:
    """Put a run together from its pieces.

    Raises:
        errors.PermanentError: A piece is damaged, or was written by a newer version.
    """
    document = stored.document
    schema = document.get("schema", SCHEMA)
    if not isinstance(schema, int) or schema > SCHEMA:
        raise errors.PermanentError(
            f"run {stored.head.id} was stored by a newer version of Volary (format {schema}, "
            f"this version reads up to {SCHEMA})"
        )
    try:
        return _run(stored)
    except (LookupError, TypeError, ValueError) as error:
        raise errors.PermanentError(f"the stored run {stored.head.id} is damaged") from error


def _run(stored: run_records.StoredRun) -> state.Run:
    tasks: dict[str, list[json.JsonObject]] = {stage.id: [] for stage in stored.stages}
    for task in stored.tasks:
        tasks[task.stage].append(task.document)
    read = tuple(_stage(stage.document, tasks[stage.id]) for stage in stored.stages)
    return _build(
        state.Run,
        stored.document,
        stages=tuple(each for each in read if each.id != state.ROLLBACK_ID),
        rollback=next((each for each in read if each.id == state.ROLLBACK_ID), None),
    )


def _stage(document: json.JsonObject, tasks: Iterable[json.JsonObject]) -> state.StageState:
    members: list[list[state.TaskState]] = [[] for _ in document["groups"]]
    for task in tasks:
        members[task["group"]].append(_read(state.TaskState, task))
    described = document["stage"]
    options = catalog.of(described["name"]).options
    groups = zip(document["groups"], members, strict=True)
    return _build(
        state.StageState,
        document,
        stage=_build(pipelines.Stage, described, options=_read(options, described["options"])),
        groups=tuple(
            _build(state.GroupState, group, tasks=tuple(tasks)) for group, tasks in groups
        ),
    )


def _kind(known: Mapping[str, type[Value]], document: json.JsonObject, key: str) -> type[Value]:
    kind = known.get(str(document.get(key, "")))
    if kind is None:
        raise errors.PermanentError(f"a stored {key} of kind {document.get(key)!r} is not known")
    return kind


def _plain(value: object, *, leave_out: tuple[str, ...] = ()) -> json.JsonObject:
    """Return a dataclass as a JSON object, without some of its fields."""
    if not leave_out:
        return cast("json.JsonObject", msgspec.to_builtins(value))
    return {
        name: msgspec.to_builtins(getattr(value, name))
        for name in _types(type(value))
        if name not in leave_out
    }


def _read(kind: type[Value], document: object) -> Value:
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        what = getattr(kind, "__name__", str(kind))
        raise errors.PermanentError(f"a stored {what} cannot be read: {error}") from error


def _build(kind: type[Value], document: json.JsonObject, **made: object) -> Value:
    """Build a dataclass from a document, with some fields made beforehand.

    What msgspec cannot read by itself (a choice of dataclasses, pieces stored elsewhere) is in
    `made`; every other field is read by its annotation, and a missing one has its default.
    """
    values = {
        name: _read(annotation, document[name])
        for name, annotation in _types(kind).items()
        if name in document and name not in made
    }
    return kind(**{**values, **made})


def _types(kind: type) -> Mapping[str, Any]:
    """Return the fields of a dataclass with their types, in order."""
    if kind not in _KNOWN_TYPES:
        hints = get_type_hints(kind)
        _KNOWN_TYPES[kind] = {each.name: hints[each.name] for each in fields(kind)}
    return _KNOWN_TYPES[kind]


#: Looked up once for each of the few dataclasses.
_KNOWN_TYPES: dict[type, Mapping[str, Any]] = {}
