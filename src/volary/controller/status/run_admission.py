"""Whether a run may begin, and what a newer run request does to a run under way. Pure.

A pause holds all of an application: a paused run starts nothing new, and a paused application
no run either; no more does one whose file holds it back, as a suspended policy of Karmada's
does, nor one that belongs to no project where there are projects. Whatever would start a task or
change a placement (a commit, a command, a backfill, failover, a rebalance) asks `why_blocked`
first and waits while it says something. The one exception is a rollback: a failure, a cancel, or a
commit that reverts the run are never held up.

Run requests are submitted to the application's reconciler, which asks before any of them
becomes a run; so a request of a new kind is covered without doing anything.
"""

from volary.controller.status import application_statuses, run_requests
from volary.engine.runs import state
from volary.model import server_settings


def why_blocked(status: application_statuses.ApplicationStatus, run: state.Run | None) -> str:
    """Return why nothing of the application may begin to move, one sentence; empty: it may.

    Args:
        status: How the application stands.
        run: Its run under way; None when there is none.
    """
    if status.unowned:
        return status.unowned
    if status.pause is not None:
        return f"the application is {describe_pause(status.pause)}"
    if status.held:
        return f"the application is held back in Git: {status.held}"
    if run is not None and run.pause is not None and not run.is_final:
        return f"run {run.id} is {describe_pause(run.pause)}"
    return ""


def why_next_blocked(status: application_statuses.ApplicationStatus) -> str:
    """Return why what is requested may not become a run, one sentence; empty: it may.

    Going back is never held up: who rolls a paused application back knows what they do. It takes a
    project all the same: without one nobody knows what may be written.
    """
    if status.unowned:
        return status.unowned
    if status.run_request is not None and status.run_request.kind.is_rollback:
        return ""
    return why_blocked(status, None)


def describe_pause(pause: state.Pause) -> str:
    """Return who paused it and why: ``paused by ana: the shop is on television``."""
    return f"paused by {pause.by}" + (f": {pause.reason}" if pause.reason else "")


def cancels_run(
    rule: server_settings.Supersede,
    status: application_statuses.ApplicationStatus,
    run_request: run_requests.RunRequest,
    run: state.Run,
) -> bool:
    """Say whether a run is cancelled for a request: nothing that serves users was touched yet."""
    return (
        rule is server_settings.Supersede.CANCEL
        and run_request.is_from_commit
        and run_request.commit != run.commit
        and run.ending is None
        and not why_blocked(status, run)
        and not run_requests.touches_primary(run)
    )


def waiting_reason(
    rule: server_settings.Supersede,
    status: application_statuses.ApplicationStatus,
    run_request: run_requests.RunRequest,
    run: state.Run,
) -> str:
    """Return why a request does not begin while a run is under way, one sentence."""
    if run_request.reverts == run.id:
        return f"it takes run {run.id} back, which is being rolled back"
    if cancels_run(rule, status, run_request, run):
        return f"run {run.id} is being cancelled for it"
    return f"run {run.id} has to end first"


def why_cancel(
    rule: server_settings.Supersede,
    status: application_statuses.ApplicationStatus,
    run_request: run_requests.RunRequest,
    run: state.Run,
) -> str:
    """Return why a run is rolled back for a request, one sentence; empty: it goes on."""
    if run.rollback is not None or run.is_final:
        return ""
    short = run_request.commit[:7]
    if run_request.reverts == run.id:
        return f"{short} takes it back"
    return f"superseded by {short}" if cancels_run(rule, status, run_request, run) else ""
