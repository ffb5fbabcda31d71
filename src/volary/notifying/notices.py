"""What notifications are about: events in PipeCD's words, about a run and how far it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Self

from volary.config.server import notification_routes
from volary.model import applications, phrases, statuses


class Event(StrEnum):
    """Events that routes choose by (PipeCD: 8.5)."""

    DEPLOYMENT_TRIGGERED = "DEPLOYMENT_TRIGGERED", "a run was asked for"
    DEPLOYMENT_PLANNED = "DEPLOYMENT_PLANNED", "a run was planned"
    DEPLOYMENT_STARTED = "DEPLOYMENT_STARTED", "the run has started"
    DEPLOYMENT_WAIT_APPROVAL = "DEPLOYMENT_WAIT_APPROVAL", "the run waits for approval"
    DEPLOYMENT_APPROVED = "DEPLOYMENT_APPROVED", "the run goes on"
    DEPLOYMENT_ROLLING_BACK = "DEPLOYMENT_ROLLING_BACK", "the run is being rolled back"
    DEPLOYMENT_SUCCEEDED = "DEPLOYMENT_SUCCEEDED", "the run succeeded"
    DEPLOYMENT_FAILED = "DEPLOYMENT_FAILED", "the run failed"
    DEPLOYMENT_CANCELLED = "DEPLOYMENT_CANCELLED", "the run was cancelled"
    DEPLOYMENT_TRIGGER_FAILED = "DEPLOYMENT_TRIGGER_FAILED", "no run could begin"
    STAGE_STARTED = "STAGE_STARTED", "a stage has started"
    STAGE_SKIPPED = "STAGE_SKIPPED", "a stage was skipped"
    STAGE_SUCCEEDED = "STAGE_SUCCEEDED", "a stage succeeded"
    STAGE_FAILED = "STAGE_FAILED", "a stage failed"
    STAGE_CANCELLED = "STAGE_CANCELLED", "a stage was cancelled"
    #: Its clusters are not as Git says, or are again, while no run is under way.
    APPLICATION_OUT_OF_SYNC = "APPLICATION_OUT_OF_SYNC", "its clusters are not as Git says"
    APPLICATION_SYNCED = "APPLICATION_SYNCED", "its clusters are as Git says again"
    #: So much of the fleet looks lost that nothing is moved (not PipeCD's).
    FAILOVER_STOPPED = "FAILOVER_STOPPED", "nothing is moved away from lost clusters"
    #: About a cluster, and no application (not PipeCD's).
    CLUSTER_LOST = "CLUSTER_LOST", "the cluster is lost"
    CLUSTER_READY = "CLUSTER_READY", "the cluster is ready again"

    #: What happened, in a few words.
    happened: str

    def __new__(cls, value: str, happened: str) -> Self:
        """Make an event of its name and its words."""
        event = str.__new__(cls, value)
        event._value_, event.happened = value, happened
        return event

    @property
    def group(self) -> str:
        """``DEPLOYMENT``, ``STAGE``, ``APPLICATION_SYNC``, ``FAILOVER`` or ``CLUSTER``."""
        return notification_routes.group_of(self.value)


#: Events that somebody should hear of even while looking elsewhere.
URGENT = frozenset(
    {
        Event.DEPLOYMENT_WAIT_APPROVAL,
        Event.DEPLOYMENT_ROLLING_BACK,
        Event.DEPLOYMENT_FAILED,
        Event.DEPLOYMENT_TRIGGER_FAILED,
        Event.FAILOVER_STOPPED,
        Event.CLUSTER_LOST,
        Event.APPLICATION_OUT_OF_SYNC,
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
    #: Who is notified besides those whom the settings' routes name, as the application's file says.
    alerts: tuple[applications.Alert, ...] = ()
    #: The project that the application belongs to; empty: none.
    project: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is, by its feed."""

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
