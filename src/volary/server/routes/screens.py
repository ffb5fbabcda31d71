"""The first screen: what needs a person, and what runs where; and what may be done next."""

import functools
from collections.abc import Hashable

from starlette import requests, responses

from volary.controller.api.screens import (
    action_representations,
    action_service,
    overview,
    overview_representations,
)
from volary.server import server_state
from volary.server.authorization import access, visibility
from volary.server.http import encoding, paging
from volary.server.permissions import Permission
from volary.server.routes import commands, response_schemas
from volary.server.routes.applications import Label, read_labels

router = response_schemas.router("screens")


@router.get("/overview", responses=response_schemas.one(overview_representations.Overview))
@access.needs(Permission.VIEW, access.Scope.OWN)
async def get_overview(request: requests.Request) -> responses.Response:
    """Show what needs a person first, then runs under way, columns and facets."""
    service, audience = server_state.of(request).service, visibility.of(request).audience()
    return encoding.one(request, await service.overview.get(audience))


@router.get(
    "/overview/applications",
    responses=response_schemas.many(overview_representations.ApplicationRow),
)
@access.needs(Permission.VIEW, access.Scope.OWN)
async def list_rows(
    request: requests.Request,
    search: paging.Word = "",
    project: paging.Word = "",
    status: paging.Word = "",
    cluster: paging.Word = "",
    region: paging.Word = "",
    team: paging.Word = "",
    label: Label = [],  # noqa: B006 - read only
    cursor: paging.Cursor = "",
    limit: paging.Limit = 100,
) -> responses.Response:
    """List applications with what of them runs where; trouble first, then what moves, then by name.

    `search` is a part of the name, the project or a label, or the beginning of a commit.
    """
    service, audience = server_state.of(request).service, visibility.of(request).audience()
    labels = tuple(sorted(read_labels(label).items()))
    wanted = overview.Narrowing(search, project, status, team, cluster, region, labels)
    page = await service.overview.rows(audience, wanted, cursor=cursor, limit=limit)
    return encoding.many(request, page.items, page.cursor)


@router.get(
    "/applications/{application}/history",
    responses=response_schemas.many(overview_representations.HistoryEntry),
)
@access.needs(Permission.VIEW, access.Scope.APPLICATION)
async def list_history(
    request: requests.Request,
    application: str,
    cursor: paging.Cursor = "",
    limit: paging.Limit = 50,
) -> responses.Response:
    """List runs of an application, and commits that were refused before one began, newest first.

    Each run with what it left on its clusters, and with going back to it for whoever asks.
    """
    service = server_state.of(request).service.actions
    page = await service.history(application, _permissions(request), cursor=cursor, limit=limit)
    return encoding.many(request, page.items, page.cursor)


@router.get("/runs/{run}/actions", responses=response_schemas.one(action_representations.Actions))
@access.needs(Permission.VIEW, access.Scope.RUN)
async def run_actions(
    request: requests.Request, run: str, cluster: paging.Word = ""
) -> responses.Response:
    """Show what may be done next about a run, or one cluster of it, for whoever asks.

    Each with its consequence; what cannot be done says why.
    """
    here = server_state.of(request)
    service, permissions = here.service.actions, _permissions(request)
    shown = await here.read(
        ("actions", run, cluster, *_viewer(request)),
        lambda: service.of_run(run, permissions, cluster=cluster),
    )
    return encoding.one(request, shown)


@router.get(
    "/applications/{application}/actions",
    responses=response_schemas.one(action_representations.Actions),
)
@access.needs(Permission.VIEW, access.Scope.APPLICATION)
async def application_actions(request: requests.Request, application: str) -> responses.Response:
    """Show what may be done next about an application, for whoever asks."""
    here = server_state.of(request)
    service, permissions = here.service.actions, _permissions(request)
    shown = await here.read(
        ("actions of an application", application, *_viewer(request)),
        lambda: service.of_application(application, permissions),
    )
    return encoding.one(request, shown)


@router.get(
    "/clusters/{cluster:path}/actions",
    responses=response_schemas.one(action_representations.Actions),
)
@access.needs(Permission.VIEW, access.Scope.OWN)
async def cluster_actions(request: requests.Request, cluster: str) -> responses.Response:
    """Show what may be done next about a cluster, for whoever asks."""
    service, audience = server_state.of(request).service, visibility.of(request).audience()
    there = await service.overview.applications_on(audience, cluster)
    made = await service.actions.of_cluster(cluster, _permissions(request), there=there)
    return encoding.one(request, made)


def _viewer(request: requests.Request) -> tuple[Hashable, ...]:
    """Return on what of a person it depends what they may do."""
    person = server_state.person(request)
    return person.name, frozenset(person.grants)


def _permissions(request: requests.Request) -> action_service.Permissions:
    person = server_state.person(request)
    return action_service.Permissions(person.name, functools.partial(commands.why_not, person))
