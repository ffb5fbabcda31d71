"""What the engine knows about a run: frozen values, changed by `machine.advance` only.

A run is a sequence of stages; a stage a sequence of groups of targets (one group
unless the fleet moves in waves); a group holds one task per target. Everything here
is plain data, so it can be stored and gone on with by a later process: nothing
depends on a position in code. Times are aware and in UTC.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from volary.engine.runs import counters, policies
from volary.model import statuses
from volary.model.pipeline import pipelines

ROLLBACK_ID = "rollback"

#: A run in one of these never changes again.
FINAL_RUN = frozenset(
    {
        statuses.RunStatus.SUCCEEDED,
        statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS,
        statuses.RunStatus.FAILED,
        statuses.RunStatus.CANCELLED,
        statuses.RunStatus.ROLLED_BACK,
    }
)
#: A task in one of these holds nothing any more.
FINAL_TASK = frozenset(
    {
        statuses.TaskStatus.SUCCEEDED,
        statuses.TaskStatus.FAILED,
        statuses.TaskStatus.CANCELLED,
        statuses.TaskStatus.SKIPPED,
        statuses.TaskStatus.UNREACHABLE,
        statuses.TaskStatus.ROLLED_BACK,
    }
)


class LeftOut(StrEnum):
    """What the run goes on without a cluster for."""

    NOT = ""
    #: A person said so.
    SKIPPED = "skipped"
    #: It failed, and the budget allowed for it.
    FAILED = "failed"
    #: It could not be reached.
    UNREACHABLE = "unreachable"
    #: It was cordoned before anything began there.
    CORDONED = "cordoned"


class Stopping(StrEnum):
    """How a running task has been asked to stop; later members are more urgent."""

    NOT = "not"
    #: Finish the write, then stop waiting.
    GRACEFULLY = "gracefully"
    #: Break off, also in mid-write.
    NOW = "now"


class StopCause(StrEnum):
    """Why a task was asked to stop; decides how a non-success is recorded."""

    NONE = ""
    #: Its own deadline or its stage's or run's passed: it has failed.
    TIMEOUT = "timeout"
    #: The stage failed elsewhere, or somebody cancelled: it is cancelled.
    ENDING = "ending"
    #: A person left the cluster out: it is skipped.
    SKIP = "skip"
    #: What it has to do is less now: it begins again.
    AGAIN = "again"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a task is, as last reported."""

    #: What it is doing or waiting for, in one sentence without a full stop.
    sentence: str
    #: Pods or objects ready, of `total`; both 0 when there is nothing to count.
    ready: int = 0
    total: int = 0
    #: Percentages per variant as asked for and as read back; empty when not about traffic.
    wanted_weights: Mapping[str, int] = field(default_factory=dict)
    observed_weights: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Approval:
    """One person's yes."""

    by: str
    at: datetime
    comment: str = ""


@dataclass(frozen=True, slots=True)
class TaskState:
    """One stage on one cluster: a cell of the matrix."""

    target: str
    status: statuses.TaskStatus = statuses.TaskStatus.PENDING
    #: Why it has this status, in one sentence; empty while pending.
    reason: str = ""
    #: How often it has been started.
    attempt: int = 0
    started: datetime | None = None
    finished: datetime | None = None
    #: While it runs: when it is asked to stop, then broken off, then counted as lost.
    deadline: datetime | None = None
    stopping: Stopping = Stopping.NOT
    stop_cause: StopCause = StopCause.NONE
    stop_reason: str = ""
    progress: Progress | None = None
    #: What was done where, a line each, from the task's outcome.
    details: tuple[str, ...] = ()
    #: It failed for this reason, the budget allows for it, and its cluster is rolling back.
    rolling_back: str = ""
    #: A gate said no to the release; no budget for clusters that fail allows for that.
    refused: bool = False
    #: What it left undone although it succeeded; empty: nothing.
    exception: str = ""

    @property
    def is_final(self) -> bool:
        """Whether it has ended."""
        return self.status in FINAL_TASK

    @property
    def is_running(self) -> bool:
        """Whether somebody is carrying it out."""
        return self.status is statuses.TaskStatus.RUNNING


