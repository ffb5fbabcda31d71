"""Who asks, and the API tokens; what nobody is ever shown again is a token itself."""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Literal

import pydantic
from starlette import requests, responses

from volary.controller import refusals
from volary.controller.api import representations
from volary.model import server_settings
from volary.server import server_state
from volary.server.authentication import tokens
from volary.server.authorization import access, guard
from volary.server.http import encoding, paging
from volary.server.permissions import Permission
from volary.server.routes import bodies, commands, response_schemas

router = response_schemas.router("people")


class RoleGrant(representations.Representation, frozen=True):
    """A role that somebody has."""

    role: str
    #: Labels of the applications that it holds for; empty: all.
    match_labels: Mapping[str, str]
    #: Projects of the applications that it holds for; empty: every one, and what is in none.
    projects: tuple[str, ...]
    #: What the role permits: ``view``, ``deploy``, ``approve``, ``unfreeze``, ``administer``.
    permissions: tuple[str, ...]


class Identity(representations.Representation, frozen=True):
    """Who a request comes from."""

    #: As audit, approvals and roles have it.
    name: str
    #: ``token``, ``oidc``, or ``local``: this machine, without credentials.
    source: str
    roles: tuple[RoleGrant, ...]
    #: When the credentials end; empty: never.
    expires: datetime | None


class ApiToken(representations.Representation, frozen=True):
    """What is known of an API token."""

    id: str
    #: As audit and roles have it, after ``token:``: that of a project's begins with the project.
    name: str
    role: str
    match_labels: Mapping[str, str]
    #: The project whose applications it is for; empty: every one, and what is in none.
    project: str
    #: ``valid``, ``expired`` or ``revoked``.
    status: str
    created: datetime
    expires: datetime | None
    revoked: datetime | None
    #: When this server saw it last, some minutes more or less; empty: not yet.
    last_used: datetime | None


class CreatedToken(representations.Representation, frozen=True):
    """A new API token."""

    id: str
    #: As audit and roles have it, after ``token:``: that of a project's begins with the project.
    name: str
    role: str
    #: The project whose applications it is for; empty: every one, and what is in none.
    project: str
    expires: datetime | None
    #: Shown only now.
    token: str


class CreateToken(bodies.Body):
    """Make an API token."""

    name: Annotated[str, pydantic.StringConstraints(min_length=1, max_length=63)] = pydantic.Field(
        description="As audit and approvals have it, after `token:`; there it begins with the"
        " project, as in `token:shop/ci`."
    )
    role: Literal["viewer", "deployer", "approver", "responder", "admin"] = "viewer"
    match_labels: dict[bodies.Key, bodies.Value] = pydantic.Field(
        {}, max_length=20, description="Labels of the applications it is for; empty: all."
    )
    project: Annotated[str, pydantic.StringConstraints(max_length=63)] = pydantic.Field(
        "",
        description="Project whose applications it is for; empty: every one, which takes somebody "
        "who administers everything.",
    )
    days: Annotated[int, pydantic.Field(ge=1, le=3650)] | None = pydantic.Field(
        None, description="Until it expires; left out: never."
    )


@router.get("/whoami", responses=response_schemas.one(Identity))
@access.needs(Permission.KNOWN)
async def whoami(request: requests.Request) -> responses.Response:
    """Show who you are, your roles, and when your credentials end; needs no role."""
    person = server_state.person(request)
    roles = tuple(
        RoleGrant(
            grant.role.value,
            dict(grant.match_labels),
            grant.projects,
            tuple(permission.value for permission in Permission if permission in grant.permissions),
        )
        for grant in person.grants
    )
    shown = Identity(person.name, person.source.value, roles, person.expires)
    return encoding.one(request, shown)


