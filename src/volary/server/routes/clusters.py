"""Clusters: how they are."""

from starlette import requests, responses

from volary.controller import refusals
from volary.controller.api import cluster_service
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
    visible = await visibility.of(request).clusters()
    wanted = [
        cluster
        for cluster in visible.of(await server_state.of(request).service.fleet.list())
        if status in ("", cluster.status) and labels <= cluster.labels.items()
    ]
    page = paging.cut(wanted, lambda cluster: cluster.name, cursor, limit)
    return encoding.many(request, page.items, page.cursor)


@router.get("/clusters/{cluster:path}", responses=response_schemas.one(cluster_service.Cluster))
@access.needs(Permission.VIEW, access.Scope.OWN)
async def get_cluster(request: requests.Request, cluster: str) -> responses.Response:
    """Show one cluster: its status, since when, and its taints."""
    visible = await visibility.of(request).clusters()
    found = visible.of([await server_state.of(request).service.fleet.get(cluster)])
    return encoding.one(request, refusals.required(next(iter(found), None), "cluster", cluster))
