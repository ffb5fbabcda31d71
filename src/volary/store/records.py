"""What is kept besides runs: frozen records, times aware and in UTC."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Generic, TypeVar

from volary.model import json
from volary.model import statuses as model_statuses
from volary.model.runs import run_records

Item = TypeVar("Item", covariant=True)
Other = TypeVar("Other")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """A piece of a list."""

    items: tuple[Item, ...]
    #: Where the next page begins; empty: there is none.
    cursor: str = ""

    def map(self, made: Callable[[Item], Other]) -> "Page[Other]":
        """Return the same piece of the list of what is made of its items."""
        return Page(tuple(map(made, self.items)), self.cursor)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run as lists show it: without documents."""

    head: run_records.RunHead
    version: int
    origin: json.JsonObject
    #: Why it cannot be read, as far as it cannot: that is empty then; empty: it can be read.
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run that has ended, with what figures need of its commit and its rollback."""

    id: str
    application: str
    #: As its origin says: ``release``, ``rollback``, …; empty: nobody knows.
    kind: str
    status: model_statuses.RunStatus
    commit: str
    created: datetime
    started: datetime | None
    finished: datetime
    #: When its commit was seen first; None: it was never seen.
    seen: datetime | None = None
    #: When it began to be rolled back; None: it was not.
    rolled_back_from: datetime | None = None


@dataclass(frozen=True, slots=True)
class ArtifactRecord:
    """What is known of an artifact that an agent is sent, besides its bytes."""

    #: SHA-256 of them, in hexadecimal.
    digest: str
    run_id: str
    #: Name of the cluster.
    target: str
    #: For which keys it is sealed, as its maker writes them.
    recipients: str
    created: datetime


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs a list shows; what is empty does not narrow it."""

    #: Names; None: of every application; empty: of none (a person who may see nothing).
    applications: frozenset[str] | None = None
    statuses: frozenset[model_statuses.RunStatus] = frozenset()
    commit: str = ""
    #: Who asked for it.
    by: str = ""
    #: A cluster that it is about.
    target: str = ""


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """An event of a run's feed as it was kept."""

    #: Grows over all runs, with gaps; where a reader of all runs goes on.
    position: int
    run_id: str
    application: str
    #: Counts up by one within the run.
    number: int
    record: run_records.EventRecord


@dataclass(frozen=True, slots=True)
class _TaskRow:
    run_id: str
    stage: str
    target: str
    attempt: int
    at: datetime


@dataclass(frozen=True, slots=True)
class LogLine(_TaskRow):
    """One line that a task said."""

    #: ``info``, ``warning`` or ``error``.
    level: str
    #: One line without its end; cut when it is too long.
    text: str
    #: Set by the store: grows over all tasks, with gaps; where a reader goes on.
    position: int = 0
    #: Set by the store: counts up by one within the task; a gap: lines were dropped there.
    number: int = 0


@dataclass(frozen=True, slots=True)
class Finding(_TaskRow):
    """Something that an analysis measured or concluded."""

    #: ``measurement`` or ``verdict``.
    kind: str
    #: Name of the metric; empty: it is about all of them.
    metric: str
    document: json.JsonObject = field(default_factory=dict)
    #: Of each key a task's first finding is kept, and no other; empty: it has none.
    key: str = ""
    #: Set by the store: grows over all runs, with gaps; where a reader goes on.
    position: int = 0
    #: Set by the store: counts up by one within the task; a gap: some were dropped there.
    number: int = 0


