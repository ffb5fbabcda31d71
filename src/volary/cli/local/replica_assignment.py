"""Who gets how many replicas, for commands that show manifests without preparing a run."""

from volary.cli.local import inputs as local_inputs
from volary.clusters.client import client_pool
from volary.clusters.observe import free_capacity
from volary.controller import inputs, local_runs
from volary.controller.planning import (
    fleet_shares,
    preparation,
    projects,
    replica_assignment,
    target_selection,
)
from volary.model.fleet import fleets
from volary.model.pipeline import pipelines
from volary.placement.failover import decisions
from volary.placement.replicas import assignment


async def decide(
    project: projects.Project, members: fleets.Fleet
) -> replica_assignment.ReplicaNumbers:
    """Return the numbers that a run would bring now; asks the clusters where it has to.

    Raises:
        errors.UserError: There is not enough room, or the manifests cannot be rendered.
    """
    application = project.application
    if not replica_assignment.divides_replicas(application):
        return replica_assignment.ReplicaNumbers()
    names = [cluster.name for cluster in target_selection.clusters_of(application, members)]
    undivided = await local_inputs.undivided(project, names)
    over = replica_assignment.members_of(application, members, names, decisions.PlacementState())
    request = await local_runs.with_memory(preparation.RunOptions(""), project, members)
    async with client_pool.open_pool(members, clock=inputs.SystemClock()) as clusters:
        return await replica_assignment.assign_replicas(
            clusters, application, undivided, over, request.assigned
        )


async def pinned_pipeline(
    project: projects.Project, members: fleets.Fleet, assigned: assignment.Assignment
) -> tuple[pipelines.Stage, ...]:
    """Return the stages of the pipeline with the shares of the fleet that a run would bring.

    Raises:
        errors.UserError: A share cannot be reached, or a cluster cannot say what it has.
    """
    application = project.application
    if not fleet_shares.needs_shares(application.pipeline):
        return application.pipeline
    going = target_selection.clusters_of(application, members)
    names = [cluster.name for cluster in going]
    manifests = await local_inputs.rendered(project, names, members, assigned)
    async with client_pool.open_pool(members, clock=inputs.SystemClock()) as clusters:
        counts = await replica_assignment.read_primary_pods(
            clusters, application, manifests, patience=free_capacity.PATIENCE
        )
    return fleet_shares.fix_shares(application, application.pipeline, going, counts)
