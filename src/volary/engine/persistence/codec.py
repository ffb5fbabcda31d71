"""Runs as JSON documents, and back: the form in which they are stored.

A run is stored in pieces (`model.runs.run_records`), so that one step writes only what it
changed: the run without its stages, each stage without its tasks, each task. A piece has columns
to ask for and a document with all other fields: keys are the field names of the dataclasses in
`state`, and readers ignore keys they do not know. ``schema`` is the number of this format. Times
are RFC 3339, durations ISO 8601, enums their words.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, TypeVar, cast, get_type_hints

import msgspec

from volary.engine.runs import state
from volary.model import errors, json
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import catalog
from volary.model.runs import run_records

#: The format written here; newer ones are refused.
SCHEMA = 1

Value = TypeVar("Value")

#: What a piece says in columns, under the same names as in `state`; its document leaves it out.
_OF_RUN = tuple(each.name for each in fields(run_records.RunHead))
_OF_STAGE = ("id", "status", "reason", "started", "finished")
_OF_TASK = ("target", "status", "reason", "attempt", "started", "finished")
#: Fields of a run that are not in its own document.
NOT_IN_HEAD = ("stages", "rollback", *_OF_RUN)


def run_head(run: state.Run, created: datetime) -> run_records.RunHead:
    """Return the columns of a run; `created` stands in when the run does not say."""
    columns = _columns(run, _OF_RUN)
    return run_records.RunHead(**columns | {"created": run.created or created})


def write_head(run: state.Run) -> json.JsonObject:
    """Return the document of the run."""
    return {"schema": SCHEMA, **_plain(run, leave_out=NOT_IN_HEAD)}


def stage_record(position: int, stage: state.StageState) -> run_records.StageRecord:
    """Return the record of the stage at `position`."""
    return run_records.StageRecord(
        position=position,
        name=stage.stage.name,
        document={
            **_plain(stage, leave_out=("groups", *_OF_STAGE)),
            "groups": [_plain(group, leave_out=("tasks",)) for group in stage.groups],
        },
        **_columns(stage, _OF_STAGE),
    )


def task_record(
    stage: str, position: int, group: int, task: state.TaskState
) -> run_records.TaskRecord:
    """Return the record of a task, which is at `position` of its stage and in its group `group`."""
    document = cast("json.JsonObject", msgspec.to_builtins(task))
    for name in _OF_TASK:
        del document[name]
    document["group"] = group
    return run_records.TaskRecord(
        stage=stage, position=position, document=document, **_columns(task, _OF_TASK)
    )


def read_run(stored: run_records.StoredRun) -> state.Run:
    """Put a run together from its pieces.

    Raises:
        errors.PermanentError: A piece is damaged, or was written by a newer version.
    """
    if stored.unreadable:
        raise errors.PermanentError(
            f"what is stored of run {stored.head.id} cannot be read: {stored.unreadable}"
        )
    schema = stored.document.get("schema")
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
    tasks: dict[str, list[run_records.TaskRecord]] = {stage.id: [] for stage in stored.stages}
    for task in stored.tasks:
        tasks[task.stage].append(task)
    stages = [_stage(stage, tasks[stage.id]) for stage in stored.stages]
    return _build(
        state.Run,
        stored.document,
        **_columns(stored.head, _OF_RUN),
        stages=tuple(stage for stage in stages if stage.id != state.ROLLBACK_ID),
        rollback=next((stage for stage in stages if stage.id == state.ROLLBACK_ID), None),
    )


def _stage(
    record: run_records.StageRecord, tasks: Iterable[run_records.TaskRecord]
) -> state.StageState:
    document = record.document
    members: list[list[state.TaskState]] = [[] for _ in document["groups"]]
    for task in tasks:
        columns = _columns(task, _OF_TASK) | {"status": task.status.value}
        members[task.document["group"]].append(_read(state.TaskState, task.document | columns))
    return _build(
        state.StageState,
        document,
        **_columns(record, _OF_STAGE),
        stage=read_pipeline_stage(document["stage"]),
        groups=tuple(
            _build(state.GroupState, group, tasks=tuple(of_group))
            for group, of_group in zip(document["groups"], members, strict=True)
        ),
    )


def read_pipeline_stage(document: json.JsonObject) -> pipelines.Stage:
    """Return what a stage carries out, from its document as `msgspec.to_builtins` makes it."""
    options = catalog.of(document["name"]).options
    return _build(pipelines.Stage, document, options=_read(options, document["options"]))


def _columns(piece: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(piece, name) for name in names}


def _plain(value: object, *, leave_out: tuple[str, ...]) -> json.JsonObject:
    """Return a dataclass as a JSON object, without some of its fields."""
    return {
        name: msgspec.to_builtins(getattr(value, name))
        for name in _types(type(value))
        if name not in leave_out
    }


def _read(kind: type[Value], document: object) -> Value:
    try:
        return json.convert(document, kind)
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
        _KNOWN_TYPES[kind] = {field.name: hints[field.name] for field in fields(kind)}
    return _KNOWN_TYPES[kind]


#: Looked up once for each of the few dataclasses.
_KNOWN_TYPES: dict[type, Mapping[str, Any]] = {}
