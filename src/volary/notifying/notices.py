"""What is told: events in PipeCD's words, about a run and how far it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from volary.model import applications, phrases, statuses


class Event(StrEnum):
    """Events that routes choose by (PipeCD: 8.5)."""

    DEPLOYMENT_TRIGGERED = "DEPLOYMENT_TRIGGERED"
    DEPLOYMENT_PLANNED = "DEPLOYMENT_PLANNED"
    DEPLOYMENT_STARTED = "DEPLOYMENT_STARTED"
    DEPLOYMENT_WAIT_APPROVAL = "DEPLOYMENT_WAIT_APPROVAL"
    DEPLOYMENT_APPROVED = "DEPLOYMENT_APPROVED"
    DEPLOYMENT_ROLLING_BACK = "DEPLOYMENT_ROLLING_BACK"
    DEPLOYMENT_SUCCEEDED = "DEPLOYMENT_SUCCEEDED"
    DEPLOYMENT_FAILED = "DEPLOYMENT_FAILED"
    DEPLOYMENT_CANCELLED = "DEPLOYMENT_CANCELLED"
    DEPLOYMENT_TRIGGER_FAILED = "DEPLOYMENT_TRIGGER_FAILED"
    STAGE_STARTED = "STAGE_STARTED"
    STAGE_SKIPPED = "STAGE_SKIPPED"
    STAGE_SUCCEEDED = "STAGE_SUCCEEDED"
    STAGE_FAILED = "STAGE_FAILED"
    STAGE_CANCELLED = "STAGE_CANCELLED"
    #: So much of the fleet looks lost that nothing is moved (not PipeCD's).
    FAILOVER_STOPPED = "FAILOVER_STOPPED"
    #: About a cluster, and no application (not PipeCD's).
    CLUSTER_LOST = "CLUSTER_LOST"
    CLUSTER_READY = "CLUSTER_READY"

    @property
    def group(self) -> str:
        """``DEPLOYMENT``, ``STAGE``, ``FAILOVER`` or ``CLUSTER``."""
        return self.value.partition("_")[0]


#: Events that somebody should hear of even while looking elsewhere.
URGENT = frozenset(
    {
        Event.DEPLOYMENT_WAIT_APPROVAL,
        Event.DEPLOYMENT_ROLLING_BACK,
        Event.DEPLOYMENT_FAILED,
        Event.DEPLOYMENT_TRIGGER_FAILED,
        Event.FAILOVER_STOPPED,
        Event.CLUSTER_LOST,
    }
)


#: Red although they are about no run.
ALARMING = frozenset({Event.DEPLOYMENT_TRIGGER_FAILED, Event.FAILOVER_STOPPED, Event.CLUSTER_LOST})


@dataclass(frozen=True, slots=True)
class Subject:
    """What a notice is about."""

    #: Empty: it is about `targets` alone.
    application: str
    #: Empty before there is one.
    run: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    commit: str = ""
    #: First line of the commit message.
    title: str = ""
    #: Who or what asked for it.
    by: str = ""
    targets: tuple[str, ...] = ()
    #: Who is named, as the application's file says.
    mentions: tuple[applications.Mention, ...] = ()
    #: Who is told besides those whom the settings' routes name, as the application's file says.
    alerts: tuple[applications.Alert, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is, as its feed tells."""

    status: statuses.RunStatus = statuses.RunStatus.PLANNED
    reason: str = ""
    #: The stage that is being carried out.
    stage: str = ""
    started: datetime | None = None
    #: Of each cluster, in its latest stage.
    clusters: Mapping[str, statuses.TaskStatus] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """All clusters in one line, those in trouble by name (the first five of a kind)."""
        by_status: dict[statuses.TaskStatus, list[str]] = {}
        for name, status in self.clusters.items():
            by_status.setdefault(status, []).append(name)
        parts = []
        for status in statuses.TaskStatus:
            names = by_status.get(status, [])
            if not names:
                continue
            named = f" ({phrases.first_of(names)})" if status in _TROUBLE else ""
            parts.append(f"{len(names)} {status.value.replace('_', ' ')}{named}")
        return ", ".join(parts)


_TROUBLE = (
    statuses.TaskStatus.FAILED,
    statuses.TaskStatus.UNREACHABLE,
    statuses.TaskStatus.WAITING,
)


@dataclass(frozen=True, slots=True)
class Notice:
    """One event of a run."""

    event: Event
    at: datetime
    subject: Subject
    progress: Progress
    #: Why, one sentence; may be empty.
    reason: str = ""
    #: The stage, for events of stages.
    stage: str = ""
