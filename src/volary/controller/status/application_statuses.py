"""How an application stands, as it is kept: what its record says besides columns. Pure."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from volary.controller.status import cluster_releases, placement_document, run_requests
from volary.engine.runs import state
from volary.model import applications, json, statuses
from volary.model.placement import rollouts
from volary.placement.failover import decisions
from volary.placement.replicas import assignment, assignment_formats


class StatusWord(StrEnum):
    """Status words of applications."""

    #: Nothing was done yet.
    UNKNOWN = "unknown"
    #: A run is requested and has not begun.
    WAITING = "waiting"
    RUNNING = "running"
    #: The last run succeeded, or was rolled back for a revert.
    SYNCED = "synced"
    #: How the last run ended.
    FAILED = "failed"
    ROLLED_BACK = "rolled_back"
    CANCELLED = "cancelled"
    #: Its file has errors.
    BROKEN = "broken"
    #: Its file holds it back, as a suspended policy does: nothing of it begins.
    SUSPENDED = "suspended"
    #: Its file went away.
    REMOVED = "removed"
    #: The settings do not have its repository any more (`repository_binding`).
    ORPHANED = "orphaned"


@dataclass(frozen=True, slots=True)
class StatusBeforeOrphaned:
    """How an application stood before it lost its repository."""

    status: str
    reason: str


@dataclass(frozen=True, slots=True)
class ApplicationStatus:
    """What is remembered of an application."""

    #: The branch's head when it was looked at last.
    head: str = ""
    #: The last commit that a decision was made about.
    looked_at: str = ""
    #: The run under way, or the last one.
    run: str = ""
    #: That run has not ended, or what its end means for the application is not kept yet.
    under_way: bool = False
    run_request: run_requests.RunRequest | None = None
    #: Why the request has not become a run, one sentence.
    waiting_reason: str = ""
    #: The clusters it is for, when the settings say so.
    targets: applications.TargetSelector | None = None
    #: Who is named in notifications, as its file said last.
    mentions: tuple[applications.Mention, ...] = ()
    #: Who else is told, as its file said last.
    alerts: tuple[applications.Alert, ...] = ()
    #: Which release each cluster is on.
    releases: cluster_releases.ClusterReleases = field(
        default_factory=cluster_releases.ClusterReleases
    )
    #: Who has how many replicas since the last run that succeeded, or what clusters kept of later.
    assigned: assignment.Assignment = assignment.EMPTY
    #: Who had how many before the last run that succeeded: where a rollback goes.
    assigned_before: assignment.Assignment = assignment.EMPTY
    #: Where it is, and what is moving.
    placed: decisions.PlacementState = field(default_factory=decisions.PlacementState)
    #: A move that has not begun; it goes before what is requested.
    move: run_requests.RunRequest | None = None
    #: Brings the last completed release to clusters that have missed it, once nothing else is
    #: requested.
    backfill: run_requests.RunRequest | None = None
    #: Nothing of it begins to move (`pinning`); None: it may.
    pause: state.Pause | None = None
    #: Why its file, as it was read last, holds it back, one sentence; empty: it does not.
    held: str = ""
    #: Where its repository was when it was seen last, without what is secret in the address.
    address: str = ""
    #: Its status before it was orphaned; None: it is not orphaned.
    before_orphaned: StatusBeforeOrphaned | None = None

    @property
    def next_request(self) -> run_requests.RunRequest | None:
        """What begins next.

        Going back is before a move, a move before anything else, and a backfill comes last.
        """
        goes_back = self.run_request is not None and self.run_request.kind.is_rollback
        return self.run_request if goes_back else self.move or self.run_request or self.backfill


def word_of_end(status: statuses.RunStatus) -> StatusWord:
    """Return how an application stands after a run that ended so."""
    if status is statuses.RunStatus.SUCCEEDED:
        return StatusWord.SYNCED
    return StatusWord(status.value)


def to_document(application_status: ApplicationStatus) -> json.JsonObject:
    """Return the status as JSON."""
    targets = application_status.targets
    return {
        "head": application_status.head,
        "lookedAt": application_status.looked_at,
        "run": application_status.run,
        "underWay": application_status.under_way,
        "runRequest": run_requests.to_document(application_status.run_request)
        if application_status.run_request
        else None,
        "waitingReason": application_status.waiting_reason,
        "targets": None
        if targets is None
        else {
            "names": list(targets.names),
            "matchLabels": dict(targets.match_labels),
            "expressions": [_requirement(expression) for expression in targets.match_expressions],
            "fields": [_requirement(field) for field in targets.match_fields],
            "exclude": list(targets.exclude),
        },
        "mentions": [
            {"event": mention.event, "users": list(mention.users), "groups": list(mention.groups)}
            for mention in application_status.mentions
        ],
        "alerts": [
            {"name": alert.name, "receiver": alert.receiver, "events": list(alert.events)}
            for alert in application_status.alerts
        ],
        "releases": cluster_releases.to_document(application_status.releases),
        "assigned": assignment_formats.to_document(application_status.assigned),
        "assignedBefore": assignment_formats.to_document(application_status.assigned_before),
        "placed": placement_document.to_document(application_status.placed),
        "move": run_requests.to_document(application_status.move)
        if application_status.move
        else None,
        "backfill": run_requests.to_document(application_status.backfill)
        if application_status.backfill
        else None,
        "pause": None
        if application_status.pause is None
        else {
            "by": application_status.pause.by,
            "at": application_status.pause.at.isoformat(),
            "reason": application_status.pause.reason,
        },
        "held": application_status.held,
        "address": application_status.address,
        "beforeOrphaned": None
        if application_status.before_orphaned is None
        else {
            "status": application_status.before_orphaned.status,
            "reason": application_status.before_orphaned.reason,
        },
    }


def _requirement(read: rollouts.Requirement) -> json.JsonObject:
    return {"key": read.key, "operator": read.operator.value, "values": list(read.values)}


def _read_requirement(document: json.JsonObject) -> rollouts.Requirement:
    operator = rollouts.Operator(document["operator"])
    return rollouts.Requirement(document["key"], operator, tuple(document["values"]))


def from_document(document: json.JsonObject) -> ApplicationStatus:
    """Read a status; what an earlier version did not write is empty."""
    run_request, targets = document.get("runRequest"), document.get("targets")
    move, backfill = document.get("move"), document.get("backfill")
    return ApplicationStatus(
        head=document.get("head", ""),
        looked_at=document.get("lookedAt", ""),
        run=document.get("run", ""),
        under_way=bool(document.get("underWay")),
        run_request=run_requests.from_document(run_request) if run_request else None,
        waiting_reason=document.get("waitingReason", ""),
        targets=None
        if targets is None
        else applications.TargetSelector(
            tuple(targets["names"]),
            dict(targets["matchLabels"]),
            tuple(map(_read_requirement, targets.get("expressions", ()))),
            tuple(map(_read_requirement, targets.get("fields", ()))),
            tuple(targets.get("exclude", ())),
        ),
        mentions=tuple(
            applications.Mention(
                mention["event"], tuple(mention["users"]), tuple(mention["groups"])
            )
            for mention in document.get("mentions", ())
        ),
        alerts=tuple(
            applications.Alert(alert["name"], alert["receiver"], tuple(alert["events"]))
            for alert in document.get("alerts", ())
        ),
        releases=cluster_releases.from_document(document.get("releases")),
        assigned=assignment_formats.from_document(document.get("assigned") or {}),
        assigned_before=assignment_formats.from_document(document.get("assignedBefore") or {}),
        placed=placement_document.from_document(document.get("placed")),
        move=run_requests.from_document(move) if move else None,
        backfill=run_requests.from_document(backfill) if backfill else None,
        pause=_read_pause(document.get("pause")),
        held=document.get("held", ""),
        address=document.get("address", ""),
        before_orphaned=_read_before_orphaned(document.get("beforeOrphaned")),
    )


def _read_before_orphaned(document: json.JsonObject | None) -> StatusBeforeOrphaned | None:
    return (
        None if document is None else StatusBeforeOrphaned(document["status"], document["reason"])
    )


def _read_pause(document: json.JsonObject | None) -> state.Pause | None:
    if document is None:
        return None
    at = datetime.fromisoformat(document["at"])
    return state.Pause(document["by"], at, document["reason"])
