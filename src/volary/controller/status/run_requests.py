"""What an application will do next: at most one run request, for the newest commit. Pure.

A request is kept with its application until its run is there, and its id becomes the run's. So
a process that dies in between leaves nothing to guess. The commit's title is no part of it:
until the commit is rendered nobody knows which of its words are secrets.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from volary.engine.runs import state
from volary.gitops import triggers
from volary.model.runs import run_plans
from volary.placement.failover import move_plans

#: Subjects as `git revert` writes them.
_REVERT = 'Revert "'


class KindName(StrEnum):
    """Names of the kinds of runs (`runs`), as they are kept with requests and origins."""

    #: A commit goes to the clusters of the application.
    RELEASE = "release"
    #: A release of a commit that somebody goes back to.
    ROLLBACK_TO_COMMIT = "rollback-to-commit"
    #: A run that has ended is rolled back, on each cluster to what that ran before.
    ROLLBACK = "rollback"
    #: It moves between clusters; no release comes with it.
    MOVE = "move"
    #: Single clusters get the last completed release, which they have missed.
    BACKFILL = "backfill"
    #: Single clusters are made again what Git says at the commit that they are on.
    REPAIR = "repair"

    @property
    def is_rollback(self) -> bool:
        """Whether it goes back to what ran before; such a run is never held up."""
        return self in (KindName.ROLLBACK, KindName.ROLLBACK_TO_COMMIT)

    @property
    def is_release(self) -> bool:
        """Whether it changes which release an application is on."""
        return self not in (KindName.MOVE, KindName.BACKFILL, KindName.REPAIR)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A run that is requested and has not begun."""

    #: Of the run to be.
    id: str
    commit: str
    kind: KindName
    #: Why, one sentence.
    reason: str
    at: datetime
    #: Who asked; the commit's author for a commit.
    by: str = ""
    author: str = ""
    #: What asked for it: a new commit, or somebody's command.
    trigger: triggers.Kind = triggers.Kind.COMMAND
    #: None: the planner decides.
    strategy: run_plans.Strategy | None = None
    #: The run that this commit reverts; when that is rolled back, nothing is left to do.
    reverts: str = ""
    #: What moves where; of a `MOVE` only.
    shift: move_plans.MovePlan | None = None
    #: The clusters of a `BACKFILL` or a `REPAIR`.
    targets: tuple[str, ...] = ()
    #: Id of the run that has ended and that a `ROLLBACK` rolls back.
    rollback_of: str = ""

    @property
    def is_from_commit(self) -> bool:
        """Whether a new commit asked for it, not a person or the controller."""
        return self.trigger is triggers.Kind.COMMIT


def reason_for_commit(run_request: RunRequest, subject: str) -> str:
    """Return why a commit of this title is rolled out; a revert says what it reverts."""
    if run_request.is_from_commit and subject.startswith(_REVERT):
        return f"reverts {subject.removeprefix(_REVERT).rstrip().removesuffix(chr(34))}"
    return run_request.reason


def touches_primary(run: state.Run) -> bool:
    """Say whether a stage that changes what serves users has begun."""
    return run.rollback is not None or any(
        stage.started is not None and stage.stage.kind.touches_primary for stage in run.stages
    )


def is_fulfilled_by(run_request: RunRequest, run: state.Run) -> bool:
    """Say whether the end of `run` already did what is requested: it was rolled back."""
    if run_request.reverts != run.id:
        return False
    ended = run.status.value
    return ended == "rolled_back" or (ended == "cancelled" and not run.touched)
