"""Builds the application: routes, the guard around them, refusals, the description."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastapi
from fastapi import exceptions
from starlette import exceptions as starlette_exceptions

from volary.controller.api import service
from volary.model import clocks, errors, server_settings
from volary.server import metrics, server_state, web_files
from volary.server.authentication import logins, sessions, tokens
from volary.server.authorization import access, guard
from volary.server.connections import bounds, descriptors
from volary.server.http import middleware, openapi, problems
from volary.server.routes import (
    agent_link,
    agent_tasks,
    agents,
    analyses,
    applications,
    browser_logins,
    clusters,
    commands,
    drift,
    insights,
    livestate,
    operations,
    overview,
    people,
    projects,
    runs,
    screens,
    servers,
    streaming,
    workers,
    workspaces,
)
from volary.server.routes import web as web_routes

#: Every route there is.
ROUTERS = (
    operations.router,
    screens.router,
    applications.router,
    livestate.router,
    drift.router,
    runs.router,
    analyses.router,
    # Before the clusters: their names may hold slashes, so that they take every path.
    insights.router,
    agents.router,
    workers.router,
    clusters.router,
    projects.router,
    workspaces.router,
    servers.router,
    commands.router,
    overview.router,
    people.router,
    browser_logins.router,
    browser_logins.pages,
    streaming.router,
    agent_link.router,
    agent_tasks.router,
    # Last: it takes every path that is left.
    web_routes.router,
)


def build(
    backing: service.Service,
    settings: server_settings.Settings,
    kept: tokens.TokenFile,
    clock: clocks.Clock,
    *,
    request_refresh: server_state.RequestRefresh,
    patience: server_state.StreamTimeouts | None = None,
    allowance: bounds.Bounds | None = None,
    web: Path | None = None,
    servers: Callable[[], int] = lambda: 1,
) -> fastapi.FastAPI:
    """Return the application, ready to be served.

    Args:
        backing: Does what people ask for.
        settings: Who is let in, which webhooks there are.
        kept: The API tokens.
        clock: Judges whether tokens have expired.
        request_refresh: Told that a repository may have changed.
        patience: How long streams wait.
        allowance: What connections may take; None: as the settings and the descriptors that this
            process may have say.
        web: Where the web UI was built to; None: where it is installed, or in this checkout.
        servers: Says how many servers of this database there are.

    Raises:
        access.UndeclaredError: A route does not say who may use it.
        errors.UserError: It would stand open to other machines, or the UI cannot be read.
    """
    here = server_state.ServerState(
        backing,
        settings,
        logins.open_authenticator(
            settings,
            kept,
            clock,
            backing.current_projects,
            sessions.Sessions(backing.store.sessions, settings.auth.sessions, clock),
            servers,
        ),
        clock,
        metrics.Metrics(clock),
        request_refresh,
        allowance or bounds.derive(settings.limits, descriptors.limit()),
        patience or server_state.StreamTimeouts(),
        web_files.load((web or web_files.directory()) if settings.ui else None),
    )
    here.metrics.servers.set_function(servers)
    made = _routed()
    made.state.server_state = here
    _answer_errors(made)
    made.add_middleware(middleware.HttpMiddleware, here=here)
    return made


def document() -> dict[str, Any]:
    """Return the API's OpenAPI document, without a server."""
    return _routed().openapi()


def _routed() -> "_Application":
    made = _Application(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    for router in ROUTERS:
        check(router)
        # As they are: `include_router` would build each anew with the first request, which holds
        # the event loop for fifty milliseconds, and match every path twice.
        made.router.routes += router.routes
    return made


def check(router: fastapi.APIRouter) -> None:
    """Make sure that every route of a router is guarded.

    Raises:
        access.UndeclaredError: One is not.
    """
    for route in router.routes:
        if not isinstance(route, guard.GuardedRoute | guard.AgentSocketRoute):
            raise access.UndeclaredError(f"{route} is not guarded")


class _Application(fastapi.FastAPI):
    """Describes itself by the structs it writes."""

    def openapi(self) -> dict[str, Any]:
        if not self.openapi_schema:
            self.openapi_schema = openapi.describe(self)
        return self.openapi_schema


def _answer_errors(made: fastapi.FastAPI) -> None:
    made.add_exception_handler(errors.VolaryError, problems.refused)
    for refused in (
        logins.UnauthenticatedError,
        logins.TooManyError,
        guard.CrossSiteError,
        guard.ForbiddenError,
    ):
        made.add_exception_handler(refused, problems.unauthorized)
    made.add_exception_handler(exceptions.RequestValidationError, problems.malformed)
    made.add_exception_handler(starlette_exceptions.HTTPException, problems.http)
    made.add_exception_handler(RecursionError, problems.too_deep)
    made.add_exception_handler(Exception, problems.internal_error)
