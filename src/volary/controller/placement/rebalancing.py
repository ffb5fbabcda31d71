"""Places an application anew because somebody asks: what would move, and having it moved."""

from collections.abc import Mapping
from dataclasses import replace

from volary.config.crosscheck import fleet_checks
from volary.controller import refusals
from volary.controller.applications import reconcilers
from volary.controller.fleet import cluster_registry
from volary.controller.leadership import context
from volary.controller.planning import opened_applications, replica_assignment
from volary.controller.runs import moves, ready_runs
from volary.controller.status import application_requests, application_statuses, run_requests
from volary.model.fleet import cluster_health
from volary.model.runs import run_records
from volary.placement.failover import rebalance, situations
from volary.store import records
from volary.tenancy import guards

KIND = "rebalance"


def situation(
    dependencies: ready_runs.Dependencies,
    opened: opened_applications.OpenedApplication,
    status: application_statuses.ApplicationStatus,
    known: Mapping[str, cluster_health.ClusterHealth],
    rules: cluster_health.HealthRules,
    *,
    project: str,
) -> situations.Situation:
    """Return where an application is and could be, without looking at anything.

    It could not be where its `project`, by its name, may not deploy.
    """
    app = opened.application
    standing = dependencies.projects().standing(project)
    targets = tuple(
        target
        for target in fleet_checks.deployment_targets(app, dependencies.clusters.fleet)
        if target.name in status.placed.chosen
        or not guards.Guard(lambda: standing, target).refusal_of_cluster()
    )
    names = tuple(target.name for target in targets)
    chosen = status.placed.chosen or (() if app.spread else names)
    here = tuple(cluster_name for cluster_name in chosen if cluster_name in names)
    placed = replace(status.placed, chosen=here)
    divides = replica_assignment.divides_replicas(app)
    has_shares = status.releases.is_divided or not divides
    now = dependencies.clock.now()
    return situations.Situation(app, targets, known, placed, now, rules, has_shares=has_shares)


async def plan(
    dependencies: ready_runs.Dependencies,
    place: ready_runs.ApplicationSource,
    status: application_statuses.ApplicationStatus,
    register: cluster_registry.ClusterRegistry,
    *,
    by: str,
    project: str,
) -> rebalance.Rebalance:
    """Return what a rebalance would do; writes nothing.

    `project` is the name of the application's.

    Raises:
        errors.UserError: There is nothing to place, or no place for it.
        errors.TemporaryError: It cannot be told now.
    """
    commit = status.releases.for_newcomers
    if not commit:
        raise refusals.conflict("no release of it was completed yet: there is nothing to place")
    opened = await ready_runs.open_application(dependencies, place, commit)
    looked = situation(
        dependencies, opened, status, register.known, register.rules, project=project
    )
    choice = rebalance.choose(looked)
    if choice.failure or not choice.names:
        raise refusals.conflict(choice.failure or "no cluster that it may be on answers")
    placed = status.with_placement(replace(status.placed, chosen=choice.names))
    numbers = await moves.divide(dependencies, opened, placed, fresh=True)
    before, after = moves.pod_counts(numbers)
    return rebalance.plan(looked, choice, before, after, by=by)


async def carry_out(
    leader: context.LeaderContext,
    reconciler: reconcilers.ApplicationReconciler,
    request: records.RequestRecord,
) -> str:
    """Have an application placed anew, and answer that in the same step.

    Returns:
        Why not, or nothing.

    Raises:
        fencing.RequestAnswered: It was done, or refused, before.
        errors.UserError: There is no place for it.
        errors.TemporaryError: It cannot be told now.
    """
    before = reconciler.status
    refusal = application_requests.why_not_moved(before, is_moving=reconciler.is_moving)
    if refusal:
        return refusal
    made = await plan(
        leader.dependencies.acting_for(reconciler.record.project),
        reconciler.place,
        before,
        leader.register,
        by=request.by,
        project=reconciler.record.project,
    )
    if made.is_empty and not made.leaving and not before.placed.away:
        return "nothing would move: it is where it would be placed anew"
    move = run_requests.RunRequest(
        request.id,
        before.releases.for_newcomers,
        run_requests.KindName.MOVE,
        made.reason,
        request.at,
        by=request.by,
        shift=made.shift,
    )
    placed = situations.PlacementState(made.chosen, {}, made.leaving)
    wanted = None if made.is_empty else move
    done = run_records.RequestAnswer(request.id, leader.dependencies.clock.now())
    await reconciler.amend(
        lambda status: moves.decided(status, before, placed, wanted), answers=(done,)
    )
    is_taken = made.is_empty or reconciler.status.move == move or reconciler.status.run == move.id
    return "" if is_taken else "something else moved meanwhile; ask again"
