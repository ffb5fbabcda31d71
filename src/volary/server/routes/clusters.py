"""Clusters: how they are."""

from collections import Counter
from typing import Annotated, Literal

import fastapi
from msgspec import structs
from starlette import requests, responses

from volary.controller import refusals
from volary.controller.api import cluster_service, placement_service
from volary.server import server_state
from volary.server.authorization import access, visibility
from volary.server.http import encoding, paging
from volary.server.permissions import Permission
from volary.server.routes import response_schemas
from volary.server.routes.applications import Label, read_labels

router = response_schemas.router("clusters")


@router.get("/clusters", responses=response_schemas.many(cluster_service.Cluster))
@access.needs(Permission.VIEW, access.Scope.OWN)
async def list_clusters(
    request: requests.Request,
    label: Label = [],  # noqa: B006 - read only
    status: paging.Word = "",
    cursor: paging.Cursor = "",
    limit: paging.Limit = 50,
) -> responses.Response:
    """List the registered clusters, in the order of the fleet."""
    labels = read_labels(label).items()
    person = visibility.of(request)
    visible = await person.clusters()
    wanted = [
        cluster
        for cluster in visible.of(await server_state.of(request).service.fleet.list())
        if status in ("", cluster.status) and labels <= cluster.labels.items()
    ]
    page = paging.cut(wanted, lambda cluster: cluster.name, cursor, limit)
    counts = await _application_counts(request, person)
    counted = tuple(
        structs.replace(cluster, applications=counts[cluster.name]) for cluster in page.items
    )
    return encoding.many(request, counted, page.cursor)


async def _application_counts(
    request: requests.Request, person: visibility.Visibility
) -> Counter[str]:
    """Return how many applications are on each cluster, of those that may be seen."""
    counts: Counter[str] = Counter()
    here = server_state.of(request)
    everywhere = await here.read("applications by cluster", here.service.applications_by_cluster)
    for application, clusters in everywhere:
        if person.shows(application):
            counts.update(clusters)
    return counts


# Before the cluster itself, whose name takes every path.
@router.get(
    "/clusters/{cluster:path}/applications",
    responses=response_schemas.many(cluster_service.ClusterApplication),
)
@access.needs(Permission.VIEW, access.Scope.OWN)
async def list_cluster_applications(
    request: requests.Request,
    cluster: str,
    cursor: paging.Cursor = "",
    limit: paging.Limit = 50,
) -> responses.Response:
    """List what runs on a cluster, by name."""
    here, person = server_state.of(request), visibility.of(request)
    service = here.service
    visible = (await person.clusters()).of([await service.fleet.get(cluster)])
    refusals.required(next(iter(visible), None), "cluster", cluster)
    everyone = await here.read(
        ("applications on", cluster), lambda: service.applications_on(cluster)
    )
    there = [shown for application, shown in everyone if person.shows(application)]
    page = paging.cut(there, lambda shown: shown.name, cursor, limit)
    brought = await service.overview.commits_brought(cluster, [shown.name for shown in page.items])
    items = tuple(
        structs.replace(shown, commit=brought.get(shown.name, shown.commit)) for shown in page.items
    )
    return encoding.many(request, items, page.cursor)


@router.get(
    "/clusters/{cluster:path}/preview",
    responses=response_schemas.one(placement_service.ClusterPreview),
)
@access.needs(Permission.VIEW, access.Scope.OWN)
async def preview_cluster(
    request: requests.Request,
    cluster: str,
    action: Annotated[Literal["cordon", "drain"], fastapi.Query()] = "drain",
) -> responses.Response:
    """Show what cordoning or draining a cluster would do to the applications there."""
    service, person = server_state.of(request).service, visibility.of(request)
    visible = (await person.clusters()).of([await service.fleet.get(cluster)])
    refusals.required(next(iter(visible), None), "cluster", cluster)
    names = [
        shown.name
        for application, shown in await service.applications_on(cluster)
        if person.shows(application)
    ]
    return encoding.one(request, await service.placements.preview(action, cluster, names))


@router.get("/clusters/{cluster:path}", responses=response_schemas.one(cluster_service.Cluster))
@access.needs(Permission.VIEW, access.Scope.OWN)
async def get_cluster(request: requests.Request, cluster: str) -> responses.Response:
    """Show one cluster: its status, since when, and its taints."""
    person = visibility.of(request)
    visible = await person.clusters()
    found = visible.of([await server_state.of(request).service.fleet.get(cluster)])
    shown = refusals.required(next(iter(found), None), "cluster", cluster)
    counts = await _application_counts(request, person)
    return encoding.one(request, structs.replace(shown, applications=counts[cluster]))
