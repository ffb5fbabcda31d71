"""Status words of tasks, stages, runs and resources."""

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
    FAILED = "failed"
    CANCELLED = "cancelled"
    ROLLED_BACK = "rolled_back"


class HealthStatus(StrEnum):
    """Health of one Kubernetes object."""

    HEALTHY = "healthy"
    PROGRESSING = "progressing"
    DEGRADED = "degraded"
    SUSPENDED = "suspended"
    MISSING = "missing"
    UNKNOWN = "unknown"