@router.get("/tokens", responses=response_schemas.many(ApiToken))
@access.needs(Permission.ADMINISTER, access.Scope.PROJECT)
async def list_tokens(
    request: requests.Request, cursor: paging.Cursor = "", limit: paging.Limit = 50
) -> responses.Response:
    """List the API tokens of this server in the order they were made; never the tokens.

    Whoever administers projects sees those of these.
    """
    here, person = server_state.of(request), server_state.person(request)
    authenticator, now = here.authenticator, here.clock.now()
    uses = authenticator.uses.all()
    shown = [
        _shown(token, now, uses)
        for token in authenticator.tokens.all()
        if person.may_in_all_of(Permission.ADMINISTER, token.project)
    ]
    page = paging.cut(shown, lambda token: token.id, cursor, limit)
    return encoding.many(request, page.items, page.cursor)


@router.post(
    "/tokens",
    status_code=201,
    responses={201: response_schemas.one(CreatedToken, "Created")[200]},
)
@access.needs(Permission.ADMINISTER, access.Scope.PROJECT, action="token.create")
async def create_token(request: requests.Request, body: CreateToken) -> responses.Response:
    """Make an API token and show it, this once.

    Whoever administers a project makes tokens of that project.
    """
    here = server_state.of(request)
    _check_project(request, body.project)
    now = here.clock.now()
    document = body.model_dump(by_alias=True, exclude_none=True)
    asker = commands.asker(request)
    async with here.service.audit_trail.noting(
        asker, "token.create", project=body.project, document=document
    ) as change:
        made, written = await asyncio.to_thread(
            here.authenticator.tokens.create,
            body.name,
            server_settings.Role(body.role),
            now=now,
            match_labels=dict(body.match_labels),
            project=body.project,
            expires=now + timedelta(days=body.days) if body.days else None,
        )
        await here.share_tokens()
        change.after = {"id": made.id, "status": made.state(now)}
    shown = CreatedToken(
        made.id, made.full_name, made.role.value, made.project, made.expires, written
    )
    return encoding.one(request, shown, status=201)


def _check_project(request: requests.Request, project: str) -> None:
    """Let somebody make a token of a project, or not: the same whether there is such a project.

    Raises:
        guard.ForbiddenError: They do not administer it.
        refusals.NotFound: There is no such project.
    """
    person = server_state.person(request)
    if not person.may_in_all_of(Permission.ADMINISTER, project):
        wanted = f"tokens of project {project}" if project else "tokens without a project"
        raise guard.ForbiddenError(f"{person.name} may not make {wanted}")
    known = server_state.of(request).service.current_projects()
    if project and not known.unknown and project not in known.by_name:
        raise refusals.not_found("project", project)


@router.post(
    "/tokens/{token:path}/revoke",
    status_code=202,
    responses=response_schemas.accepted(ApiToken),
)
@access.needs(Permission.ADMINISTER, access.Scope.PROJECT, action="token.revoke")
async def revoke_token(request: requests.Request, token: str) -> responses.Response:
    """Revoke an API token, by name or id; effective at once."""
    here, person = server_state.of(request), server_state.person(request)
    kept, now = here.authenticator.tokens, here.clock.now()
    known = [
        each
        for each in kept.all()
        if token in (each.full_name, each.id)
        and not each.revoked
        and person.may_in_all_of(Permission.ADMINISTER, each.project)
    ]
    found = refusals.required(known[-1] if known else None, "token", token)
    asker = commands.asker(request)
    async with here.service.audit_trail.noting(
        asker,
        "token.revoke",
        project=found.project,
        document={"name": found.full_name, "id": found.id},
    ) as change:
        change.before = {"status": found.state(now)}
        await asyncio.to_thread(kept.revoke, found.id, now=now)
        await here.share_tokens()
        change.after = {"status": "revoked"}
    revoked = next(each for each in kept.all() if each.id == found.id)
    shown = _shown(revoked, now, here.authenticator.uses.all())
    return encoding.one(request, shown, status=202)


def _shown(token: tokens.Token, now: datetime, uses: Mapping[str, datetime]) -> ApiToken:
    return representations.build(
        ApiToken,
        token,
        name=token.full_name,
        role=token.role.value,
        status=token.state(now),
        last_used=uses.get(token.id),
    )
