"""What commands without a server begin with: an application, its fleet, what clusters would get,
and who gets how many replicas.
"""

from collections.abc import Iterable, Mapping, Sequence

from volary.cli import console, renderings
from volary.clusters.client import client_pool
from volary.controller import system_clock
from volary.controller.planning import (
    cluster_questions,
    fleet_shares,
    opened_applications,
    preparation,
    replica_assignment,
    target_selection,
)
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.placement.failover import situations
from volary.placement.replicas import assignment

#: By cluster.
Manifests = Mapping[str, Sequence[manifest.Manifest]]


async def open_inputs(
    request: preparation.RunOptions,
) -> tuple[opened_applications.OpenedApplication, fleets.Fleet]:
    """Open an application and its fleet, and show what is wrong with them.

    Raises:
        errors.UserError: One of them cannot be read.
    """
    opened = await opened_applications.open_application(
        request.path, app=request.app, commit=request.commit
    )
    members = opened_applications.load_fleet(request.fleet, request.contexts)
    problems = (*opened.warnings, *opened_applications.check_fleet(opened, members))
    console.show_problems(console.messages(), problems)
    return opened, members


async def undivided(
    opened: opened_applications.OpenedApplication, targets: Iterable[str]
) -> Manifests:
    """Return the manifests before clusters get anything different.

    Raises:
        errors.UserError: They cannot be rendered.
    """
    renderer = renderings.open_renderer(opened)
    manifests = {}
    for target in targets:
        made = await renderer.undivided(
            opened.files, opened.application, directory=opened.directory, target=target
        )
        manifests[target] = made.manifests
    return manifests


async def rendered(
    opened: opened_applications.OpenedApplication,
    targets: Iterable[str],
    members: fleets.Fleet,
    assigned: assignment.Assignment,
) -> Manifests:
    """Return the manifests as a sync would apply them.

    Raises:
        errors.UserError: They cannot be rendered.
    """
    renderer = renderings.open_renderer(opened)
    manifests = {}
    for target in targets:
        made = await renderer.render(
            opened.files,
            opened.application,
            directory=opened.directory,
            target=target,
            members=members,
            assigned=assigned,
        )
        manifests[target] = made.manifests
    return manifests


async def decide_replicas(
    opened: opened_applications.OpenedApplication, members: fleets.Fleet
) -> replica_assignment.ReplicaNumbers:
    """Return the numbers that a run would bring now; asks the clusters where it has to.

    Raises:
        errors.UserError: There is not enough room, or the manifests cannot be rendered.
    """
    application = opened.application
    if not replica_assignment.divides_replicas(application):
        return replica_assignment.ReplicaNumbers()
    # With the database of earlier runs, which rendering and lint need for nothing else.
    from volary.controller import local_runs

    names = [cluster.name for cluster in target_selection.clusters_of(application, members)]
    shared = await undivided(opened, names)
    over = replica_assignment.members_of(application, members, names, situations.PlacementState())
    request = await local_runs.with_memory(preparation.RunOptions(""), opened, members)
    async with client_pool.open_pool(members, clock=system_clock.SystemClock()) as clusters:
        return await replica_assignment.assign_replicas(
            cluster_questions.ClusterQuestions(clusters),
            application,
            shared,
            over,
            request.assigned,
        )


async def pinned_pipeline(
    opened: opened_applications.OpenedApplication,
    members: fleets.Fleet,
    assigned: assignment.Assignment,
) -> tuple[pipelines.Stage, ...]:
    """Return the stages of the pipeline with the shares of the fleet that a run would bring.

    Raises:
        errors.UserError: A share cannot be reached, or a cluster cannot say what it has.
    """
    application = opened.application
    if not fleet_shares.needs_shares(application.pipeline):
        return application.pipeline
    going = target_selection.clusters_of(application, members)
    names = [cluster.name for cluster in going]
    manifests = await rendered(opened, names, members, assigned)
    async with client_pool.open_pool(members, clock=system_clock.SystemClock()) as clusters:
        counts = await replica_assignment.read_primary_pods(
            cluster_questions.ClusterQuestions(clusters), application, manifests
        )
    return fleet_shares.fix_shares(application, application.pipeline, going, counts)
