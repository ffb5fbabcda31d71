"""How an application is on clusters that answer: what its workloads say of themselves."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta

from volary.clusters.apply import live_objects
from volary.clusters.client import client_pool, resource_mapping
from volary.concurrency import fan_out
from volary.controller.planning import opened_applications
from volary.manifests.health import assessment
from volary.manifests.workloads import workloads
from volary.model import errors, statuses
from volary.model.objects import manifest
from volary.sources.rendering import renderers
from volary.stages import executor

_WORST_FIRST = (
    statuses.HealthStatus.DEGRADED,
    statuses.HealthStatus.MISSING,
    statuses.HealthStatus.UNKNOWN,
    statuses.HealthStatus.PROGRESSING,
    statuses.HealthStatus.SUSPENDED,
    statuses.HealthStatus.HEALTHY,
)


async def read_health(
    clusters: client_pool.FleetClients,
    renderer: renderers.Renderer,
    opened: opened_applications.OpenedApplication,
    names: Sequence[str],
    patience: timedelta,
) -> Mapping[str, statuses.HealthStatus]:
    """Return how the application is, of the clusters where that could be seen."""

    async def one(name: str) -> statuses.HealthStatus | None:
        client = await clusters.client(name)
        if isinstance(client, client_pool.Unavailable):
            return None
        try:
            rendered = await renderer.undivided(
                opened.files, opened.application, directory=opened.directory, target=name
            )
            async with asyncio.timeout(patience.total_seconds()):
                placed = await resource_mapping.map_manifests(
                    client, _watched(opened, rendered.manifests), defining=rendered.manifests
                )
                live = await live_objects.read(client, placed.mapped)
        except (errors.VolaryError, TimeoutError):
            return None
        rules = executor.with_rules(opened.application, clusters.fleet).health
        said = [
            assessment.assess(live.get(mapped_manifest.item.key), rules).status
            for mapped_manifest in placed.mapped
        ]
        return next((status for status in _WORST_FIRST if status in said), None)

    answers = await fan_out.run_all(names, one)
    known = zip(names, answers, strict=True)
    return {name: health for name, health in known if health is not None}


def _watched(
    opened: opened_applications.OpenedApplication, manifests: Sequence[manifest.Manifest]
) -> Sequence[manifest.Manifest]:
    if opened.application.rolls_out_service:
        return list(manifests)  # a Service is well whatever it leads to
    return workloads.find(manifests, opened.application.workloads) or list(manifests)
