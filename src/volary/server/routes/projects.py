"""Projects: what each team may do, and why something is not permitted."""

from starlette import requests, responses

from volary.controller import refusals
from volary.controller.api import project_service
from volary.model import errors
from volary.server import server_state
from volary.server.authorization import access, visibility
from volary.server.http import encoding, paging
from volary.server.permissions import Permission
from volary.server.routes import response_schemas

router = response_schemas.router("projects")


@router.get("/projects", responses=response_schemas.many(project_service.Project))
@access.needs(Permission.VIEW, access.Scope.OWN)
async def list_projects(
    request: requests.Request, cursor: paging.Cursor = "", limit: paging.Limit = 50
) -> responses.Response:
    """List projects by name."""
    seen = visibility.of(request)
    names = await seen.projects()
    wanted = [
        project
        for project in await server_state.of(request).service.projects.list()
        if names is None or project.name in names
    ]
    page = paging.cut(wanted, lambda project: project.name, cursor, limit)
    return encoding.many(request, page.items, page.cursor)


@router.get("/project-files", responses=response_schemas.one(project_service.ProjectFiles))
@access.needs(Permission.VIEW, access.Scope.OWN)
async def get_project_files(request: requests.Request) -> responses.Response:
    """Say where projects come from; what is wrong with them is told to those who see them all."""
    found = server_state.of(request).service.projects.files()
    if not visibility.of(request).is_unrestricted:
        found = project_service.ProjectFiles(found.in_use, "", "", "", found.unknown)
    return encoding.one(request, found)


@router.get("/projects/{project}", responses=response_schemas.one(project_service.Project))
@access.needs(Permission.VIEW, access.Scope.OWN)
async def get_project(request: requests.Request, project: str) -> responses.Response:
    """Show one project."""
    await _check_visible(request, project)
    return encoding.one(request, await server_state.of(request).service.projects.get(project))


@router.get(
    "/projects/{project}/permission",
    responses=response_schemas.one(project_service.ProjectPermission),
)
@access.needs(Permission.VIEW, access.Scope.OWN)
async def get_permission(
    request: requests.Request,
    project: str,
    application: paging.Word = "",
    kind: paging.Word = "",
    group: paging.Word = "",
    cluster: paging.Word = "",
    namespace: paging.Word = "",
) -> responses.Response:
    """Say whether an application belongs to a project, or it may have objects of a kind."""
    await _check_visible(request, project)
    service = server_state.of(request).service.projects
    if bool(application) == bool(kind):
        raise errors.user_error("an application or a kind is asked about, one of them")
    if application:
        if not await visibility.of(request).can_see(application):
            raise refusals.not_found("application", application)
        found = await service.explain_application(project, application)
    else:
        found = service.explain_object(project, group, kind, cluster=cluster, namespace=namespace)
    return encoding.one(request, found)


async def _check_visible(request: requests.Request, project: str) -> None:
    """Let a request pass about a project that may be seen.

    Raises:
        refusals.NotFound: It may not even be known to exist.
    """
    names = await visibility.of(request).projects()
    if names is not None and project not in names:
        raise refusals.not_found("project", project)
