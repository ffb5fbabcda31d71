"""What observers of a run see: an ordered stream of frozen values.

One stream per run; `number` counts up by one, so a reader notices a gap. Each value
has a JSON form (`to_json`), one object a line in ``volary run --output json``:

- every line has ``number``, ``at`` (RFC 3339, UTC), ``run`` and ``event``, the name;
- lines of a stage add ``stage`` (its id) and ``stageName``; of a task also ``target``
  and ``attempt``;
- ``status`` is one of the status words, ``reason`` one sentence.

Readers ignore fields and events they do not know.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import ClassVar, Protocol

from volary.engine import executor
from volary.engine.runs import state
from volary.model import json, statuses


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent:
    """What every event says."""

    event: ClassVar[str]

    number: int = 0
    at: datetime
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(RunEvent):
    """The run left `planned`; tells what is going to happen where."""

    event: ClassVar[str] = "run-started"

    application: str
    commit: str
    running_commit: str
    targets: tuple[str, ...]
    #: Ids of the stages in order.
    stages: tuple[str, ...]
    #: Those of the targets that the run goes without from the beginning.
    left_out: tuple[str, ...] = ()
    #: The targets of each wave, in order; empty: the run does not move in waves.
    waves: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChanged(RunEvent):
    """The run's status or reason changed, without a start or an end."""

    event: ClassVar[str] = "run-changed"

    status: statuses.RunStatus
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackStarted(RunEvent):
    """The touched clusters are being rolled back."""

    event: ClassVar[str] = "rollback-started"

    reason: str
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRefused(RunEvent):
    """Somebody asked for something that cannot be done now."""

    event: ClassVar[str] = "request-refused"

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished(RunEvent):
    """The run has ended; always the last event."""

    event: ClassVar[str] = "run-finished"

    status: statuses.RunStatus
    reason: str
    #: Clusters the run wrote to.
    touched: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageEvent(RunEvent):
    """What every event of a stage says."""

    stage: str
    stage_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageStarted(StageEvent):
    """A stage began, or began again after a retry."""

    event: ClassVar[str] = "stage-started"

    targets: tuple[str, ...]
    deadline: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageWaiting(StageEvent):
    """A group of targets waits for approval."""

    event: ClassVar[str] = "stage-waiting"

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFinished(StageEvent):
    """The stage's result is known; tasks of a failed stage may still be finishing."""

    event: ClassVar[str] = "stage-finished"

    status: statuses.TaskStatus
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEvent(StageEvent):
    """What every event of a task says."""

    target: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStarted(TaskEvent):
    """A stage began on one cluster."""

    event: ClassVar[str] = "task-started"

    deadline: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProgressed(TaskEvent):
    """How far a task is."""

    event: ClassVar[str] = "task-progressed"

    sentence: str
    ready: int
    total: int
    wanted_weights: Mapping[str, int] = field(default_factory=dict)
    observed_weights: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLogged(TaskEvent):
    """A line of a task's log."""

    event: ClassVar[str] = "task-logged"

    level: executor.LogLevel
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFinding(TaskEvent):
    """Something that an analysis measured or concluded."""

    event: ClassVar[str] = "task-finding"

    #: ``measurement`` or ``verdict``.
    kind: str
    #: Name of the metric.
    metric: str
    #: Of a measurement: query, values, how the look was judged; of a verdict: result, sentence,
    #: numbers.
    document: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStopping(TaskEvent):
    """A running task was told to stop."""

    event: ClassVar[str] = "task-stopping"

    how: state.Stopping
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFinished(TaskEvent):
    """A task ended, also one that never started (attempt 0)."""

    event: ClassVar[str] = "task-finished"

    status: statuses.TaskStatus
    reason: str
    details: tuple[str, ...]


class Observer(Protocol):
    """Is told each event in order, inside the runner: returns at once."""

    def notify(self, event: RunEvent) -> None:
        """Take one event; must not block."""
        ...


def to_json(event: RunEvent) -> json.JsonObject:
    """Return the event's JSON form: camelCase keys, times as text, tuples as lists."""
    body: json.JsonObject = {"event": event.event}
    for event_field in fields(event):
        body[_camel(event_field.name)] = _plain(getattr(event, event_field.name))
    return body


@functools.cache  # names of fields: a few dozen
def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def _plain(value: object) -> object:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case StrEnum():
            return value.value
        case tuple():
            return [_plain(element) for element in value]
        case Mapping():
            return {str(key): _plain(inner) for key, inner in value.items()}
        case _:
            return value
