"""Workspaces: how they are on their clusters."""

from msgspec import structs
from starlette import requests, responses

from volary.controller import refusals
from volary.controller.api import workspace_service
from volary.server import server_state
from volary.server.authorization import access, visibility
from volary.server.http import encoding, paging
from volary.server.permissions import Permission
from volary.server.routes import response_schemas

router = response_schemas.router("workspaces")


@router.get("/workspaces", responses=response_schemas.many(workspace_service.Workspace))
@access.needs(Permission.VIEW, access.Scope.OWN)
async def list_workspaces(
    request: requests.Request,
    project: paging.Word = "",
    status: paging.Word = "",
    cursor: paging.Cursor = "",
    limit: paging.Limit = 50,
) -> responses.Response:
    """List the workspaces of the projects that you may view, by name."""
    seen = visibility.of(request)
    clusters = await seen.clusters()
    wanted = [
        _as_seen(workspace, clusters)
        for workspace in await server_state.of(request).service.workspaces.list()
        if seen.can_see_project(workspace.project)
        and project in ("", workspace.project)
        and status in ("", workspace.status)
    ]
    page = paging.cut(wanted, lambda workspace: workspace.name, cursor, limit)
    return encoding.many(request, page.items, page.cursor)


@router.get("/workspaces/{workspace}", responses=response_schemas.one(workspace_service.Workspace))
@access.needs(Permission.VIEW, access.Scope.OWN)
async def get_workspace(request: requests.Request, workspace: str) -> responses.Response:
    """Show one workspace: how it is on each cluster, and what waits to be deleted."""
    found, seen = (
        await server_state.of(request).service.workspaces.get(workspace),
        visibility.of(request),
    )
    if not seen.can_see_project(found.project):
        raise refusals.not_found("workspace", workspace)
    return encoding.one(request, _as_seen(found, await seen.clusters()))


def _as_seen(
    workspace: workspace_service.Workspace, clusters: visibility.VisibleClusters
) -> workspace_service.Workspace:
    """Return a workspace without the clusters that somebody may not see."""
    shown = tuple(each for each in workspace.clusters if clusters.shows(each.cluster))
    return structs.replace(workspace, clusters=shown)
