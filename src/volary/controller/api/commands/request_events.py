"""What people ask of runs, as events of the state machine, and what it says to them. Pure."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from volary.engine.runs import state
from volary.engine.state_machine import events, sightings
from volary.model import errors, json
from volary.store import records


def of_request(request: records.RequestRecord, now: datetime) -> events.Request:
    """Return what a request means for its run, bound to what was seen.

    What only stops a run may be asked for without a look at it.

    Raises:
        errors.UserError: Nobody knows such a request.
        LookupError: It does not say what was seen.
    """
    said, by = request.document, request.by
    comment, reason = said.get("comment", ""), said.get("reason", "")
    make: dict[str, Callable[[], events.Request]] = {
        "approve": lambda: events.Approve(now, by, comment),
        "reject": lambda: events.Reject(now, by, comment),
        "withdraw": lambda: events.Withdraw(now, by, comment),
        "promote": lambda: events.PromoteWave(now, by, reason, said["wave"]),
        "unfreeze": lambda: events.Unfreeze(now, by, reason),
        "pause": lambda: events.PauseAsked(now, by, reason),
        "resume": lambda: events.Resume(now, by),
        "cancel": lambda: events.Cancel(
            now,
            by,
            rollback=bool(said.get("rollback", True)),
            now=bool(said.get("now")),
            reason=reason,
        ),
        "retry": lambda: events.Retry(now, by, tuple(said.get("targets", ()))),
        "skip": lambda: (
            events.SkipStage(now, by, said["stage"], reason)
            if said.get("stage")
            else events.SkipCluster(now, by, said["target"], reason)
        ),
    }
    if request.kind not in make:
        raise errors.user_error(f"nobody knows a request of kind {request.kind}")
    event = make[request.kind]()
    if isinstance(event, events.PauseAsked | events.Cancel) and not said.get("seen"):
        return replace(event, id=request.id, seen=sightings.NOTHING)
    seen = json.convert(said["seen"], state.Sighting)
    return replace(event, id=request.id, seen=seen)
