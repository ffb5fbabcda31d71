"""What observers of a run see: an ordered stream of frozen values.

One stream per run; `number` counts up by one, so a reader notices a gap. Each value
has a JSON form (`to_json`), one object a line in ``volary run --output json``:

- every line has ``number``, ``at`` (RFC 3339, UTC), ``run`` and ``event``, the name;
- lines of a stage add ``stage`` (its id) and ``stageName``; of a task also ``target``
  and ``attempt``;
- ``status`` is one of the status words, ``reason`` one sentence.

Readers ignore fields and events they do not know.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

import msgspec

from volary.engine import executor
from volary.engine.runs import state
from volary.model import clocks, json, statuses


class RunEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="event"):
    """What every event says."""

    number: int = 0
    at: datetime
    run: str


class RunStarted(RunEvent, frozen=True, kw_only=True, tag="run-started"):
    """The run left `planned`; tells what is going to happen where."""

    application: str
    commit: str
    running_commit: str
    targets: tuple[str, ...]
    #: Ids of the stages in order.
    stages: tuple[str, ...]
    #: Those of the targets that the run goes without from the beginning.
    left_out: tuple[str, ...] = ()
    #: The targets of each wave, in order; empty: the run does not move in waves.
    waves: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    #: What the application's file says that is not carried out, or worth a thought.
    warnings: tuple[str, ...] = ()


class RunChanged(RunEvent, frozen=True, kw_only=True, tag="run-changed"):
    """The run's status or reason changed, without a start or an end."""

    status: statuses.RunStatus
    reason: str


class RollbackStarted(RunEvent, frozen=True, kw_only=True, tag="rollback-started"):
    """The touched clusters are being rolled back."""

    reason: str
    targets: tuple[str, ...]


class RequestRefused(RunEvent, frozen=True, kw_only=True, tag="request-refused"):
    """Somebody asked for something that cannot be done now."""

    reason: str


class RunFinished(RunEvent, frozen=True, kw_only=True, tag="run-finished"):
    """The run has ended; always the last event."""

    status: statuses.RunStatus
    reason: str
    #: Clusters the run wrote to.
    touched: tuple[str, ...]
    #: Why the run went on without a cluster, or what is left undone there, by its name.
    exceptions: Mapping[str, str] = msgspec.field(default_factory=dict)


class StageEvent(RunEvent, frozen=True, kw_only=True):
    """What every event of a stage says."""

    stage: str
    stage_name: str


class StageStarted(StageEvent, frozen=True, kw_only=True, tag="stage-started"):
    """A stage began, or began again after a retry."""

    targets: tuple[str, ...]
    deadline: datetime | None


class StageWaiting(StageEvent, frozen=True, kw_only=True, tag="stage-waiting"):
    """A group of targets waits for approval."""

    reason: str


class StageFinished(StageEvent, frozen=True, kw_only=True, tag="stage-finished"):
    """The stage's result is known; tasks of a failed stage may still be finishing."""

    status: statuses.TaskStatus
    reason: str


class TaskEvent(StageEvent, frozen=True, kw_only=True):
    """What every event of a task says."""

    target: str
    attempt: int


class TaskStarted(TaskEvent, frozen=True, kw_only=True, tag="task-started"):
    """A stage began on one cluster."""

    deadline: datetime | None


class TaskProgressed(TaskEvent, frozen=True, kw_only=True, tag="task-progressed"):
    """How far a task is."""

    sentence: str
    ready: int
    total: int
    wanted_weights: Mapping[str, int] = msgspec.field(default_factory=dict)
    observed_weights: Mapping[str, int] = msgspec.field(default_factory=dict)


class TaskTraffic(TaskEvent, frozen=True, kw_only=True, tag="task-traffic"):
    """Traffic of a cluster is divided otherwise: as it was asked for, or as it was read back.

    Other than progress it is kept, so that whoever looks later sees how traffic moved.
    """

    #: Percentages per variant; those observed are empty until they were read back.
    wanted_weights: Mapping[str, int]
    observed_weights: Mapping[str, int]


class TaskLogged(TaskEvent, frozen=True, kw_only=True, tag="task-logged"):
    """A line of a task's log."""

    level: executor.LogLevel
    line: str


class TaskFinding(TaskEvent, frozen=True, kw_only=True, tag="task-finding"):
    """Something that an analysis measured or concluded."""

    #: ``measurement`` or ``verdict``.
    kind: str
    #: Name of the metric.
    metric: str
    #: Of a measurement: query, values, how the look was judged; of a verdict: result, sentence,
    #: numbers.
    document: Mapping[str, object]


class TaskTookOver(TaskEvent, frozen=True, kw_only=True, tag="task-took-over"):
    """An object that somebody else claimed is the application's now, as Git says."""

    #: Its kind, namespace and name.
    object: str
    #: Who claimed it.
    claimant: str


class TaskStopping(TaskEvent, frozen=True, kw_only=True, tag="task-stopping"):
    """A running task was asked to stop."""

    how: state.Stopping
    reason: str


class TaskFinished(TaskEvent, frozen=True, kw_only=True, tag="task-finished"):
    """A task ended, also one that never started (attempt 0)."""

    status: statuses.TaskStatus
    reason: str
    details: tuple[str, ...]


#: Every event there is, as a reader of the JSON form tells them apart.
AnyEvent = (
    RunStarted
    | RunChanged
    | RollbackStarted
    | RequestRefused
    | RunFinished
    | StageStarted
    | StageWaiting
    | StageFinished
    | TaskStarted
    | TaskProgressed
    | TaskTraffic
    | TaskLogged
    | TaskFinding
    | TaskTookOver
    | TaskStopping
    | TaskFinished
)


class Observer(Protocol):
    """Gets each event in order, inside the runner: returns at once."""

    def notify(self, event: RunEvent) -> None:
        """Take one event; must not block."""
        ...


def to_json(event: RunEvent) -> json.JsonObject:
    """Return the event's JSON form: its name, camelCase keys, times as text in UTC."""
    document: json.JsonObject = msgspec.to_builtins(event, builtin_types=(datetime,))
    for key, value in document.items():
        if isinstance(value, datetime):
            document[key] = clocks.rfc3339(value)
    return document
