"""What the notifier is told: runs, what happens before one, and clusters lost or back.

Texts are redacted here or come redacted: a notification leaves the system.
"""

from datetime import datetime

from volary.controller.persistence import retry
from volary.controller.runs import ready_runs
from volary.controller.status import application_statuses, run_origins, run_requests
from volary.engine.runs import state
from volary.manifests import redaction
from volary.model import clocks, statuses
from volary.model.fleet import cluster_health
from volary.notifying import notices, notifier
from volary.store import records

_Event = notices.Event
_NOT_BEGUN = notices.Progress()


def of_run(
    to: notifier.Notifier, release: ready_runs.ReadyRun, known: records.ApplicationRecord
) -> notifier.RunNotifier:
    """Return who notifies of a run, which an earlier process may have begun."""
    return of_stored_run(to, release.run, release.origin, known, release.masker)


def of_stored_run(
    to: notifier.Notifier,
    run: state.Run,
    origin: run_origins.Origin,
    known: records.ApplicationRecord,
    masker: redaction.Masker,
) -> notifier.RunNotifier:
    """Return who notifies of a run that nobody carries out at present."""
    return to.of_run(_subject(run, origin, known, masker), _progress(run))


def _progress(run: state.Run) -> notices.Progress:
    """Return how far a run is."""
    if run.started is None:
        return notices.Progress()
    known = {target: statuses.TaskStatus.PENDING for target in run.targets}
    for stage in run.all_stages:
        known |= {task.target: task.status for task in stage.tasks if task.started}
    known |= {one.name: statuses.TaskStatus.SKIPPED for one in run.clusters if one.left_out}
    stage_name = "" if run.is_final else run.current.stage.name
    return notices.Progress(run.status, run.reason, stage_name, run.started, known)


async def planned(
    to: notifier.Notifier,
    dependencies: ready_runs.Dependencies,
    release: ready_runs.ReadyRun,
    known: records.ApplicationRecord,
) -> None:
    """Tell that a run is going to begin, why by this strategy, and what its file warns of.

    It is kept before the run is.
    """
    said = (release.origin.summary, *(f"warning: {text}" for text in release.origin.warnings))
    reason, now = release.masker.clean("\n".join(said)), dependencies.clock.now()
    subject = _subject(release.run, release.origin, known, release.masker)
    await _keep(to, notices.Notice(_Event.DEPLOYMENT_PLANNED, now, subject, _NOT_BEGUN, reason))


async def requested(
    to: notifier.Notifier,
    dependencies: ready_runs.Dependencies,
    run_request: run_requests.RunRequest,
    known: records.ApplicationRecord,
    event: notices.Event,
    reason: str,
) -> None:
    """Tell what becomes of a run request: it was taken, it was refused, or it leads to no run.

    It is kept before what it tells is. Where it leads to no run of its own, the messages about it
    are edited; nobody is notified.
    """
    masker = ready_runs.masker(dependencies, application=known.name)
    now = dependencies.clock.now()
    subject, reason = _requested(run_request, known, masker), masker.clean(reason)
    if event is _Event.DEPLOYMENT_CANCELLED:
        progress = notices.Progress(statuses.RunStatus.CANCELLED, reason)
        to.update(notices.Notice(event, now, subject, progress))
    else:
        await _keep(to, notices.Notice(event, now, subject, _NOT_BEGUN, reason))


async def _keep(to: notifier.Notifier, notice: notices.Notice) -> None:
    name = f"{notice.subject.run}-{notice.event.value.lower()}"
    await retry.until_available(lambda: to.keep(notice, name), "a notification")


def _subject(
    run: state.Run,
    origin: run_origins.Origin,
    known: records.ApplicationRecord,
    masker: redaction.Masker,
) -> notices.Subject:
    status = application_statuses.from_document(known.document)
    return notices.Subject(
        application=known.name,
        run=run.id,
        project=known.project,
        labels=known.labels,
        commit=run.commit,
        title=masker.clean(origin.subject),
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
        project=known.project,
        labels=known.labels,
        commit=run_request.commit,
        # No title: the manifests' Secrets, which it may quote, are not known yet.
        by=masker.clean(run_request.by),
        mentions=status.mentions,
        alerts=status.alerts,
    )


async def drift_changed(
    to: notifier.Notifier,
    known: records.ApplicationRecord,
    notice: tuple[notices.Event, datetime, tuple[str, ...]],
    commit: str,
    reason: str,
) -> None:
    """Tell that an application drifted, or that it is as Git says again; `reason` is clean.

    `notice` is what happened, when it was seen, and the clusters where it did. It is kept before
    what it tells is.
    """
    event, at, clusters = notice
    status = application_statuses.from_document(known.document)
    subject = notices.Subject(
        known.name,
        labels=known.labels,
        commit=commit,
        targets=clusters,
        mentions=status.mentions,
        alerts=status.alerts,
        project=known.project,
    )
    made = notices.Notice(event, at, subject, _NOT_BEGUN, reason)
    name = f"{known.name}-{event.value.lower()}-{at.isoformat()}"
    await retry.until_available(lambda: to.keep(made, name), "a notification")


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
