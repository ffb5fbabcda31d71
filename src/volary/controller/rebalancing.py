"""Places an application anew because somebody asks: what would move, and having it moved."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from volary.config import crosscheck
from volary.controller import (
    dividing,
    driving,
    lanes,
    move_releases,
    moves,
    projects,
    refusals,
    releases,
    standings,
    wants,
)
from volary.model import attendance
from volary.placement import failover, rebalance
from volary.store import records

KIND = "rebalance"


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the clusters."""

    clusters: Mapping[str, attendance.Attendance]
    rules: attendance.Rules


def situation(
    desk: releases.Desk,
    project: projects.Project,
    standing: standings.Standing,
    known: Known,
    now: datetime,
) -> failover.Situation:
    """Return where an application is and could be, without looking at anything."""
    app = project.application
    targets = crosscheck.deployed(app, desk.clusters.fleet)
    names = tuple(each.name for each in targets)
    chosen = standing.placed.chosen or (() if app.spread else names)
    here = tuple(each for each in chosen if each in names)
    placed = replace(standing.placed, chosen=here)
    has_shares = bool(standing.assigned.workloads) or not dividing.divides(app)
    return failover.Situation(
        app, targets, known.clusters, placed, now, known.rules, has_shares=has_shares
    )


async def plan(
    desk: releases.Desk,
    place: releases.Place,
    running_commit: str,
    standing: standings.Standing,
    known: Known,
    *,
    by: str,
) -> rebalance.Rebalance:
    """Return what a rebalance would do; writes nothing.

    Raises:
        errors.UserError: There is nothing to place, or no place for it.
        errors.TemporaryError: It cannot be told now.
    """
    if not running_commit:
        raise refusals.conflict("no release of it was completed yet: there is nothing to place")
    commit = moves.completed(standing, running_commit)
    project = await releases.open_place(desk, place, commit)
    looked = situation(desk, project, standing, known, desk.clock.now())
    choice = rebalance.choose(looked)
    if choice.failure or not choice.names:
        raise refusals.conflict(choice.failure or "no cluster that it may be on answers")
    placed = replace(standing, placed=replace(standing.placed, chosen=choice.names))
    numbers = await move_releases.divide(desk, project, placed, fresh=True)
    before, after = move_releases.pods(numbers)
    return rebalance.plan(looked, choice, before, after, by=by)


async def carry_out(
    tenure: driving.Driving, lane: lanes.Lane, request: records.RequestRecord
) -> str:
    """Have an application placed anew; returns why not, or nothing.

    Raises:
        errors.UserError: There is no place for it.
        errors.TemporaryError: It cannot be told now.
    """
    before = lane.standing
    if before.move is not None or moves.is_moving(lane.run_under_way):
        return "it is moving already; ask again when that has ended"
    known = Known(tenure.register.known, tenure.register.rules)
    made = await plan(
        tenure.desk, lane.place, lane.record.running_commit, before, known, by=request.by
    )
    if made.is_empty and not made.leaving and not before.placed.away:
        return "nothing would move: it is where it would be placed anew"
    move = wants.Want(
        request.id,
        moves.completed(before, lane.record.running_commit),
        wants.Kind.PLACEMENT,
        made.reason,
        request.at,
        by=request.by,
        shift=made.shift,
    )

    def kept(standing: standings.Standing) -> standings.Standing:
        if standing.placed != before.placed or standing.move is not None:
            return standing
        placed = failover.Standing(made.chosen, standing.placed.coming, {}, made.leaving)
        return replace(standing, placed=placed, move=None if made.is_empty else move)

    await lane.amend(kept)
    is_taken = made.is_empty or lane.standing.move == move or lane.standing.run == move.id
    return "" if is_taken else "something else moved meanwhile; ask again"
