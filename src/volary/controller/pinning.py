"""Whether anything of an application may begin to move: a pause pins all of it. Pure.

A paused run starts nothing new, and a paused application no run either; no more does one whose
file holds it back, as a suspended policy of Karmada's does. All of them mean more than rollouts:
whatever would start a task or change a placement of the application (a commit, a command,
catching up a cluster that came or came back, failover, a rebalance) asks `why` first and waits
while it says something. The one exception is the way back: a failure, a cancel, or a commit that
takes the run back are never held up.

Whoever wants something of their own offers it to the application's lane, which asks `why` before
any want becomes a run; so a want of a new kind is pinned without doing anything. Whoever decides
outside of a lane asks as `why(lane.standing, lane.run_under_way)`.
"""

from volary.controller import standings, wants
from volary.engine import state


def why(standing: standings.Standing, run: state.Run | None) -> str:
    """Return why nothing of the application may begin to move, one sentence; empty: it may.

    Args:
        standing: How the application stands.
        run: Its run under way; None when there is none.
    """
    if standing.pause is not None:
        return f"the application is {said(standing.pause)}"
    if standing.held:
        return f"the application is held back in Git: {standing.held}"
    if run is not None and run.pause is not None and not run.is_final:
        return f"run {run.id} is {said(run.pause)}"
    return ""


def of_want(standing: standings.Standing) -> str:
    """Return why what is wanted may not become a run, one sentence; empty: it may.

    Going back is never held up: who rolls a paused application back knows what they do.
    """
    if standing.want is not None and standing.want.kind is wants.Kind.ROLLBACK:
        return ""
    return why(standing, None)


def said(pause: state.Pause) -> str:
    """Return who paused it and why: ``paused by ana: the shop is on television``."""
    return f"paused by {pause.by}" + (f": {pause.reason}" if pause.reason else "")
