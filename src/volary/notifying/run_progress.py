"""From a run's feed to how far it is, and to what is worth a notice; pure."""

from dataclasses import replace

from volary.engine.observers import feed
from volary.model import statuses
from volary.notifying import notices

_Event = notices.Event
_ENDS = {
    statuses.RunStatus.SUCCEEDED: _Event.DEPLOYMENT_SUCCEEDED,
    statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS: _Event.DEPLOYMENT_SUCCEEDED,
    statuses.RunStatus.CANCELLED: _Event.DEPLOYMENT_CANCELLED,
}
_STAGE_ENDS = {
    statuses.TaskStatus.SUCCEEDED: _Event.STAGE_SUCCEEDED,
    statuses.TaskStatus.SKIPPED: _Event.STAGE_SKIPPED,
    statuses.TaskStatus.CANCELLED: _Event.STAGE_CANCELLED,
}


def advance(progress: notices.Progress, event: feed.RunEvent) -> notices.Progress:
    """Return how far the run is after `event`."""
    match event:
        case feed.StageEvent():
            return _advance_stage(progress, event)
        case feed.RunStarted():
            pending = {
                target: statuses.TaskStatus.SKIPPED
                if target in event.left_out
                else statuses.TaskStatus.PENDING
                for target in event.targets
            }
            return replace(
                progress, status=statuses.RunStatus.RUNNING, started=event.at, clusters=pending
            )
        case feed.RunChanged():
            return replace(progress, status=event.status, reason=event.reason)
        case feed.RunFinished():
            return replace(progress, status=event.status, reason=event.reason, stage="")
        case feed.RollbackStarted():
            return replace(progress, status=statuses.RunStatus.ROLLING_BACK, reason=event.reason)
        case _:
            return progress


def _advance_stage(progress: notices.Progress, event: feed.StageEvent) -> notices.Progress:
    match event:
        case feed.StageStarted():
            return replace(progress, stage=event.stage_name)
        case feed.StageWaiting():
            return replace(progress, status=statuses.RunStatus.WAITING, reason=event.reason)
        case feed.TaskStarted():
            return _with_cluster(progress, event.target, statuses.TaskStatus.RUNNING)
        case feed.TaskFinished():
            return _with_cluster(progress, event.target, event.status)
        case _:
            return progress


def event_to_send(before: notices.Progress, event: feed.RunEvent) -> _Event | None:
    """Return the event in PipeCD's words; None for what nobody is notified of.

    A run that was rolled back has failed: what was wished for does not run.
    """
    match event:
        case feed.StageEvent():
            return _of_stage(event)
        case feed.RunStarted():
            return _Event.DEPLOYMENT_STARTED
        case feed.RollbackStarted():
            return _Event.DEPLOYMENT_ROLLING_BACK
        case feed.RunFinished():
            return _ENDS.get(event.status, _Event.DEPLOYMENT_FAILED)
        case feed.RunChanged(status=statuses.RunStatus.RUNNING):
            waited = before.status is statuses.RunStatus.WAITING
            return _Event.DEPLOYMENT_APPROVED if waited else None
        case _:
            return None


def _of_stage(event: feed.StageEvent) -> _Event | None:
    match event:
        case feed.StageWaiting():
            return _Event.DEPLOYMENT_WAIT_APPROVAL
        case feed.StageStarted():
            return _Event.STAGE_STARTED
        case feed.StageFinished():
            return _STAGE_ENDS.get(event.status, _Event.STAGE_FAILED)
        case _:
            return None


def _with_cluster(
    progress: notices.Progress, target: str, status: statuses.TaskStatus
) -> notices.Progress:
    return replace(progress, clusters={**progress.clusters, target: status})
