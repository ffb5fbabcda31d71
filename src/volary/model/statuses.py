"""Statuses of tasks, stages, runs and resources, and the outcome that a task reports."""

from dataclasses import dataclass
from enum import StrEnum


class TaskStatus(StrEnum):
    """State of a task (one stage on one cluster) and of a stage."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    UNREACHABLE = "unreachable"
    ROLLED_BACK = "rolled_back"


class RunStatus(StrEnum):
    """State of a run."""

    PENDING = "pending"
    PLANNED = "planned"
    RUNNING = "running"
    WAITING = "waiting"
    ROLLING_BACK = "rolling_back"
    SUCCEEDED = "succeeded"
    #: Done, but for clusters that somebody skipped or a budget or policy let it go without, or
    #: for what a stage left undone.
    SUCCEEDED_WITH_EXCEPTIONS = "succeeded_with_exceptions"
    FAILED = "failed"
    CANCELLED = "cancelled"
    ROLLED_BACK = "rolled_back"


#: How a run ends that did what was asked, but for what somebody decided to go without.
GOOD_ENDS = (RunStatus.SUCCEEDED, RunStatus.SUCCEEDED_WITH_EXCEPTIONS)


class HealthStatus(StrEnum):
    """Health of one Kubernetes object."""

    HEALTHY = "healthy"
    PROGRESSING = "progressing"
    DEGRADED = "degraded"
    SUSPENDED = "suspended"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a piece of work ended, with the one sentence every surface shows."""

    status: TaskStatus
    #: Why, in one sentence without a full stop.
    reason: str
    #: What was done where, a line each; shown below the reason.
    details: tuple[str, ...] = ()
    #: The task wrote something to its cluster, so a rollback has to visit it.
    touched: bool = False
    #: It is not the cluster that failed: whoever was asked about the release said no to it.
    refused: bool = False
    #: What it left undone although it succeeded, one sentence; empty: nothing. Its run then has
    #: not simply succeeded.
    exception: str = ""
