"""What is remembered of a run: plain records that the engine makes and the store keeps.

A run is kept in pieces, so that a transition writes only what it changed: its head, a
record per stage, a record per task. Each piece has columns to ask for and a *document*:
the engine's own state of that piece as JSON, which the store never looks into. Times are
aware and in UTC.
"""

from dataclasses import dataclass, field
from datetime import datetime

from volary.model import json, statuses


@dataclass(frozen=True, slots=True)
class Fence:
    """Proof of holding a lease; a write with a number that was overtaken is refused."""

    #: The lease's name.
    name: str
    #: Grows by one with every new holder.
    number: int


@dataclass(frozen=True, slots=True)
class RunHead:
    """The columns of a run."""

    id: str
    application: str
    status: statuses.RunStatus
    #: Why it has this status, one sentence.
    reason: str
    commit: str
    #: Empty: a first deployment.
    running_commit: str
    created: datetime
    started: datetime | None = None
    #: Set exactly when the run is final.
    finished: datetime | None = None


@dataclass(frozen=True, slots=True)
class StageRecord:
    """One stage of a run, without its tasks."""

    id: str
    #: Counted from 0; a rollback comes after all others.
    position: int
    #: The stage's name as users write it.
    name: str
    status: statuses.TaskStatus
    reason: str
    started: datetime | None
    finished: datetime | None
    document: json.JsonObject


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """One stage on one cluster."""

    stage: str
    target: str
    #: Counted from 0 within the stage, over all its groups.
    position: int
    status: statuses.TaskStatus
    reason: str
    attempt: int
    started: datetime | None
    finished: datetime | None
    document: json.JsonObject


@dataclass(frozen=True, slots=True)
class EventRecord:
    """One event of a run's feed."""

    at: datetime
    #: The event's name, ``task-finished``.
    event: str
    document: json.JsonObject
    #: Empty when it is not about a stage or a cluster.
    stage: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalRecord:
    """What one person decided about a group that waited."""

    stage: str
    #: The group's name; may be empty.
    group: str
    by: str
    at: datetime
    #: False: rejected.
    approved: bool
    comment: str = ""


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """One delivery of a notification to one receiver, until it is delivered."""

    #: Unique, and the same each time it is tried: receivers can tell repetitions by it.
    id: str
    receiver: str
    body: json.JsonObject
    #: A newer message of the same topic takes the place of one that waits; empty: it does not.
    topic: str = ""
    #: Said below the topic's message, so that it reaches people; such a message has no body.
    reply: str = ""


@dataclass(frozen=True, slots=True)
class RequestAnswer:
    """The answer to what a person asked for, kept together with what came of it."""

    #: The request's id.
    request: str
    at: datetime
    #: Why not, one sentence; empty: it is done.
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Transition:
    """One step of a run: kept whole or not at all."""

    head: RunHead
    #: Version of the run it follows from; 0: the run is new.
    expected_version: int
    at: datetime
    #: The head's document; None: as before.
    document: json.JsonObject | None = None
    #: Only those that are new or changed.
    stages: tuple[StageRecord, ...] = ()
    tasks: tuple[TaskRecord, ...] = ()
    #: For readers of the feed, in order; the store numbers them.
    feed: tuple[EventRecord, ...] = ()
    approvals: tuple[ApprovalRecord, ...] = ()
    #: What people are notified of; they wait in the store until they are delivered.
    notifications: tuple[OutboxMessage, ...] = ()
    #: To the requests that it carries out; one that has an answer is not carried out again.
    answers: tuple[RequestAnswer, ...] = ()
    #: Of a new run only: why it exists (trigger, person, plan, commit's subject).
    origin: json.JsonObject = field(default_factory=dict)
    #: Of a new run only: its clusters as they are described now. Lists do not read it.
    clusters: json.JsonObject = field(default_factory=dict)
    #: Of a new run only: what it was planned to apply, packed by the caller. Read by itself.
    manifests: bytes = b""

    @property
    def version(self) -> int:
        """The run's version afterwards."""
        return self.expected_version + 1


@dataclass(frozen=True, slots=True)
class KeptTransition:
    """A transition that is safe now."""

    #: The run's new version, to be expected by the next transition.
    version: int
    #: Number of the last event of the run's feed.
    last_event: int


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A whole run as it was kept last."""

    head: RunHead
    version: int
    last_event: int
    document: json.JsonObject
    origin: json.JsonObject
    #: In order of position.
    stages: tuple[StageRecord, ...]
    #: In order of stage and position.
    tasks: tuple[TaskRecord, ...]
    #: Its clusters as they were described when it began.
    clusters: json.JsonObject = field(default_factory=dict)
    #: Set by the store: why it cannot be read, as far as it cannot; empty: it can.
    unreadable: str = ""
