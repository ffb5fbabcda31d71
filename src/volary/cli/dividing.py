"""Who gets how many replicas, for commands that show manifests without preparing a run."""

from collections.abc import Mapping, Sequence

from volary.clusters import free_capacity, pool
from volary.controller import (
    batching,
    destinations,
    dividing,
    last_success,
    preparation,
    primary_counts,
    projects,
    system_clock,
)
from volary.model import fleet, manifest, stage
from volary.placement import assignment, failover
from volary.sources import render as renderers


async def look(project: projects.Project, members: fleet.Fleet) -> dividing.Numbers:
    """Return the numbers that a run would bring now; asks the clusters where it has to.

    Raises:
        errors.UserError: There is not enough room, or the manifests cannot be rendered.
    """
    application = project.application
    if not dividing.divides(application):
        return dividing.Numbers()
    names = [each.name for each in destinations.going(application, members)]
    undivided = await _undivided(project, names)
    over = dividing.members(application, members, names, failover.Standing())
    key = preparation.memory_key(project, members, names)
    previous = last_success.read_assignment(last_success.path(), key)
    async with pool.open_pool(members, clock=system_clock.SystemClock()) as clusters:
        return await dividing.decide(clusters, application, undivided, over, previous)


async def pinned(
    project: projects.Project, members: fleet.Fleet, assigned: assignment.Assignment
) -> tuple[stage.Stage, ...]:
    """Return the stages of the pipeline with the shares of the fleet that a run would bring.

    Raises:
        errors.UserError: A share cannot be reached, or a cluster does not tell what it has.
    """
    application = project.application
    if not batching.shares(application.pipeline):
        return application.pipeline
    going = destinations.going(application, members)
    renderer = renderers.Renderer()
    manifests = {}
    for each in going:
        rendered = await renderer.render(
            project.files,
            application,
            directory=project.directory,
            target=each.name,
            members=members,
            assigned=assigned,
        )
        manifests[each.name] = rendered.manifests
    async with pool.open_pool(members, clock=system_clock.SystemClock()) as clusters:
        counts = await primary_counts.read(
            clusters, application, manifests, patience=free_capacity.PATIENCE
        )
    return batching.pin(application, application.pipeline, going, counts)


async def _undivided(
    project: projects.Project, names: Sequence[str]
) -> Mapping[str, Sequence[manifest.Manifest]]:
    renderer = renderers.Renderer()
    found = {}
    for name in names:
        rendered = await renderer.undivided(
            project.files, project.application, directory=project.directory, target=name
        )
        found[name] = rendered.manifests
    return found
