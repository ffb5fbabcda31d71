"""Clusters: how they are, and what can be asked for them."""

import functools

from starlette import requests, responses

from volary.controller.api import cluster_service
from volary.server import server_state
from volary.server.authorization import access
from volary.server.http import encoding, paging
from volary.server.permissions import Permission
from volary.server.routes import bodies, commands, response_schemas
from volary.server.routes.applications import Label, read_labels

router = response_schemas.router("clusters")
_REASON = bodies.ClusterReason()


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
    wanted = [
        cluster
        for cluster in await server_state.of(request).service.clusters()
        if status in ("", cluster.status) and labels <= cluster.labels.items()
    ]
    page = paging.cut(wanted, lambda cluster: cluster.name, cursor, limit)
    return encoding.many(request, page.items, page.cursor)


@router.get("/clusters/{cluster:path}", responses=response_schemas.one(cluster_service.Cluster))
@access.needs(Permission.VIEW, access.Scope.OWN)
async def get_cluster(request: requests.Request, cluster: str) -> responses.Response:
    """Show one cluster: its status, since when, and its taints."""
    return encoding.one(request, await server_state.of(request).service.fleet.get(cluster))


async def _ask(
    request: requests.Request, verb: str, cluster: str, body: bodies.ClusterReason
) -> responses.Response:
    ask = functools.partial(server_state.of(request).service.fleet.ask, verb)
    return await commands.carry_out(request, ask, cluster, body)


@commands.command(router, commands.CLUSTER, "cordon", Permission.ADMINISTER)
async def cordon(
    request: requests.Request, cluster: str, body: bodies.ClusterReason = _REASON
) -> responses.Response:
    """Start nothing new in a cluster."""
    return await _ask(request, "cordon", cluster, body)


@commands.command(router, commands.CLUSTER, "drain", Permission.ADMINISTER)
async def drain(
    request: requests.Request, cluster: str, body: bodies.ClusterReason = _REASON
) -> responses.Response:
    """Start nothing new in a cluster, and move what runs there to other clusters."""
    return await _ask(request, "drain", cluster, body)


@commands.command(router, commands.CLUSTER, "uncordon", Permission.ADMINISTER)
async def uncordon(
    request: requests.Request, cluster: str, body: bodies.ClusterReason = _REASON
) -> responses.Response:
    """Let a cluster take part again; releases it missed are backfilled."""
    return await _ask(request, "uncordon", cluster, body)


@commands.command(router, commands.CLUSTER, "taint", Permission.ADMINISTER)
async def taint(request: requests.Request, cluster: str, body: bodies.Taint) -> responses.Response:
    """Taint a cluster, so that applications that do not tolerate the taint stay away."""
    return await _ask(request, "taint", cluster, body)


@commands.command(router, commands.CLUSTER, "untaint", Permission.ADMINISTER)
async def untaint(
    request: requests.Request, cluster: str, body: bodies.Untaint
) -> responses.Response:
    """Remove a taint that was added by hand."""
    service = server_state.of(request).service.fleet
    return await commands.carry_out(request, service.untaint, cluster, body)
