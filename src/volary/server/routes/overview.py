"""The events of all runs, and the audit."""

from typing import Annotated, Literal

import fastapi
from starlette import requests, responses

from volary.controller.api import representations
from volary.server import server_state
from volary.server.authorization import access, visibility
from volary.server.http import encoding, paging
from volary.server.permissions import Permission
from volary.server.routes import response_schemas
from volary.store import records

#: Which entries come first.
Order = Annotated[
    Literal["newest", "oldest"], fastapi.Query(description="Which come first, newest or oldest.")
]

router = response_schemas.router("overview")


@router.get("/events", responses=response_schemas.many(representations.Event))
@access.needs(Permission.VIEW, access.Scope.OWN)
async def list_events(
    request: requests.Request,
    application: paging.Word = "",
    after: paging.After = 0,
    cursor: paging.Cursor = "",
    limit: paging.Limit = 200,
) -> responses.Response:
    """List events of all runs after position `after`, in order."""
    events = await server_state.of(request).service.all_events(
        paging.after(cursor, after),
        applications=await visibility.of(request).narrowed(application),
        limit=limit,
    )
    follows = paging.next_cursor([event.position for event in events], limit)
    return encoding.many(request, events, follows)


@router.get("/audit", responses=response_schemas.many(representations.AuditEntry))
@access.needs(Permission.ADMINISTER, access.Scope.PROJECT)
async def list_audit(
    request: requests.Request,
    by: paging.Word = "",
    application: paging.Word = "",
    run: paging.Word = "",
    action: paging.Word = "",
    cluster: paging.Word = "",
    order: Order = "newest",
    cursor: paging.Cursor = "",
    limit: paging.Limit = 50,
) -> responses.Response:
    """List who did what, the newest first unless `order` is `oldest`.

    `cluster` is the one that a command named. Whoever administers projects sees what was about
    these.
    """
    person = server_state.person(request)
    everything = person.may_everywhere(Permission.ADMINISTER)
    projects = None if everything else person.projects(Permission.ADMINISTER)
    wanted = records.AuditFilter(by, application, run, action, projects, cluster)
    page = await server_state.of(request).service.audit(
        wanted, oldest_first=order == "oldest", cursor=cursor, limit=limit
    )
    return encoding.many(request, page.items, page.cursor)


@router.get("/audit/head", responses=response_schemas.one(representations.AuditHead))
@access.needs(Permission.ADMINISTER)
async def audit_head(request: requests.Request) -> responses.Response:
    """Show where the audit's chain ends: a position and a hash to note elsewhere."""
    return encoding.one(request, await server_state.of(request).service.audit_head())
