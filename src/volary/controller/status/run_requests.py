"""What an application will do next: at most one *want*, for the newest commit. Pure.

A want is kept with its application until its run is there, and its id becomes the run's. So
a process that dies in between leaves nothing to guess. The commit's title is no part of it:
until the commit is rendered nobody knows which of its words are secrets.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from volary.engine.runs import state
from volary.model import json
from volary.model.pipeline import pipelines
from volary.model.runs import run_plans
from volary.placement.failover import move_plans

#: Subjects as `git revert` writes them.
_REVERT = 'Revert "'
#: Stages that change what serves users.
_SHIFT_KEYS = ("first", "place", "reduce", "last")
_PRIMARY_STAGES = (
    pipelines.StageName.SYNC,
    pipelines.StageName.PRIMARY_ROLLOUT,
    pipelines.StageName.PLACEMENT_SYNC,
    pipelines.StageName.PLACEMENT_REMOVE,
)


class RunKind(StrEnum):
    """What asked for a run."""

    COMMIT = "commit"
    COMMAND = "command"
    ROLLBACK = "rollback"
    #: It moves between clusters; no release comes with it.
    PLACEMENT = "placement"
    #: Single clusters get the last completed release, which they have missed.
    BACKFILL = "backfill"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A run that is wanted."""

    #: Of the run to be.
    id: str
    commit: str
    kind: RunKind
    #: Why, one sentence.
    reason: str
    at: datetime
    #: Who asked; the commit's author for a commit.
    by: str = ""
    author: str = ""
    #: None: the planner decides.
    strategy: run_plans.Strategy | None = None
    #: The run that this commit takes back; when its rollback succeeds, nothing is left to do.
    rollback_of: str = ""
    #: What moves where; of a `PLACEMENT` only.
    shift: move_plans.MovePlan | None = None
    #: The clusters of a `CATCH_UP`.
    targets: tuple[str, ...] = ()
    #: Id of a run that has ended and is taken back, on each cluster to what that ran before.
    takes_back: str = ""


def reason_for_commit(run_request: RunRequest, subject: str) -> str:
    """Return why a commit of this title is rolled out; a revert says what it reverts."""
    if run_request.kind is RunKind.COMMIT and subject.startswith(_REVERT):
        return f"reverts {subject.removeprefix(_REVERT).rstrip().removesuffix(chr(34))}"
    return run_request.reason


def touches_primary(run: state.Run) -> bool:
    """Say whether a stage that changes what serves users has begun."""
    return run.rollback is not None or any(
        stage.started is not None and stage.stage.name in _PRIMARY_STAGES for stage in run.stages
    )


def is_fulfilled_by(run_request: RunRequest, run: state.Run) -> bool:
    """Say whether the end of `run` already did what is wanted: it was taken back."""
    if run_request.rollback_of != run.id:
        return False
    ended = run.status.value
    return ended == "rolled_back" or (ended == "cancelled" and not run.touched)


def to_document(run_request: RunRequest) -> json.JsonObject:
    """Return the want as JSON."""
    return {
        "id": run_request.id,
        "commit": run_request.commit,
        "kind": run_request.kind.value,
        "reason": run_request.reason,
        "at": run_request.at.isoformat(),
        "by": run_request.by,
        "author": run_request.author,
        "strategy": run_request.strategy.value if run_request.strategy else "",
        "rollback_of": run_request.rollback_of,
        "shift": None if run_request.shift is None else _shift(run_request.shift),
        "targets": list(run_request.targets),
        "takesBack": run_request.takes_back,
    }


def _shift(shift: move_plans.MovePlan) -> json.JsonObject:
    return {
        "first": list(shift.first),
        "place": list(shift.place),
        "reduce": list(shift.reduce),
        "last": list(shift.last),
        "fresh": shift.fresh,
    }


def from_document(document: json.JsonObject) -> RunRequest:
    """Read a want; keys that are missing have their defaults."""
    strategy, shift = document.get("strategy", ""), document.get("shift")
    return RunRequest(
        id=document["id"],
        commit=document["commit"],
        kind=RunKind(document.get("kind", RunKind.COMMIT)),
        reason=document.get("reason", ""),
        at=datetime.fromisoformat(document["at"]),
        by=document.get("by", ""),
        author=document.get("author", ""),
        strategy=run_plans.Strategy(strategy) if strategy else None,
        rollback_of=document.get("rollback_of", ""),
        shift=_read_shift(shift),
        targets=tuple(document.get("targets") or ()),
        takes_back=document.get("takesBack", ""),
    )


def _read_shift(document: json.JsonObject | None) -> move_plans.MovePlan | None:
    if document is None:
        return None
    first, place, reduce, last = (tuple(document[key]) for key in _SHIFT_KEYS)
    return move_plans.MovePlan(first, place, reduce, last, bool(document.get("fresh")))
