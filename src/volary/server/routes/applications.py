"""Applications: how they are and where, their commits, and what a sync would do."""

from typing import Annotated

import fastapi
from starlette import requests, responses

from volary.controller.api import (
    placement_service,
    plan_representations,
    representations,
    status_representations,
)
from volary.controller.api.screens import rollback_previews
from volary.controller.status import application_statuses
from volary.model import errors
from volary.server import server_state
from volary.server.authorization import access, visibility
from volary.server.http import encoding, paging
from volary.server.permissions import Permission
from volary.server.routes import bodies, commands, response_schemas
from volary.store import pagination, records

router = response_schemas.router("applications")
_PLAN = bodies.PlanRequest()
Status = Annotated[
    paging.Word,
    fastapi.Query(
        description=f"{', '.join(f'``{word}``' for word in application_statuses.StatusWord)}."
        " ``suspended``: its file holds it back, as a suspended policy does."
    ),
]
Label = Annotated[
    list[Annotated[str, fastapi.Path(max_length=320, pattern=r"^[^\x00-\x1f\x7f]*$")]],
    fastapi.Query(max_length=20, description="``key=value``; all must be there."),
]


@router.get("/applications", responses=response_schemas.many(representations.Application))
@access.needs(Permission.VIEW, access.Scope.OWN)
async def list_applications(
    request: requests.Request,
    label: Label = [],  # noqa: B006 - read only
    status: Status = "",
    repository: paging.Word = "",
    project: paging.Word = "",
    removed: bool = False,
    cursor: paging.Cursor = "",
    limit: paging.Limit = 50,
) -> responses.Response:
    """List applications by name; those whose file went away when asked for, also by status."""
    seen, here = visibility.of(request), server_state.of(request)
    with_removed = removed or status == application_statuses.StatusWord.REMOVED
    wanted = records.ApplicationFilter(
        read_labels(label), status, repository, project, with_removed=with_removed
    )
    narrowing = (tuple(label), status, repository, project, with_removed)

    async def read(cursor: str, limit: int) -> records.Page[representations.Application]:
        return await here.read(
            ("applications", *narrowing, cursor, limit),
            lambda: here.service.applications(wanted, cursor=cursor, limit=limit),
        )

    if seen.is_unrestricted:
        page = await read(cursor, limit)
        return encoding.many(request, page.items, page.cursor)
    shown: list[representations.Application] = []
    # One more than the page holds tells that there is another; where it begins is named by the
    # last that is shown, never by one that is not.
    while len(shown) <= limit:
        page = await read(cursor, limit + 1)
        shown += filter(seen.shows, page.items)
        cursor = page.cursor
        if not cursor:
            break
    cut = pagination.cut(shown, limit, lambda item: (item.name,))
    return encoding.many(request, cut.items, cut.cursor)


def read_labels(given: list[str]) -> dict[str, str]:
    """Read ``key=value`` pairs.

    Raises:
        errors.UserError: One is none.
    """
    pairs = {}
    for label in given:
        key, equals, value = label.partition("=")
        if not key or not equals:
            raise errors.user_error("a label is not of the form key=value")
        pairs[key] = value
    return pairs


@router.get(
    "/applications/{application}", responses=response_schemas.one(representations.Application)
)
@access.needs(Permission.VIEW, access.Scope.APPLICATION)
async def get_application(request: requests.Request, application: str) -> responses.Response:
    """Show one application."""
    here = server_state.of(request)
    # Apart from what `visibility` reads, to which one that is not there is an answer.
    shown = await here.read(
        ("shown application", application), lambda: here.service.application(application)
    )
    return encoding.one(request, shown)


@router.get(
    "/applications/{application}/status",
    responses=response_schemas.one(status_representations.ApplicationStatus),
)
@access.needs(Permission.VIEW, access.Scope.APPLICATION)
async def get_status(request: requests.Request, application: str) -> responses.Response:
    """Show an application over all its clusters: read now, or at most some seconds ago."""
    service = server_state.of(request).service.statuses
    return encoding.one(request, await service.get(application))


@router.get(
    "/applications/{application}/commits",
    responses=response_schemas.many(representations.Commit),
)
@access.needs(Permission.VIEW, access.Scope.APPLICATION)
async def list_commits(
    request: requests.Request,
    application: str,
    cursor: paging.Cursor = "",
    limit: paging.Limit = 50,
) -> responses.Response:
    """List an application's commits and what became of them, the last seen first."""
    service = server_state.of(request).service
    page = await service.commits(application, cursor=cursor, limit=limit)
    return encoding.many(request, page.items, page.cursor)


@router.get(
    "/applications/{application}/placement",
    responses=response_schemas.one(placement_service.Placement),
)
@access.needs(Permission.VIEW, access.Scope.APPLICATION)
async def get_placement(request: requests.Request, application: str) -> responses.Response:
    """Show which clusters an application is on, what moves, and what a move waits for."""
    service = server_state.of(request).service.placements
    return encoding.one(request, await service.get(application))


@router.post(
    "/applications/{application}/fetch", responses=response_schemas.one(representations.Fetched)
)
@access.needs(Permission.VIEW, access.Scope.APPLICATION)
async def fetch(request: requests.Request, application: str) -> responses.Response:
    """Ask the host of its repository for the branch now; what is new is looked at soon."""
    return encoding.one(request, await server_state.of(request).service.fetch(application))


@router.post(
    "/applications/{application}/plan", responses=response_schemas.one(plan_representations.Plan)
)
@access.needs(Permission.DEPLOY, access.Scope.APPLICATION, action="application.plan")
async def plan(
    request: requests.Request, application: str, body: bodies.PlanRequest = _PLAN
) -> responses.Response:
    """Say what a sync would do; asks the clusters, and changes nothing in them."""
    service, asker = server_state.of(request).service, commands.asker(request)
    return encoding.one(request, await service.plan(application, asker, **dict(body)))


@router.post(
    "/applications/{application}/rollback/plan",
    responses=response_schemas.one(rollback_previews.RollbackPreview),
)
@access.needs(Permission.DEPLOY, access.Scope.APPLICATION, action="application.rollback")
async def plan_rollback(
    request: requests.Request, application: str, body: bodies.RollbackRequest
) -> responses.Response:
    """Say what going back to a commit would change; asks the clusters, and changes nothing."""
    service, asker = server_state.of(request).service, commands.asker(request)
    return encoding.one(request, await service.plan_rollback(application, asker, to=body.to))


@router.post(
    "/applications/{application}/rebalance/plan",
    responses=response_schemas.one(placement_service.Rebalance),
)
@access.needs(Permission.DEPLOY, access.Scope.APPLICATION, action="application.rebalance")
async def plan_rebalance(request: requests.Request, application: str) -> responses.Response:
    """Say what a rebalance would move; changes nothing."""
    service, asker = server_state.of(request).service.placements, commands.asker(request)
    return encoding.one(request, await service.plan(application, asker))
