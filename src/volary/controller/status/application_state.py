"""What is known of an application, and what is to be written down about it next. Pure.

A kind of run says what its beginning and its end change; the state writer writes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from volary.controller.status import application_statuses, run_requests
from volary.store import records

#: Status words that the end of a run does not change.
_STATUSES_KEPT = (
    application_statuses.StatusWord.BROKEN.value,
    application_statuses.StatusWord.SUSPENDED.value,
    application_statuses.StatusWord.REMOVED.value,
    application_statuses.StatusWord.ORPHANED.value,
)


@dataclass(frozen=True, slots=True)
class ApplicationState:
    """An application as it was kept last."""

    record: records.ApplicationRecord
    status: application_statuses.ApplicationStatus


@dataclass(frozen=True, slots=True)
class CommitChange:
    """What became of a commit; a run, title or request that is not given stays what it was."""

    commit: str
    status: str
    reason: str
    run_request: run_requests.RunRequest | None = None
    run: str = ""
    #: Clean: before a commit is rendered nobody knows which of its words are secrets.
    subject: str = ""


@dataclass(frozen=True, slots=True)
class StateChange:
    """What is written down in one transaction."""

    status: application_statuses.ApplicationStatus
    #: Columns of the application's record.
    columns: Mapping[str, object] = field(default_factory=dict)
    commits: tuple[CommitChange, ...] = ()
    #: A run request that no run of its own comes of any more; None: there is none.
    settled: run_requests.RunRequest | None = None
    #: What it was settled by, one sentence.
    settled_reason: str = ""


def requested(
    state: ApplicationState,
    status: application_statuses.ApplicationStatus,
    run_request: run_requests.RunRequest,
    *,
    is_busy: bool,
) -> StateChange:
    """Return what a new run request changes; the one that it replaces is superseded.

    Args:
        state: The application as it was kept last.
        status: The one it has from now on, with the request.
        run_request: It is new.
        is_busy: A run is under way, so how the application stands stays said.
    """
    waiting, old = application_statuses.StatusWord.WAITING.value, state.status.run_request
    if run_request.is_from_commit:
        status = replace(status, wanted=run_request.commit)
    columns = {} if is_busy else {"status": waiting, "reason": run_request.reason}
    said = status.waiting_reason or run_request.reason
    queued = CommitChange(run_request.commit, "queued", said, run_request)
    if old is None or old.commit == run_request.commit:
        return StateChange(status, columns, (queued,))
    reason = f"superseded by {run_request.commit[:7]} before it began"
    superseded = CommitChange(old.commit, "superseded", reason, old)
    return StateChange(status, columns, (queued, superseded), settled=old, settled_reason=reason)


def columns_of_end(
    record: records.ApplicationRecord,
    status: application_statuses.ApplicationStatus,
    word: application_statuses.StatusWord,
    reason: str,
) -> dict[str, object]:
    """Return the columns that say how a release or a rollback ended.

    Args:
        record: The application as it was kept last.
        status: The one it has from now on.
        word: How the run ended.
        reason: Why, one sentence.
    """
    if record.status in _STATUSES_KEPT:
        return {}
    if status.run_request is not None:
        word = application_statuses.StatusWord.WAITING
    elif word is application_statuses.StatusWord.SYNCED:
        differs = application_statuses.why_out_of_sync(status)
        if differs:
            word = application_statuses.StatusWord.OUT_OF_SYNC
            reason = f"{differs}: {reason}"
    return {"status": word.value, "reason": reason}
