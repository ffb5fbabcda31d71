"""What a move between clusters means for how an application stands. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from volary.controller import pinning, reaching, standings, wants
from volary.engine import state, wording
from volary.model import failover as moving
from volary.model import stage
from volary.model import status as words
from volary.placement import assignment, failover, following, shifts

Names = tuple[str, ...]
_STAGES = (stage.StageName.PLACEMENT_SYNC, stage.StageName.PLACEMENT_REMOVE)
_DONE = words.TaskStatus.SUCCEEDED


def is_move(run: state.Run) -> bool:
    """Say whether a run moves an application between clusters and brings no release."""
    return all(each.stage.name in _STAGES for each in run.stages)


def is_urgent(standing: standings.Standing) -> bool:
    """Say whether what waits to move is worth interrupting a run for.

    Only what is lost or ill and has no replacement yet; a drain, a rebalance and a clean-up wait.
    """
    causes = (failover.Cause.CLUSTER, failover.Cause.APPLICATION)
    return any(each.cause in causes and not each.replaced for each in standing.placed.leaving)


def is_moving(run: state.Run | None) -> bool:
    """Say whether the run that is carried out moves its application.

    One that has ended, too: until its end is kept, what leaves is not known to be gone.
    """
    return run is not None and is_move(run)


def completed(standing: standings.Standing, running: str) -> str:
    """Return the last completed release: what a cluster gets that is new to the application."""
    return standing.reached.commit or running


def runs_there(standing: standings.Standing, name: str, want: str, remembered: str) -> str:
    """Return the release that a cluster is on; a new one: the last completed one, `want`.

    Args:
        standing: How the application stands.
        name: The cluster.
        want: The last completed release.
        remembered: The last release that succeeded everywhere.
    """
    if name in standing.kept:
        return standing.kept[name]
    return remembered if name in standing.reached.behind else want


class Room(StrEnum):
    """What a move does about a run under way."""

    #: There is none.
    GO = "go"
    WAIT = "wait"
    #: The run is ended as it is: nothing is rolled back, and its commit is wanted again.
    INTERRUPT = "interrupt"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer with its sentence."""

    room: Room
    reason: str = ""


def room(
    standing: standings.Standing,
    run: state.Run | None,
    move: wants.Want,
    now: datetime,
    patience: timedelta,
) -> Answer:
    """Say whether a move that is wanted may begin.

    One rule, whatever the run does: it is waited for, and when it has not ended within
    `patience`, it is interrupted, if the move is urgent. A pause pins everything, and a way back is
    never disturbed.
    """
    pinned = pinning.why(standing, run)
    if pinned:
        return Answer(Room.WAIT, f"{pinned}, which pins where it is as well")
    if run is None or run.is_final:
        return Answer(Room.GO)
    if not is_urgent(standing):
        return Answer(Room.WAIT, f"run {run.id} has to end first")
    if run.rollback is not None or run.ending is not None:
        return Answer(Room.WAIT, f"run {run.id} is ending, and is not disturbed")
    waited = now - move.at
    if waited < patience:
        until = move.at + patience
        return Answer(
            Room.WAIT, f"run {run.id} has to end first; it is interrupted at {until:%H:%M:%S}"
        )
    return Answer(Room.INTERRUPT, f"run {run.id} did not end within {patience}")


def again(run: state.Run, move: wants.Want, now: datetime, new_id: str) -> wants.Want:
    """Return the want that takes an interrupted run's commit up again, after the move."""
    return wants.Want(
        id=new_id,
        commit=run.commit,
        kind=wants.Kind.COMMAND,
        reason=f"goes on after run {run.id} was interrupted: {move.reason}",
        at=now,
        by="failover",
    )


def begun(standing: standings.Standing, run_id: str) -> standings.Standing:
    """Return the standing once the move's run is kept."""
    move = standing.move
    left = None if move is not None and move.id == run_id else move
    return replace(standing, move=left, run=run_id, under_way=True)


def held_up(standing: standings.Standing, reason: str) -> standings.Standing:
    """Return the standing with why a wanted move does not begin."""
    shift = standing.move.shift if standing.move else None
    names = shift.clusters if shift else ()
    leaving = [each for each in standing.placed.leaving if each.cluster in names]
    told = {each.cluster: f"{each.reason}; {reason}" for each in leaving or standing.placed.leaving}
    placed = replace(standing.placed, waiting={**standing.placed.waiting, **told})
    return replace(standing, placed=placed)


def waiting_for(standing: standings.Standing, run_id: str) -> str:
    """Return what waits to move once a run has ended, or interrupts it; empty: nothing does."""
    if standing.move is None or standing.run != run_id or not standing.under_way:
        return ""
    waiting = standing.placed.waiting
    leaving = (each.cluster for each in standing.placed.leaving)
    told = (f"{name}: {waiting[name]}" for name in leaving if name in waiting)
    return "; ".join(told) or standing.move.reason


