"""Whether a run may begin, and what a newer run request does to a run under way. Pure.

A pause holds all of an application: a paused run starts nothing new, and a paused application
no run either; no more does one whose file holds it back, as a suspended policy of Karmada's
does. Whatever would start a task or change a placement (a commit, a command, a backfill,
failover, a rebalance) asks `why_blocked` first and waits while it says something. The one
exception is a rollback: a failure, a cancel, or a commit that reverts the run are never held
up.

Run requests are submitted to the application's reconciler, which asks before any of them
becomes a run; so a request of a new kind is covered without doing anything.
"""

from volary.controller.status import application_statuses, run_requests
from volary.engine.runs import state
from volary.model import server_settings


def why_blocked(standing: application_statuses.ApplicationStatus, run: state.Run | None) -> str:
    """Return why nothing of the application may begin to move, one sentence; empty: it may.

    Args:
        standing: How the application stands.
        run: Its run under way; None when there is none.
    """
    if standing.pause is not None:
        return f"the application is {describe_pause(standing.pause)}"
    if standing.held:
        return f"the application is held back in Git: {standing.held}"
    if run is not None and run.pause is not None and not run.is_final:
        return f"run {run.id} is {describe_pause(run.pause)}"
    return ""


def why_next_blocked(standing: application_statuses.ApplicationStatus) -> str:
    """Return why what is wanted may not become a run, one sentence; empty: it may.

    Going back is never held up: who rolls a paused application back knows what they do.
    """
    if standing.want is not None and standing.want.kind is run_requests.RunKind.ROLLBACK:
        return ""
    return why_blocked(standing, None)


def describe_pause(pause: state.Pause) -> str:
    """Return who paused it and why: ``paused by ana: the shop is on television``."""
    return f"paused by {pause.by}" + (f": {pause.reason}" if pause.reason else "")


def cancels_run(
    rule: server_settings.Supersede,
    standing: application_statuses.ApplicationStatus,
    want: run_requests.RunRequest,
    run: state.Run,
) -> bool:
    """Say whether a run is cancelled for a want, as nothing that serves users was touched yet."""
    return (
        rule is server_settings.Supersede.CANCEL
        and want.kind is run_requests.RunKind.COMMIT
        and want.commit != run.commit
        and run.ending is None
        and not why_blocked(standing, run)
        and not run_requests.touches_primary(run)
    )


def why_waiting(
    rule: server_settings.Supersede,
    standing: application_statuses.ApplicationStatus,
    want: run_requests.RunRequest,
    run: state.Run,
) -> str:
    """Return why a want does not begin while a run is under way, one sentence."""
    if want.undoes == run.id:
        return f"it takes run {run.id} back, which is being rolled back"
    if cancels_run(rule, standing, want, run):
        return f"run {run.id} is being cancelled for it"
    return f"run {run.id} has to end first"


def why_cancel(
    rule: server_settings.Supersede,
    standing: application_statuses.ApplicationStatus,
    want: run_requests.RunRequest,
    run: state.Run,
) -> str:
    """Return why a run is taken back for a want, one sentence; empty: it goes on."""
    if run.rollback is not None or run.is_final:
        return ""
    short = want.commit[:7]
    if want.undoes == run.id:
        return f"{short} takes it back"
    return f"superseded by {short}" if cancels_run(rule, standing, want, run) else ""
