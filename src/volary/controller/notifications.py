"""What the notifier is told: runs, what happens before one, and clusters lost or back.

Texts are redacted here or come redacted: a notification leaves the system.
"""

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
    dependencies: ready_runs.Dependencies,
    release: ready_runs.ReadyRun,
    known: records.ApplicationRecord,
) -> None:
    """Tell that a run is going to begin, and why by this strategy."""
    reason, now = release.masker.clean(release.origin.summary), dependencies.clock.now()
    to.announce(_Event.DEPLOYMENT_PLANNED, _subject(release, known), now, reason)


def triggered(
    to: notifier.Notifier,
    dependencies: ready_runs.Dependencies,
    run_request: run_requests.RunRequest,
    known: records.ApplicationRecord,
) -> None:
    """Report that a run is requested, and why."""
    masker = ready_runs.masker(dependencies)
    subject, reason = _requested(run_request, known, masker), masker.clean(run_request.reason)
    to.announce(_Event.DEPLOYMENT_TRIGGERED, subject, dependencies.clock.now(), reason)


def refused(
    to: notifier.Notifier,
    dependencies: ready_runs.Dependencies,
    run_request: run_requests.RunRequest,
    known: records.ApplicationRecord,
    reason: str,
) -> None:
    """Report that a run request became no run."""
    masker = ready_runs.masker(dependencies)
    subject, reason = _requested(run_request, known, masker), masker.clean(reason)
    to.announce(_Event.DEPLOYMENT_TRIGGER_FAILED, subject, dependencies.clock.now(), reason)


def settled(
    to: notifier.Notifier,
    dependencies: ready_runs.Dependencies,
    run_request: run_requests.RunRequest,
    known: records.ApplicationRecord,
    reason: str,
) -> None:
    """Edit the messages about a request that leads to no run of its own; nobody is notified."""
    masker = ready_runs.masker(dependencies)
    progress = notices.Progress(statuses.RunStatus.CANCELLED, masker.clean(reason))
    subject, now = _requested(run_request, known, masker), dependencies.clock.now()
    to.update(notices.Notice(_Event.DEPLOYMENT_CANCELLED, now, subject, progress))


def _subject(release: ready_runs.ReadyRun, known: records.ApplicationRecord) -> notices.Subject:
    run, origin = release.run, release.origin
    status = application_statuses.from_document(known.document)
    return notices.Subject(
        application=known.name,
        run=run.id,
        labels=known.labels,
        commit=run.commit,
        title=release.masker.clean(origin.subject),
        by=origin.by,
        targets=run.targets,
        mentions=status.mentions,
        alerts=status.alerts,
    )


def _requested(
    run_request: run_requests.RunRequest, known: records.ApplicationRecord, masker: redaction.Masker
) -> notices.Subject:
    status = application_statuses.from_document(known.document)
    return notices.Subject(
        application=known.name,
        # The run request becomes the run of this id, so its message is edited from here on.
        run=run_request.id,
        labels=known.labels,
        commit=run_request.commit,
        # No title: the manifests' Secrets, which it may quote, are not known yet.
        by=masker.clean(run_request.by),
        mentions=status.mentions,
        alerts=status.alerts,
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