def told(standing: standings.Standing, run: state.Run) -> str:
    """Return what a move that has ended came to, one sentence.

    Args:
        standing: How the application stood when it ended.
        run: The run of the move.
    """
    if run.status is not words.RunStatus.SUCCEEDED:
        return f"move {run.id} has ended {run.status.value}: {run.reason}"
    placed, concerned = standing.placed, {*shift_of(run).clusters}
    causes = (
        each.reason
        for each in placed.leaving
        if concerned.intersection((each.cluster, *each.replacements))
    )
    why = "; ".join(dict.fromkeys(causes))
    where = f"it is on {wording.names(placed.chosen)}" if placed.chosen else run.reason
    return f"{where} since move {run.id}{': ' * bool(why)}{why}"


def joined(standing: standings.Standing, names: Sequence[str]) -> standings.Standing:
    """Return the standing once clusters that had missed a release have it."""
    placed = standing.placed
    if not placed.chosen:
        return standing
    chosen = tuple(dict.fromkeys((*placed.chosen, *names)))
    return replace(standing, placed=replace(placed, chosen=chosen))


def concluded(
    standing: standings.Standing,
    run: state.Run,
    shift: shifts.Shift,
    identity: reaching.Identity,
) -> standings.Standing:
    """Return the standing after the run of a move; what clusters run stays what it was.

    Only what was proven counts, however the run ended: who holds their part, and where the
    application is gone.
    """
    placed = standing.placed
    kept = frozenset(_done(run, stage.StageName.PLACEMENT_SYNC))
    removed = frozenset(_done(run, stage.StageName.PLACEMENT_REMOVE))
    leaving = following.concluded(placed.leaving, kept, removed, shift)
    others = {name: commit for name, commit in standing.kept.items() if name not in removed}
    assigned = standing.assigned.taken_over(standing.pinned, kept)
    assigned = assigned.taken_over(assignment.NOTHING, removed)
    return replace(
        standing,
        placed=replace(placed, leaving=leaving),
        assigned=assigned,
        pinned=assignment.NOTHING,
        kept=others,
        reached=_reached(standing, run, kept, removed, identity),
        under_way=False,
    )


def _reached(
    standing: standings.Standing,
    run: state.Run,
    placed: frozenset[str],
    removed: frozenset[str],
    identity: reaching.Identity,
) -> reaching.Reached:
    """Return who has the last completed release: also whom it was brought to just now."""
    reached = standing.reached
    new = {}
    if run.commit == reached.commit:
        new = {name: identity(name) for name in placed if name not in standing.kept}
    there = {**reached.clusters, **new}
    return replace(
        reached, clusters={name: each for name, each in there.items() if name not in removed}
    )


def _done(run: state.Run, name: stage.StageName) -> list[str]:
    """Return the clusters on which all stages of a name succeeded."""
    tasks: dict[str, list[bool]] = {}
    for each in run.stages:
        if each.stage.name is name:
            for task in each.tasks:
                tasks.setdefault(task.target, []).append(task.status is _DONE)
    return [target for target, done in tasks.items() if all(done)]


def shift_of(run: state.Run) -> shifts.Shift:
    """Return what a run had to do, as its stages say."""
    first: Names = ()
    place: Names = ()
    reduce: Names = ()
    last: Names = ()
    for each in run.stages:
        targets = tuple(task.target for task in each.tasks)
        if each.stage.name is stage.StageName.PLACEMENT_SYNC:
            place, reduce = (targets, reduce) if not place else (place, targets)
        elif place:
            last = targets
        else:
            first = targets
    return shifts.Shift(first, place, reduce, last)


def after_release(placed: failover.Standing, run: state.Run, now: datetime) -> failover.Standing:
    """Return where an application is after a run that brought a release.

    One that succeeded says it; another one only where nothing was known before. A cluster that
    is not chosen any more keeps what it has until somebody asks for a rebalance.
    """
    ended = replace(placed, coming=())
    if run.status is not words.RunStatus.SUCCEEDED:
        first = not placed.chosen and run.status is not words.RunStatus.ROLLED_BACK
        return replace(ended, chosen=run.touched) if first else ended
    chosen = placed.coming or run.targets
    staying = [each for each in placed.leaving if each.cluster not in chosen]
    known = {*chosen, *(each.cluster for each in staying)}
    dropped = [
        failover.Leaving(
            name,
            failover.Cause.REBALANCE,
            f"{name} is not chosen any more since run {run.id}",
            now,
            moving.Purge.NEVER,
            replaced=True,
        )
        for name in placed.chosen
        if name not in known
    ]
    return replace(ended, chosen=chosen, leaving=(*staying, *dropped))