@dataclass(frozen=True, slots=True)
class GroupState:
    """Targets that move together within a stage."""

    tasks: tuple[TaskState, ...]
    name: str = ""
    #: How many tasks run at once; 0: all.
    concurrency: int = 0
    #: None: the group starts by itself.
    rule: policies.ApprovalRule | None = None
    approvals: tuple[Approval, ...] = ()
    #: Since when and until when it is waited for approvals; None before.
    asked: datetime | None = None
    expires: datetime | None = None
    #: How long a task may take, besides the stage's timeout; None: as long as the stage.
    progress_deadline: timedelta | None = None
    #: When a window lets the first of its queued tasks start that one holds up; None: none does.
    opens: datetime | None = None
    #: Which clusters wait for what, in one clause; empty: none does.
    closed: str = ""

    @property
    def is_open(self) -> bool:
        """Whether its tasks may start as far as approvals go."""
        return self.rule is None or len(self.approvals) >= self.rule.count

    @property
    def is_final(self) -> bool:
        """Whether all its tasks have ended; without any, its approval still has to be given."""
        if not self.tasks:
            return self.is_open
        return not counters.of(self.tasks).open


@dataclass(frozen=True, slots=True)
class StageState:
    """One step of the run on all its clusters."""

    #: Unique in the run, stable over retries: ``1-K8S_CANARY_ROLLOUT``, ``rollback``.
    id: str
    #: What is carried out, with its options; opaque to the engine but for name and timeout.
    stage: pipelines.Stage
    groups: tuple[GroupState, ...]
    status: statuses.TaskStatus = statuses.TaskStatus.PENDING
    reason: str = ""
    started: datetime | None = None
    finished: datetime | None = None
    deadline: datetime | None = None
    #: Name of the wave it is a step of; empty: of none.
    wave: str = ""
    #: Who ended before its time what it waits for, and why; empty: nobody did.
    promoted: str = ""

    @property
    def tasks(self) -> Iterator[TaskState]:
        """Its tasks, group by group."""
        return (task for group in self.groups for task in group.tasks)

    @property
    def running(self) -> tuple[TaskState, ...]:
        """Its tasks that are being carried out."""
        return tuple(
            task
            for group in self.groups
            if counters.of(group.tasks).running
            for task in group.tasks
            if task.status is statuses.TaskStatus.RUNNING
        )

    @property
    def unreachable_tasks(self) -> tuple[TaskState, ...]:
        """Its tasks whose cluster could not be reached and is tried again."""
        return tuple(
            task
            for group in self.groups
            if counters.of(group.tasks).waiting
            for task in group.tasks
            if task.status is statuses.TaskStatus.WAITING
        )

    @property
    def is_busy(self) -> bool:
        """Whether any of its tasks is being carried out."""
        return any(counters.of(group.tasks).running for group in self.groups)

    @property
    def is_final(self) -> bool:
        """Whether it has ended; tasks of a stage that failed may still be finishing."""
        return self.status in FINAL_TASK

    def task(self, target: str) -> TaskState | None:
        """Return the task on `target`; None when the stage leaves it out."""
        for group in self.groups:
            place = counters.position(group.tasks, target)
            if place is not None:
                return group.tasks[place]
        return None


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What the run has to remember about one of its clusters."""

    name: str
    #: A task of the run wrote to it, or may have: a rollback has to visit it. So it is from the
    #: step on that starts the first task that may write, before anybody carries it out.
    touched: bool = False
    #: It counts as touched for the sake of a task under way alone: this process carries it out,
    #: and hears from it whether it wrote.
    provisional: bool = False
    #: It was written to, or may have been, and is proven to be back where it was.
    rolled_back: bool = False
    #: Why the rest of the run goes on without it; empty: it does not.
    left_out: str = ""
    left_out_for: LeftOut = LeftOut.NOT
    #: What it runs and goes back to; empty: none yet.
    running_commit: str = ""


@dataclass(frozen=True, slots=True)
class Ending:
    """The run has stopped going forward; set once, kept to the end."""

    #: FAILED or CANCELLED: how it ends without a rollback.
    status: statuses.RunStatus
    reason: str
    #: Whether the touched clusters are rolled back first.
    rollback: bool
    #: Only those of this wave; empty: all.
    wave: str = ""


@dataclass(frozen=True, slots=True)
class Pause:
    """Somebody asked that nothing new starts."""

    by: str
    at: datetime
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Unfreezing:
    """Somebody let the run change clusters while their windows are closed."""

    by: str
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Sighting:
    """Where a run was when somebody looked at it: what a request about it is bound to."""

    #: Id of the stage it was at.
    stage: str
    #: Name of the group that waited for approval; empty: none did, or it has no name.
    group: str
    #: The run's `revision`.
    version: int


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of a plan, pinned to a commit and to its clusters."""

    id: str
    application: str
    #: The commit that is rolled out.
    commit: str
    #: The last commit that succeeded, to go back to; empty: a first deployment.
    running_commit: str
    clusters: tuple[ClusterState, ...]
    stages: tuple[StageState, ...]
    policy: policies.Policy = field(default_factory=policies.Policy)
    status: statuses.RunStatus = statuses.RunStatus.PLANNED
    #: Why it has this status, in one sentence.
    reason: str = "planned"
    #: Position in `stages` of the stage it is at.
    position: int = 0
    rollback: StageState | None = None
    created: datetime | None = None
    started: datetime | None = None
    finished: datetime | None = None
    deadline: datetime | None = None
    pause: Pause | None = None
    ending: Ending | None = None
    #: A failure came to rest and a person decides what follows (`policies.OnFailure.HOLD`).
    held: bool = False
    #: Since when its limits stand still because it waits for a person; None: they run.
    clock_stopped: datetime | None = None
    #: In order; empty: the run does not move in waves.
    waves: tuple[policies.WaveRule, ...] = ()
    #: When its clusters may be changed; empty: at any time.
    windows: tuple[policies.WindowRule, ...] = ()
    #: How many clusters its project lets it change at once by now; 0: as many as its groups say.
    most_at_once: int = 0
    #: Windows do not hold it up any more; None: they do.
    unfrozen: Unfreezing | None = None
    #: Id of the run that this one rolls back, having nothing else to do; empty: none.
    rollback_of: str = ""
    #: Clusters that were no targets because they took nothing new, with the reason of each.
    absent: str = ""
    #: What the application's file says that is not carried out, or worth a thought.
    warnings: tuple[str, ...] = ()
    #: Grows by one with every step that changes what people decide about.
    revision: int = 1

    @property
    def is_final(self) -> bool:
        """Whether it has ended and never changes again."""
        return self.status in FINAL_RUN

    @property
    def is_everywhere(self) -> bool:
        """Whether it has ended well on each of its clusters, be it with something left undone."""
        if self.status is statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS:
            return not counters.clusters(self.clusters).left_out
        return self.status is statuses.RunStatus.SUCCEEDED

    @property
    def current(self) -> StageState:
        """The stage it is at: the rollback once there is one. A refused run has none."""
        return self.rollback or self.stages[self.position]

    @property
    def all_stages(self) -> tuple[StageState, ...]:
        """Its stages in order, the rollback last."""
        return (*self.stages, self.rollback) if self.rollback else self.stages

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of its clusters in order."""
        return tuple(cluster.name for cluster in self.clusters)

    @property
    def touched(self) -> tuple[str, ...]:
        """Names of the clusters it wrote to, or may have written to, in order."""
        return tuple(cluster.name for cluster in self.clusters if cluster.touched)

    def stage(self, stage_id: str) -> StageState | None:
        """Return the stage with `stage_id`; None when there is none."""
        return next((stage for stage in self.all_stages if stage.id == stage_id), None)

    def wave_of(self, target: str) -> policies.WaveRule | None:
        """Return the wave of a cluster; None when the run does not move in waves."""
        return next((wave for wave in self.waves if target in wave.targets), None)

    def running_commit_of(self, target: str) -> str:
        """Return the commit that a cluster runs besides the new one; empty: none yet."""
        cluster = self.cluster(target)
        return cluster.running_commit if cluster else self.running_commit

    def cluster(self, name: str) -> ClusterState | None:
        """Return the cluster called `name`; None when it is not the run's."""
        place = counters.clusters(self.clusters).positions.get(name)
        return None if place is None else self.clusters[place]


def lost_outcome(reason: str) -> statuses.Outcome:
    """Return the outcome of a task that ended without a word: failed, and maybe it wrote."""
    return statuses.Outcome(statuses.TaskStatus.FAILED, reason, touched=True)
