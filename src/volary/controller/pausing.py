"""Pauses and resumes a whole application: its run under way, and everything that would begin."""

from datetime import datetime

from volary.controller import lanes, pinning
from volary.engine import events, state


async def pause(lane: lanes.Lane, pause: state.Pause) -> str:
    """Have nothing of the application begin to move; returns why not, or nothing.

    A run under way is paused as well; one that cannot be, because it is ending, goes its way.
    """
    if lane.standing.pause is not None:
        return f"the application is already {pinning.said(lane.standing.pause)}"
    await lane.change({"pause": pause})
    if lane.standing.under_way:
        event = events.PauseAsked(pause.at, pause.by, pause.reason)
        await lane.request(lane.standing.run, event)
    return ""


async def resume(lane: lanes.Lane, by: str, now: datetime) -> str:
    """Have the application go on, its run with what it is pinned to; returns why not."""
    if lane.standing.pause is None:
        return "the application is not paused"
    await lane.change({"pause": None})
    if lane.standing.under_way:
        await lane.request(lane.standing.run, events.Resume(now, by))
    lane.work()
    return ""
