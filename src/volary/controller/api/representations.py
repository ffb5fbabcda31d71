"""What people see: frozen values without behaviour, written as JSON as they are.

Times are aware and in UTC, status words are those of `model.status`, sentences have no full
stop. Every text is already without secrets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

import msgspec

from volary.model import json


class Representation(msgspec.Struct, frozen=True, rename="camel"):
    """What an answer is made of; the OpenAPI document describes every kind of it."""


Kind = TypeVar("Kind", bound=Representation)


def build(kind: type[Kind], *sources: object, **values: object) -> Kind:
    """Return a representation of these values; what is not said is read from the sources.

    Each field has the name of an attribute of a source; of several the first one has it.

    Raises:
        AttributeError: No source has a field.
    """
    for name in kind.__struct_fields__:
        if name not in values:
            values[name] = _read(kind, name, sources)
    return kind(**values)


def _read(kind: type[Representation], name: str, sources: Sequence[object]) -> object:
    for source in sources:
        if hasattr(source, name):
            return getattr(source, name)
    raise AttributeError(f"nothing says what {kind.__name__}.{name} is")


class PendingRun(Representation, frozen=True):
    """What an application will do next, and why not yet."""

    #: The id its run will have.
    run: str
    commit: str
    #: Why it was requested.
    reason: str
    #: Who or what asked: ``commit``, ``command``, ``rollback``.
    kind: str
    by: str
    #: Why it has not begun.
    waiting_reason: str


class Application(Representation, frozen=True):
    """An application as it stands."""

    name: str
    repository: str
    path: str
    branch: str
    #: The project that it belongs to: ``default`` as long as there is none; empty: to none.
    project: str
    labels: Mapping[str, str]
    #: ``synced``, ``out_of_sync``, ``running``, ``waiting``, ``failed``, ``rolled_back``,
    #: ``cancelled``, ``broken``, ``suspended``, ``removed``, ``orphaned``,
    #: ``unreadable`` or ``unknown``.
    status: str
    reason: str
    #: The last commit that succeeded; empty: none did.
    running_commit: str
    #: Newest commit that was seen.
    head: str
    #: Newest commit of which it is known what it means here: a run, or nothing.
    decided: str
    #: Id of the run under way, or of the last one.
    run: str
    waiting: PendingRun | None
    #: Who paused it and why; empty: it is not paused.
    paused: str
    #: Why nothing of it begins: it belongs to no project; empty: it belongs to one.
    unowned: str
    #: Clusters that have not got the last completed release, and what each waits for.
    missing: Mapping[str, str]
    #: What the last release warned of: what its file says that is not carried out, and the like.
    warnings: tuple[str, ...]
    updated: datetime | None
    removed: datetime | None
    #: Grows with each change.
    version: int
    #: What the run under way is at or waits for, with the cluster and what is seen there; empty:
    #: none is under way.
    cause: str
    #: How that run is, such as ``waiting``; empty: none is under way.
    run_status: str


class Fetched(Representation, frozen=True):
    """Where the branch of an application is."""

    #: The commit that the host said now.
    head: str


class RunSummary(Representation, frozen=True):
    """A run as lists show it."""

    id: str
    application: str
    status: str
    reason: str
    commit: str
    running_commit: str
    subject: str
    #: Why the run exists, and who or what asked for it.
    trigger: str
    by: str
    strategy: str
    targets: tuple[str, ...]
    created: datetime
    started: datetime | None
    finished: datetime | None
    #: Grows with each change.
    version: int


class Task(Representation, frozen=True):
    """One stage on one cluster."""

    target: str
    #: Name of the group it moves with; may be empty.
    group: str
    status: str
    reason: str
    attempt: int
    started: datetime | None
    finished: datetime | None
    deadline: datetime | None
    #: How far it is, in a sentence; ``ready`` of ``total``, both 0 without a count.
    progress: str
    ready: int
    total: int
    #: Traffic in percent per variant, as asked for and as read back.
    wanted_weights: Mapping[str, int]
    observed_weights: Mapping[str, int]
    details: tuple[str, ...]


class PlacedTask(Representation, frozen=True):
    """A task and where it belongs."""

    #: Id of its stage.
    stage: str
    task: Task


class Stage(Representation, frozen=True):
    """One step of a run on all its clusters."""

    id: str
    name: str
    status: str
    reason: str
    started: datetime | None
    finished: datetime | None
    deadline: datetime | None
    #: The wave it is a step of; empty: of none.
    wave: str
    #: Who ended before its time what it waits for, and why; empty: nobody did.
    promoted: str
    tasks: tuple[Task, ...]


class Target(Representation, frozen=True):
    """A cluster of a run."""

    name: str
    #: The run wrote to it, or may have.
    touched: bool
    #: Why the run goes on without it; empty: it does not.
    left_out: str
    #: What stages left undone there although they succeeded; empty: nothing.
    exception: str


class Approval(Representation, frozen=True):
    """What one person decided."""

    stage: str
    group: str
    by: str
    at: datetime
    approved: bool
    comment: str


class PendingApproval(Representation, frozen=True):
    """An approval that is waited for."""

    stage: str
    group: str
    #: How many are needed and how many there are.
    needed: int
    given: int
    #: Who may; empty: anybody who is let in.
    approvers: tuple[str, ...]
    expires: datetime | None


class ClusterReplicas(Representation, frozen=True):
    """What one cluster gets of a workload."""

    name: str
    #: Of a Job its parallelism, of an autoscaler the most.
    replicas: int
    #: Of a Job that has some.
    completions: int | None = None
    #: Of an autoscaler.
    least_replicas: int | None = None
    #: How many more would have fit; none: nobody had to look.
    free: int | None = None
    #: When that was read.
    read_at: datetime | None = None


class WorkloadReplicas(Representation, frozen=True):
    """One workload and who gets how many of its replicas."""

    workload: str
    #: How the numbers came about.
    reason: str
    clusters: tuple[ClusterReplicas, ...]


class RunWave(Representation, frozen=True):
    """Clusters that a run changes together, and what it puts up with among them."""

    name: str
    clusters: tuple[str, ...]
    #: How many may fail, or be unreachable, before the wave has failed.
    failures: int
    unreachable: int
    #: How many have, and the run went on without them.
    failed: int
    lost: int
    #: What follows when it has failed: ``rollback``, ``rollback-wave``, ``hold`` or ``stop``.
    on_failure: str


class Sighting(Representation, frozen=True):
    """Where a run is: what a request about it names, so that it acts on that and nothing else."""

    #: Id of the stage it is at.
    stage: str
    #: Name of the group that waits for approval; empty: none does, or it has no name.
    group: str
    #: Grows with every change of what people decide about.
    version: int


class Run(Representation, frozen=True):
    """A whole run."""

    summary: RunSummary
    #: Why the strategy was chosen.
    plan: str
    stages: tuple[Stage, ...]
    #: None while the run goes forward.
    rollback: Stage | None
    targets: tuple[Target, ...]
    approvals: tuple[Approval, ...]
    pending_approval: PendingApproval | None
    paused_by: str
    #: Who opened closed windows to it, and why; empty: nobody did.
    unfrozen: str
    #: A failure came to rest and a person decides: retry, skip or cancel.
    held: bool
    deadline: datetime | None
    waiting_reason: str
    what_next: str
    #: What a person may type about it as it is, the most likely first.
    next_commands: tuple[str, ...]
    if_failed: str
    #: What moves to another cluster after it, why, and when it interrupts the run; may be empty.
    move: str
    #: Number of the last event of its feed.
    last_event: int
    #: Goes back in `seen` of a request about the run.
    seen: Sighting
    #: Of what is divided over the clusters: what it is pinned to.
    replicas: tuple[WorkloadReplicas, ...] = ()
    #: What the application's file says that is not carried out, or worth a thought.
    warnings: tuple[str, ...] = ()
    #: In the order they are changed; empty: the run does not move in waves.
    waves: tuple[RunWave, ...] = ()


class Event(Representation, frozen=True):
    """One event of a run's feed."""

    #: Grows over all runs, with gaps.
    position: int
    run: str
    application: str
    #: Counts up by one within the run.
    number: int
    at: datetime
    event: str
    document: json.JsonObject


