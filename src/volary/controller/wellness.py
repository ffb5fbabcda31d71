"""How an application is on clusters that answer: what its workloads say of themselves."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta

from volary.clusters import live, placing, pool
from volary.controller import projects
from volary.manifests import health, workloads
from volary.model import errors, manifest
from volary.model import status as words
from volary.sources import render as renderers
from volary.stages import executor

_WORST_FIRST = (
    words.HealthStatus.DEGRADED,
    words.HealthStatus.MISSING,
    words.HealthStatus.UNKNOWN,
    words.HealthStatus.PROGRESSING,
    words.HealthStatus.SUSPENDED,
    words.HealthStatus.HEALTHY,
)


async def look(
    clusters: pool.Pool,
    renderer: renderers.Renderer,
    project: projects.Project,
    names: Sequence[str],
    patience: timedelta,
) -> Mapping[str, words.HealthStatus]:
    """Return how the application is, of the clusters where that could be seen."""

    async def one(name: str) -> words.HealthStatus | None:
        client = await clusters.client(name)
        if isinstance(client, pool.Unavailable):
            return None
        try:
            rendered = await renderer.undivided(
                project.files, project.application, directory=project.directory, target=name
            )
            async with asyncio.timeout(patience.total_seconds()):
                placed = await placing.place(
                    client, _watched(project, rendered.manifests), defining=rendered.manifests
                )
                found = await live.read(client, placed.placed)
        except (errors.VolaryError, TimeoutError):
            return None
        rules = executor.with_rules(project.application, clusters.fleet).health
        said = [health.assess(found.get(each.item.key), rules).status for each in placed.placed]
        return next((each for each in _WORST_FIRST if each in said), None)

    async with asyncio.TaskGroup() as group:
        tasks = {name: group.create_task(one(name)) for name in names}
    return {name: found for name, task in tasks.items() if (found := task.result()) is not None}


def _watched(
    project: projects.Project, manifests: Sequence[manifest.Manifest]
) -> Sequence[manifest.Manifest]:
    if project.application.rolls_out_service:
        return list(manifests)  # a Service is well whatever it leads to
    return workloads.find(manifests, project.application.workloads) or list(manifests)
