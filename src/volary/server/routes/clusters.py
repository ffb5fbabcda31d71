"""Clusters: how they are, and what can be asked for them."""

from starlette import requests, responses

from volary.controller import cluster_views
from volary.model import taints
from volary.server import access, cluster_bodies, encoding, paging, surroundings
from volary.server.permissions import Permission
from volary.server.routes import answers
from volary.server.routes.applications import Label, asker, read_labels

router = answers.router("clusters")
_TAKEN = answers.taken(cluster_views.ClusterView)
_REASON = cluster_bodies.Reason()


@router.get("/clusters", responses=answers.many(cluster_views.ClusterView))
@access.needs(Permission.VIEW, access.Scope.OWN)
async def list_clusters(
    request: requests.Request,
    label: Label = [],  # noqa: B006 - read only
    status: paging.Word = "",
    cursor: paging.Cursor = "",
    limit: paging.Limit = 50,
) -> responses.Response:
    """List the registered clusters, in the fleet's order."""
    labels = read_labels(label).items()
    wanted = [
        each
        for each in await surroundings.of(request).service.clusters()
        if status in ("", each.status) and labels <= each.labels.items()
    ]
    page = paging.cut(wanted, lambda each: each.name, cursor, limit)
    return encoding.many(request, page.items, page.cursor)


@router.get("/clusters/{cluster:path}", responses=answers.one(cluster_views.ClusterView))
@access.needs(Permission.VIEW, access.Scope.OWN)
async def get_cluster(request: requests.Request, cluster: str) -> responses.Response:
    """Show one cluster: how it is and since when, and what marks it."""
    return encoding.one(request, await surroundings.of(request).service.fleet.get(cluster))


@router.post("/clusters/{cluster:path}/cordon", status_code=202, responses=_TAKEN)
@access.needs(Permission.ADMINISTER, action="cluster.cordon")
async def cordon(
    request: requests.Request, cluster: str, body: cluster_bodies.Reason = _REASON
) -> responses.Response:
    """Have nothing new begin in a cluster."""
    service = surroundings.of(request).service.fleet
    return encoding.taken(
        request, await service.cordon(cluster, asker(request), reason=body.reason)
    )


@router.post("/clusters/{cluster:path}/drain", status_code=202, responses=_TAKEN)
@access.needs(Permission.ADMINISTER, action="cluster.drain")
async def drain(
    request: requests.Request, cluster: str, body: cluster_bodies.Reason = _REASON
) -> responses.Response:
    """Have nothing new begin in a cluster, and what runs there moved where it may be."""
    service = surroundings.of(request).service.fleet
    return encoding.taken(request, await service.drain(cluster, asker(request), reason=body.reason))


@router.post("/clusters/{cluster:path}/uncordon", status_code=202, responses=_TAKEN)
@access.needs(Permission.ADMINISTER, action="cluster.uncordon")
async def uncordon(
    request: requests.Request, cluster: str, body: cluster_bodies.Reason = _REASON
) -> responses.Response:
    """Let a cluster take part again; what it missed is caught up."""
    service = surroundings.of(request).service.fleet
    return encoding.taken(
        request, await service.uncordon(cluster, asker(request), reason=body.reason)
    )


@router.post("/clusters/{cluster:path}/taint", status_code=202, responses=_TAKEN)
@access.needs(Permission.ADMINISTER, action="cluster.taint")
async def taint(
    request: requests.Request, cluster: str, body: cluster_bodies.Taint
) -> responses.Response:
    """Mark a cluster, so that applications that do not tolerate it stay away."""
    mark = taints.Taint(body.key, body.value, taints.Effect(body.effect), reason=body.reason)
    service = surroundings.of(request).service.fleet
    return encoding.taken(request, await service.taint(cluster, asker(request), mark))


@router.post("/clusters/{cluster:path}/untaint", status_code=202, responses=_TAKEN)
@access.needs(Permission.ADMINISTER, action="cluster.untaint")
async def untaint(
    request: requests.Request, cluster: str, body: cluster_bodies.Untaint
) -> responses.Response:
    """Take a mark away that was made by hand."""
    changed = await surroundings.of(request).service.fleet.untaint(
        cluster, asker(request), key=body.key, effect=body.effect, reason=body.reason
    )
    return encoding.taken(request, changed)