class TaskRow(Representation, frozen=True):
    """What a task left behind."""

    #: Grows over all tasks, with gaps.
    position: int
    number: int
    at: datetime
    stage: str
    target: str
    attempt: int


class LogLine(TaskRow, frozen=True):
    """One line of a task's log."""

    level: str
    text: str


class Finding(TaskRow, frozen=True):
    """Something that an analysis measured or concluded."""

    #: ``measurement`` or ``verdict``.
    kind: str
    metric: str
    #: Of a measurement: `query`, `values`, `variant`, `role`, and how the look was judged; of a
    #: verdict: `result`, `sentence`, `numbers`, `own`, `pooled`.
    document: json.JsonObject


class Accepted(Representation, frozen=True):
    """A wish that was taken."""

    #: Of the run it is about, or will lead to.
    run: str
    #: What follows, one sentence.
    reason: str


class Commit(Representation, frozen=True):
    """A commit of an application and what became of it."""

    commit: str
    seen: datetime
    subject: str
    author: str
    status: str
    reason: str
    run: str


class AuditHead(Representation, frozen=True):
    """Where the audit's chain ends: worth being written down elsewhere."""

    #: Of the newest entry; 0: there was never one.
    position: int
    #: Its hash; empty: there was never one.
    hash: str


class AuditEntry(Representation, frozen=True):
    """Who did what, from where, and what that changed.

    `hash` is the SHA-256, in hexadecimal, of ``previous``, ``position``, ``at``, ``by``,
    ``action``, ``result``, ``source``, ``application``, ``project``, ``run``, ``document``,
    ``before`` and ``after`` as a JSON array in this order: without white space, the keys of
    objects sorted, in UTF-8.
    """

    position: int
    at: datetime
    by: str
    action: str
    #: ``ok``, ``denied`` or ``failed``.
    result: str
    source: str
    application: str
    #: The project that it was about then; empty: none.
    project: str
    run: str
    #: What was asked for, and why it was refused.
    document: json.JsonObject
    #: How it was, of what the command changed.
    before: json.JsonObject
    #: How it was then.
    after: json.JsonObject
    #: Hash of the entry before; empty: this is the first one there ever was.
    previous: str
    hash: str


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks, from where, and whether this is the same as what they asked before."""

    by: str
    #: Address it came from; empty: from inside.
    source: str = ""
    #: What they call this request: asked again under it, it gets the answer it got; may be empty.
    key: str = ""
