"""Whether an application takes what is asked of it as it stands. Pure.

The one place that says so: who carries a request out refuses it with these sentences, and who
shows what may be done next shows them beforehand.
"""

from volary.controller.status import application_statuses, run_admission
from volary.store import records


def why_not_paused(status: application_statuses.ApplicationStatus) -> str:
    """Return why it cannot be paused, one sentence; empty: it can."""
    if status.pause is None:
        return ""
    return f"the application is already {run_admission.describe_pause(status.pause)}"


def why_not_resumed(status: application_statuses.ApplicationStatus) -> str:
    """Return why it cannot be resumed, one sentence; empty: it can."""
    return "the application is not paused" if status.pause is None else ""


def why_nothing_starts(why_orphaned: str) -> str:
    """Return why nothing is started for it, one sentence; empty: it is.

    Args:
        why_orphaned: Why its repository is not in the settings; empty: it is.
    """
    return f"{why_orphaned}, so nothing is started for it" if why_orphaned else ""


def why_not_moved(status: application_statuses.ApplicationStatus, *, is_moving: bool) -> str:
    """Return why it cannot be placed anew, one sentence; empty: it can, as far as is known."""
    if status.move is not None or is_moving:
        return "it is moving already; ask again when that has ended"
    return ""


def why_not_forgotten(known: records.ApplicationRecord, why_orphaned: str) -> str:
    """Return why it cannot be forgotten, one sentence; empty: it can, once its run has ended."""
    if known.removed is None and not why_orphaned:
        return f"its file is there, {known.path} of {known.repository}: delete it first"
    return ""


def why_run_keeps_it(run: str, why_orphaned: str) -> str:
    """Return why the run that has not ended keeps it from being forgotten; empty: nothing does.

    Args:
        run: Its id; empty: there is none.
        why_orphaned: A run that nobody can carry out any more ends with the application.
    """
    return f"run {run} has to end first; cancel it" if run and not why_orphaned else ""
