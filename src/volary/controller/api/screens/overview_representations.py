"""What the first screen shows: what needs a person, what runs, and what runs where."""

from collections.abc import Mapping
from datetime import datetime

from volary.controller.api import representations
from volary.controller.api.screens import action_representations


class Attention(representations.Representation, frozen=True):
    """Something that needs a person."""

    #: ``approval``, ``held``, ``failed``, ``rolledBack``, ``outOfSync``, ``broken``, ``paused``,
    #: ``refusedCommit``, ``clusterUnreachable`` or ``clusterNotReady``.
    kind: str
    #: The smaller, the more urgent.
    rank: int
    #: Empty: it is about a cluster.
    application: str
    run: str
    stage: str
    wave: str
    #: Those it is about.
    clusters: tuple[str, ...]
    #: The same as ``volary explain`` says.
    sentence: str
    since: datetime | None
    #: The command that answers it.
    command: str
    #: How many applications a cluster holds up; 0 for everything else.
    applications: int


class RunningRun(representations.Representation, frozen=True):
    """A run under way, as a line."""

    run: str
    application: str
    commit: str
    subject: str
    status: str
    #: What it is at, or waits for.
    sentence: str
    stages_done: int
    stages_total: int
    clusters_done: int
    clusters_total: int
    clusters_failed: int
    #: Traffic of the canary in percent where it is routed; none: it is not.
    canary_weight: int | None
    started: datetime | None


class PlaceCommit(representations.Representation, frozen=True):
    """What of an application runs in one place."""

    #: Name of the column.
    place: str
    #: The commits that run there, the one in most clusters first.
    commits: tuple[str, ...]
    #: Clusters of the application in it, and those that have the newest of `commits`.
    clusters: int
    current: int
    #: ``healthy``, ``progressing``, ``degraded``, ``missing`` or ``unknown``.
    health: str
    #: ``inSync``, ``outOfSync`` or ``unknown``.
    drift: str


class ApplicationRow(representations.Representation, frozen=True):
    """An application as a line of the overview."""

    name: str
    project: str
    labels: Mapping[str, str]
    status: str
    reason: str
    running_commit: str
    head: str
    run: str
    #: How its run under way is, such as ``waiting``; empty: none is, or it cannot be read.
    run_status: str
    #: When the last release completed.
    released: datetime | None
    places: tuple[PlaceCommit, ...]


class Facet(representations.Representation, frozen=True):
    """A value that applications can be narrowed to, and how many have it."""

    value: str
    count: int


class Overview(representations.Representation, frozen=True):
    """The head of the first screen; its lines are paged apart."""

    at: datetime
    #: One sentence: ``2 of 41 applications need you; 3 runs are under way``.
    sentence: str
    attention: tuple[Attention, ...]
    #: Beyond the bound.
    attention_omitted: int
    running: tuple[RunningRun, ...]
    running_omitted: int
    #: The columns, in order: environments, else regions, else clusters.
    places: tuple[str, ...]
    #: What the columns are: ``environment``, ``region`` or ``cluster``.
    places_by: str
    applications: int
    #: By ``project``, ``status``, ``region``, ``cluster``, ``team``: the values there are.
    facets: Mapping[str, tuple[Facet, ...]]


class CommitOnClusters(representations.Representation, frozen=True):
    """A commit, and the clusters that run it."""

    #: Empty: nothing of the application.
    commit: str
    clusters: tuple[str, ...]


class HistoryEntry(representations.Representation, frozen=True):
    """A run of an application, or a commit that never became one."""

    #: ``run``, or ``commit``: it was refused, superseded, or waits, and there is no run of it.
    kind: str
    #: When it was planned, or seen first.
    at: datetime
    #: Empty: there is none.
    run: str
    commit: str
    subject: str
    #: Of the run; of a commit ``failed``, ``broken`` (its file cannot be used), ``queued``,
    #: ``superseded`` or ``reverted``.
    status: str
    #: Why it has this status: of a commit that was refused, why it was.
    reason: str
    #: Why the run exists; empty: there is none.
    trigger: str
    #: Who or what asked for the run, or wrote the commit.
    by: str
    strategy: str
    clusters: tuple[str, ...]
    started: datetime | None
    finished: datetime | None
    #: What its clusters ran when it had ended, as far as it is proven; empty: it has not ended, or
    #: says nothing about that, such as a run that failed.
    commits_after: tuple[CommitOnClusters, ...] = ()
    #: Going back to it; none: it is no version that was completed, or it is what runs.
    rollback: action_representations.Action | None = None
