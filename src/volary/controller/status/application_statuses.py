"""How an application stands, as it is kept: what its record says besides columns. Pure."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import cast

import msgspec

from volary.controller.status import cluster_releases, drift_states, run_requests
from volary.engine.runs import rollback, state
from volary.model import applications, errors, json, statuses
from volary.model.objects import ownership
from volary.placement.failover import observed_durations, situations
from volary.store import records


class StatusWord(StrEnum):
    """Status words of applications."""

    #: Nothing was done yet.
    UNKNOWN = "unknown"
    #: A run is requested and has not begun.
    WAITING = "waiting"
    RUNNING = "running"
    #: What runs is what Git says: the last run succeeded, or was rolled back for a revert.
    SYNCED = "synced"
    #: The last run succeeded, and what runs is not what Git says: another commit, as after a
    #: rollback or on clusters that it went on without, or objects that drifted from the commit.
    OUT_OF_SYNC = "out_of_sync"
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
    #: What is stored of it cannot be read: it is left alone until somebody has it forgotten.
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class StatusBeforeOrphaned:
    """How an application stood before it lost its repository."""

    status: str
    reason: str


@dataclass(frozen=True, slots=True)
class UnprovenRollback:
    """What a run left on clusters that did not answer when it was rolled back."""

    run: str
    commit: str
    clusters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanningAttempt:
    """That the run of a request is being planned, or could not be, so often that it counts."""

    #: Id of the request.
    request: str
    commit: str
    #: How often in a row it met a bug, took too long, or ended with its process.
    failures: int = 0
    #: The last of these, one sentence.
    reason: str = ""
    #: After how many of such it is refused.
    most: int = 0
    #: It is going on, unless the process that did it has ended.
    under_way: bool = False


@dataclass(frozen=True, slots=True)
class NotPermittedCommit:
    """A commit that the project did not permit: decided anew once the project is another one."""

    run_request: run_requests.RunRequest
    #: What the project permitted (`tenancy.restrictions.fingerprint`).
    under: str


@dataclass(frozen=True)
class ApplicationStatus:
    """What is remembered of an application."""

    #: The branch's head when it was read last.
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
    #: What each cluster has of it.
    releases: cluster_releases.ClusterReleases = field(
        default_factory=cluster_releases.ClusterReleases
    )
    #: Whose its objects are, by cluster, as the last run there found out.
    owners: Mapping[str, ownership.Owner] = field(default_factory=dict)
    #: What goes on that may make it move, such as ``eu/volary.dev/unreachable``.
    timers: Mapping[str, observed_durations.ObservedDuration] = field(default_factory=dict)
    #: A move that has not begun; it goes before what is requested.
    move: run_requests.RunRequest | None = None
    #: Brings the last completed release to clusters that have missed it, once nothing else is
    #: requested.
    backfill: run_requests.RunRequest | None = None
    #: Makes clusters again what Git says, once nothing else is requested.
    repair: run_requests.RunRequest | None = None
    #: Where it is not as Git says at the commit that it runs.
    drift: drift_states.DriftState = field(default_factory=drift_states.DriftState)
    #: Nothing of it begins to move (`pinning`); None: it may.
    pause: state.Pause | None = None
    #: Rolled back again once its clusters answer, unless a release comes first; None: nothing is.
    unproven: UnprovenRollback | None = None
    #: What the last run warned of, as its file stood then.
    warnings: tuple[str, ...] = ()
    #: Why its file, as it was read last, holds it back, one sentence; empty: it does not.
    held: str = ""
    #: Why nothing of it begins, one sentence: no project takes its file, or it is not known which
    #: projects there are. Empty: it belongs to the project of its record.
    unowned: str = ""
    #: The project that its file says it wants to belong to; empty: whichever takes it.
    wanted_project: str = ""
    #: Where its repository was when it was seen last, without what is secret in the address.
    address: str = ""
    #: Its status before it was orphaned; None: it is not orphaned.
    before_orphaned: StatusBeforeOrphaned | None = None
    #: The commit that Git says should run: the last that was a reason for a release, or was
    #: fetched for one.
    wanted: str = ""
    #: The planning of what is requested, where it goes on or has failed; None: neither.
    attempt: PlanningAttempt | None = None
    #: The newest commit, where its project has refused it; None: it has not.
    not_permitted: NotPermittedCommit | None = None
    #: The last commit at which its file could not be used; it is decided with the one that
    #: mends the file.
    unusable_at: str = ""

    @property
    def decided(self) -> str:
        """The newest commit of which it is known what it means for the application."""
        return self.unusable_at if self.unusable_at == self.head else self.looked_at

    @functools.cached_property
    def placed(self) -> situations.PlacementState:
        """Where it is, and what is moving."""
        return self.releases.placement(self.timers)

    def with_placement(self, placed: situations.PlacementState) -> "ApplicationStatus":
        """Return the status with where it is, and what is moving."""
        releases = self.releases.with_placement(placed)
        return replace(self, releases=releases, timers=placed.timers)

    @property
    def present_on(self) -> frozenset[str]:
        """The clusters that have something of it, or are to have, as far as is remembered."""
        released = {
            name
            for name, release in self.releases.clusters.items()
            if release.commit or release.chosen
        }
        return frozenset({*released, *self.owners})

    @property
    def next_request(self) -> run_requests.RunRequest | None:
        """What begins next.

        Going back is before a move, a move before anything else; a backfill and a repair come
        last.
        """
        goes_back = self.run_request is not None and self.run_request.kind.is_rollback
        if goes_back:
            return self.run_request
        return self.move or self.run_request or self.backfill or self.repair


def unproven_rollback(run: state.Run) -> UnprovenRollback | None:
    """Return what has to be rolled back again of a run that has ended."""
    silent = rollback.clusters_silent(run)
    return UnprovenRollback(run.id, run.commit, silent) if silent else None


def word_of_end(status: statuses.RunStatus) -> StatusWord:
    """Return how an application stands after a run that ended so."""
    if status is statuses.RunStatus.SUCCEEDED:
        return StatusWord.SYNCED
    if status is statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS:
        return StatusWord.OUT_OF_SYNC
    return StatusWord(status.value)


def why_out_of_sync(application_status: ApplicationStatus) -> str:
    """Say what runs and what Git says, when these differ; empty: they do not."""
    runs, wanted = application_status.releases.running, application_status.wanted
    if not wanted or runs in ("", wanted, application_status.head):
        return ""
    return f"{runs[:7]} runs, Git has {wanted[:7]}"


def to_document(application_status: ApplicationStatus) -> json.JsonObject:
    """Return the status as JSON."""
    return cast("json.JsonObject", msgspec.to_builtins(application_status))


def from_document(document: json.JsonObject) -> ApplicationStatus:
    """Read a status; of an application that is new there is none."""
    return json.convert(document, ApplicationStatus)


def why_unreadable(known: records.ApplicationRecord) -> str:
    """Return why what is stored of an application cannot be read; empty: it can."""
    if known.unreadable:
        return f"what is stored of it cannot be read: {known.unreadable}"
    try:
        from_document(known.document)
    except msgspec.ValidationError as error:
        return f"what is stored of it is not as expected: {error}"
    return ""


def of_record(known: records.ApplicationRecord) -> ApplicationStatus:
    """Return how an application stands.

    Raises:
        errors.UserError: What is stored of it cannot be read.
    """
    if why := why_unreadable(known):
        raise errors.user_error(f"application {known.name}: {why}")
    return from_document(known.document)