@dataclass(frozen=True, slots=True)
class FindingFilter:
    """Which findings a list shows; what is empty does not narrow it."""

    stage: str = ""
    target: str = ""
    metric: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class TaskKey:
    """One attempt at one stage on one cluster."""

    run_id: str
    stage: str
    target: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to drive something, until it expires or somebody takes it over."""

    name: str
    owner: str
    #: Grows by one with every new holder.
    number: int
    expires: datetime

    @property
    def fence(self) -> run_records.Fence:
        """What a write has to show."""
        return run_records.Fence(self.name, self.number)


@dataclass(frozen=True, slots=True)
class ApplicationRecord:
    """An application that is known, or was."""

    name: str
    repository: str = ""
    #: Directory and file, relative to the repository.
    path: str = ""
    branch: str = ""
    #: The project that it belongs to; empty: to none.
    project: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    #: A word of the caller, such as ``synced`` or ``broken``.
    status: str = ""
    #: Why it has this status, one sentence.
    reason: str = ""
    #: The last commit that succeeded, as its document has it: that commit is not removed.
    running_commit: str = ""
    #: What else the caller wants to find again.
    document: json.JsonObject = field(default_factory=dict)
    updated: datetime | None = None
    #: When its file went away; None: it is there.
    removed: datetime | None = None
    #: Set by the store: grows by one with each change.
    version: int = 0
    #: Set by the store: why it cannot be read, as far as it cannot; empty: it can.
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class ApplicationFilter:
    """Which applications a list shows; what is empty does not narrow it."""

    #: Labels an application must have, all of them.
    labels: Mapping[str, str] = field(default_factory=dict)
    status: str = ""
    repository: str = ""
    project: str = ""
    #: Also those whose file went away.
    with_removed: bool = False


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """A commit of an application and what became of it."""

    application: str
    commit: str
    #: When the controller saw it first.
    seen: datetime
    subject: str = ""
    author: str = ""
    #: A word of the caller, such as ``queued``, ``superseded``, ``skipped``, ``succeeded``.
    status: str = ""
    reason: str = ""
    #: The run it led to; empty: none.
    run_id: str = ""
    #: Set by the store: why it cannot be read, as far as it cannot; empty: it can.
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """A cluster of the fleet, or one that was."""

    name: str
    #: A word of the caller, such as ``ready`` or ``unreachable``.
    state: str = ""
    #: What else the caller wants to find again.
    document: json.JsonObject = field(default_factory=dict)
    updated: datetime | None = None
    #: Set by the store: why it cannot be read, as far as it cannot; empty: it can.
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class ProjectFilesRecord:
    """Project files of a repository, as they were when they had no errors last."""

    #: Where they come from: address, branch and directory.
    source: str
    #: The commit that they are of; empty: there was never one without errors.
    commit: str = ""
    #: Why a newer commit was not taken; empty: there is none.
    problem: str = ""
    #: The files themselves, as the caller wants to find them again.
    document: json.JsonObject = field(default_factory=dict)
    updated: datetime | None = None
    #: Set by the store: why it cannot be read, as far as it cannot; empty: it can.
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class WorkspaceRecord:
    """A workspace, or one that was and is not deleted everywhere yet."""

    name: str
    project: str = ""
    #: What it consists of, and how it is on each cluster, as the caller writes it.
    document: json.JsonObject = field(default_factory=dict)
    updated: datetime | None = None
    #: When it went away from where it is written; None: it is there.
    removed: datetime | None = None
    #: Set by the store: why it cannot be read, as far as it cannot; empty: it can.
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class ServerRecord:
    """A process that serves, or served."""

    #: Of this life of the process; as the leader it holds the lease under it.
    id: str
    #: Of its machine.
    name: str
    #: Where other processes reach it, such as ``https://10.0.0.7:8443``.
    address: str
    #: Of its program.
    version: str
    #: The newest of the schema that its program knows.
    revision: str
    started: datetime
    #: When it was there last, by the database's clock.
    seen: datetime
    #: When it said goodbye.
    ended: datetime | None = None


@dataclass(frozen=True, slots=True)
class ApiTokenRecord:
    """An API token; nothing in it lets anybody in."""

    id: str
    #: What the caller keeps of it: its name, the hash, what it is for.
    document: json.JsonObject
    revoked: datetime | None = None
    #: When it was used last, to some minutes.
    used: datetime | None = None


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """The login of one browser. Nothing in it lets anybody in: of secrets there are hashes."""

    id: str
    #: Of what the browser has to show.
    hash: str
    #: As audit and roles have it.
    by: str
    #: A word of the caller: how they logged in.
    source: str
    #: Who or what was believed then: a name of the issuer, or the id of an API token.
    credential: str
    csrf_token: str
    created: datetime
    #: When `hash` was made.
    rotated: datetime
    #: When it was used last, give or take a minute.
    seen: datetime
    expires: datetime
    #: Who said who they are; empty: this server.
    issuer: str = ""
    #: What else was said of them then.
    document: json.JsonObject = field(default_factory=dict)
    #: Of what the browser had to show before; empty: it was never changed.
    previous: str = ""
    #: With what was shown before makes what is shown now.
    nonce: str = ""
    #: When `previous` is no longer believed; None: when the present one has been seen.
    previous_ends: datetime | None = None


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """What a person requested, until the leader has answered."""

    id: str
    #: A word of the caller, such as ``approve`` or ``sync``.
    kind: str
    by: str
    at: datetime
    application: str = ""
    run_id: str = ""
    document: json.JsonObject = field(default_factory=dict)
    answered: datetime | None = None
    #: Why it was refused; empty: it was taken, or is not answered yet.
    refusal: str = ""
    #: Set by the store: grows with each request, whatever the clocks of those who took them say.
    position: int = field(default=0, compare=False)
    #: Set by the store: why it cannot be read, as far as it cannot; empty: it can.
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """Who did what, when, from where, with which result, and what it changed."""

    at: datetime
    by: str
    #: What was done, such as ``run.approve``.
    action: str
    #: ``ok``, ``denied`` or ``failed``.
    result: str
    #: Address it came from; empty: from inside.
    source: str = ""
    application: str = ""
    #: Whose it was about; empty: of an application the store takes what that belongs to, and
    #: everything else is the server's.
    project: str = ""
    run_id: str = ""
    document: json.JsonObject = field(default_factory=dict)
    #: How it was, and how it is then; only of what changed.
    before: json.JsonObject = field(default_factory=dict)
    after: json.JsonObject = field(default_factory=dict)
    #: Set by the store: counts up by one from 1, and is never used again.
    position: int = 0
    #: Set by the store: the hash of the entry before, empty for the first; see `audit_chain`.
    previous: str = ""
    #: Set by the store: its own.
    hash: str = ""
    #: Set by the store: why it cannot be read, as far as it cannot; empty: it can.
    unreadable: str = ""


class AgentKind(StrEnum):
    """What works apart from servers."""

    #: Beside its cluster, which is reached through it.
    AGENT = "agent"
    #: With credentials of its clusters; it opens no connection by which they are reached.
    WORKER = "worker"


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """An agent or a worker. Nothing in it lets anybody in: of its tokens there are hashes."""

    name: str
    #: SHA-256 of its token, hexadecimal.
    hash: str
    created: datetime
    #: When `hash` was made.
    rotated: datetime
    kind: AgentKind = AgentKind.AGENT
    #: Of the token before, which is good until the present one was seen; empty: it was.
    previous: str = ""
    #: Its public key, with which is sealed what only it may read; X25519, in base64.
    sealing_key: str = ""
    #: The one before, for as long as the token before is good.
    previous_sealing_key: str = ""
    #: Of the cluster that it was first seen from (its namespace kube-system); empty: never seen.
    cluster_uid: str = ""
    #: What it said last that it runs.
    version: str = ""
    #: The protocol that was agreed on last; 0: none.
    protocol: int = 0
    #: Why it was not let in last; empty: it was, or never came.
    reason: str = ""
    #: When it was last heard of, give or take a minute; None: never.
    seen: datetime | None = None
    #: Its clusters (`clusters`), and what it said of its policy.
    document: json.JsonObject = field(default_factory=dict)
    #: Set by the store: why it cannot be read, as far as it cannot; empty: it can.
    unreadable: str = ""

    @property
    def clusters(self) -> tuple[str, ...]:
        """The clusters that it works for."""
        listed = self.document.get("clusters")
        return tuple(map(str, listed)) if isinstance(listed, list) else ()


@dataclass(frozen=True, slots=True)
class AuditHead:
    """Where the audit's chain ends."""

    #: Of the newest entry; 0: there was never one.
    position: int = 0
    hash: str = ""


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which audit records a list shows; what is empty does not narrow it."""

    by: str = ""
    application: str = ""
    run_id: str = ""
    action: str = ""
    #: Names; None: of every project and of none.
    projects: frozenset[str] | None = None
    #: The cluster that the command named.
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class Retention:
    """What may be removed.

    A run is removed with everything that belongs to it once it finished before `before`,
    unless it is one of its application's newest runs or the newest that succeeded. What these were
    planned to apply is kept too, and of a run that has not ended; of the others it goes at once.
    """

    before: datetime
    keep_runs_per_application: int = 20
    #: None: the audit is kept for ever.
    audit_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class Pruned:
    """How much was removed."""

    runs: int = 0
    events: int = 0
    logs: int = 0
    commits: int = 0
    requests: int = 0
    audit: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is kept and asked for at most."""

    #: Newest lines kept of each task's log.
    lines_per_task: int = 5_000
    #: Newest findings kept of each task.
    findings_per_task: int = 5_000
    #: Characters of a log line; what is longer is cut and says so.
    line_length: int = 4_000
    #: Items of a page.
    page: int = 1_000
    #: Transitions written in one transaction.
    group: int = 100
    #: How long a write waits for another process's (SQLite), and for a connection.
    busy: timedelta = timedelta(seconds=5)


def is_same(before: ApplicationRecord, after: ApplicationRecord) -> bool:
    """Say whether keeping `after` would change nothing but when and how often it was kept."""
    return before == replace(
        after, updated=before.updated, version=before.version, labels=dict(after.labels)
    )
