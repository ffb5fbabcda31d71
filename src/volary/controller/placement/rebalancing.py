"""Places an application anew because somebody asks: what would move, and having it moved."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from volary.config.crosscheck import fleet_checks
from volary.controller import refusals
from volary.controller.applications import reconcilers
from volary.controller.leadership import context
from volary.controller.planning import projects, replica_assignment
from volary.controller.runs import moves, releases
from volary.controller.status import application_statuses, run_requests
from volary.model.fleet import cluster_health
from volary.placement.failover import decisions, rebalance
from volary.store import records

KIND = "rebalance"


@dataclass(frozen=True, slots=True)
class KnownClusters:
    """What is known of the clusters."""

    clusters: Mapping[str, cluster_health.ClusterHealth]
    rules: cluster_health.HealthRules


def situation(
    desk: releases.Dependencies,
    project: projects.Project,
    standing: application_statuses.ApplicationStatus,
    known: KnownClusters,
    now: datetime,
) -> decisions.Situation:
    """Return where an application is and could be, without looking at anything."""
    app = project.application
    targets = fleet_checks.deployment_targets(app, desk.clusters.fleet)
    names = tuple(each.name for each in targets)
    chosen = standing.placed.chosen or (() if app.spread else names)
    here = tuple(each for each in chosen if each in names)
    placed = replace(standing.placed, chosen=here)
    has_shares = bool(standing.assigned.workloads) or not replica_assignment.divides_replicas(app)
    return decisions.Situation(
        app, targets, known.clusters, placed, now, known.rules, has_shares=has_shares
    )


async def plan(
    desk: releases.Dependencies,
    place: releases.ApplicationSource,
    running_commit: str,
    standing: application_statuses.ApplicationStatus,
    known: KnownClusters,
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
    commit = moves.completed_commit(standing, running_commit)
    project = await releases.open_application(desk, place, commit)
    looked = situation(desk, project, standing, known, desk.clock.now())
    choice = rebalance.choose(looked)
    if choice.failure or not choice.names:
        raise refusals.conflict(choice.failure or "no cluster that it may be on answers")
    placed = replace(standing, placed=replace(standing.placed, chosen=choice.names))
    numbers = await moves.divide(desk, project, placed, fresh=True)
    before, after = moves.pod_counts(numbers)
    return rebalance.plan(looked, choice, before, after, by=by)


async def carry_out(
    tenure: context.LeaderContext,
    lane: reconcilers.ApplicationReconciler,
    request: records.RequestRecord,
) -> str:
    """Have an application placed anew; returns why not, or nothing.

    Raises:
        errors.UserError: There is no place for it.
        errors.TemporaryError: It cannot be told now.
    """
    before = lane.standing
    if before.move is not None or moves.is_moving(lane.run_under_way):
        return "it is moving already; ask again when that has ended"
    known = KnownClusters(tenure.register.known, tenure.register.rules)
    made = await plan(
        tenure.desk, lane.place, lane.record.running_commit, before, known, by=request.by
    )
    if made.is_empty and not made.leaving and not before.placed.away:
        return "nothing would move: it is where it would be placed anew"
    move = run_requests.RunRequest(
        request.id,
        moves.completed_commit(before, lane.record.running_commit),
        run_requests.RunKind.PLACEMENT,
        made.reason,
        request.at,
        by=request.by,
        shift=made.shift,
    )

    def kept(
        standing: application_statuses.ApplicationStatus,
    ) -> application_statuses.ApplicationStatus:
        if standing.placed != before.placed or standing.move is not None:
            return standing
        placed = decisions.PlacementState(made.chosen, standing.placed.coming, {}, made.leaving)
        return replace(standing, placed=placed, move=None if made.is_empty else move)

    await lane.amend(kept)
    is_taken = made.is_empty or lane.standing.move == move or lane.standing.run == move.id
    return "" if is_taken else "something else moved meanwhile; ask again"
