"""What the notifier is told: runs, what happens before one, and clusters lost or back.

Texts are redacted here or come redacted: a notification leaves the system.
"""

from datetime import datetime

from volary.controller.runs import ready_runs
from volary.controller.status import application_statuses, run_requests
from volary.engine.observers import feed
from volary.manifests import redaction
from volary.model import clocks, statuses
from volary.model.fleet import cluster_health
from volary.notifying import notices, notifier
from volary.store import records

_Event = notices.Event


def observer(
    to: notifier.Notifier, release: ready_runs.ReadyRun, known: records.ApplicationRecord
) -> feed.Observer:
    """Return the observer of a run; it has to be given redacted events."""
    return to.observer(_subject(release, known))


def planned(
    to: notifier.Notifier,
    release: ready_runs.ReadyRun,
    known: records.ApplicationRecord,
    at: datetime,
) -> None:
    """Tell that a run is going to begin, and why by this strategy."""
    reason = release.masker.clean(release.origin.summary)
    to.announce(_Event.DEPLOYMENT_PLANNED, _subject(release, known), at, reason)


def triggered(
    to: notifier.Notifier,
    run_request: run_requests.RunRequest,
    known: records.ApplicationRecord,
    at: datetime,
    masker: redaction.Masker,
) -> None:
    """Report that a run is requested, and why."""
    reason = masker.clean(run_request.reason)
    to.announce(_Event.DEPLOYMENT_TRIGGERED, _requested(run_request, known, masker), at, reason)


def refused(
    to: notifier.Notifier,
    run_request: run_requests.RunRequest,
    known: records.ApplicationRecord,
    at: datetime,
    masker: redaction.Masker,
    reason: str,
) -> None:
    """Report that a run request became no run; `reason` has to be redacted."""
    to.announce(
        _Event.DEPLOYMENT_TRIGGER_FAILED, _requested(run_request, known, masker), at, reason
    )


def settled(
    to: notifier.Notifier,
    run_request: run_requests.RunRequest,
    known: records.ApplicationRecord,
    at: datetime,
    masker: redaction.Masker,
    reason: str,
) -> None:
    """Edit the messages about a run request that leads to no run of its own; nobody is notified
    anew."""
    progress = notices.Progress(statuses.RunStatus.CANCELLED, masker.clean(reason))
    subject = _requested(run_request, known, masker)
    to.update(notices.Notice(_Event.DEPLOYMENT_CANCELLED, at, subject, progress))


def _subject(release: ready_runs.ReadyRun, known: records.ApplicationRecord) -> notices.Subject:
    run, origin = release.run, release.origin
    application_status = application_statuses.from_document(known.document)
    return notices.Subject(
        application=known.name,
        run=run.id,
        labels=known.labels,
        commit=run.commit,
        title=release.masker.clean(origin.subject),
        by=origin.by,
        targets=run.targets,
        mentions=application_status.mentions,
        alerts=application_status.alerts,
    )


def _requested(
    run_request: run_requests.RunRequest, known: records.ApplicationRecord, masker: redaction.Masker
) -> notices.Subject:
    application_status = application_statuses.from_document(known.document)
    return notices.Subject(
        application=known.name,
        # The run request becomes the run of this id, so its message is edited from here on.
        run=run_request.id,
        labels=known.labels,
        commit=run_request.commit,
        # No title: the manifests' Secrets, which it may quote, are not known yet.
        by=masker.clean(run_request.by),
        mentions=application_status.mentions,
        alerts=application_status.alerts,
    )


_ClusterState = cluster_health.ClusterState
_LOST = (_ClusterState.NOT_READY, _ClusterState.UNREACHABLE)


def cluster_changed(
    to: notifier.Notifier,
    clock: clocks.Clock,
    before: cluster_health.ClusterHealth,
    after: cluster_health.ClusterHealth,
) -> None:
    """Tell of a change of a cluster's state, if it is worth telling.

    That a cluster is seen for the first time is not; nor is how a lost one fails.
    """
    name, lost = after.cluster, before.state in _LOST
    if after.state in _LOST and not lost:
        event, reason = notices.Event.CLUSTER_LOST, after.reason
    elif after.state is _ClusterState.READY and lost:
        since = f" since {before.since:%Y-%m-%d %H:%M:%S}" if before.since else ""
        event, reason = notices.Event.CLUSTER_READY, f"it was {before.state.value}{since}"
    else:
        return
    subject = notices.Subject("", targets=(name,))
    to.announce(event, subject, clock.now(), f"{name} is {after.state.value}: {reason}")
