"""Builds the application: routes, the guard around them, refusals, the description."""

from typing import Any

import fastapi
from fastapi import exceptions
from prometheus_client import CollectorRegistry
from starlette import exceptions as starlette_exceptions

from volary.controller import refusals, service
from volary.gitops import webhooks
from volary.model import clock as clocks
from volary.model import controller, errors
from volary.server import (
    access,
    authentication,
    border,
    census,
    description,
    guard,
    metrics,
    problems,
    surroundings,
    tokens,
)
from volary.server.routes import (
    applications,
    clusters,
    commands,
    house,
    orphans,
    overview,
    placements,
    runs,
    streaming,
)

#: Every route there is.
ROUTERS = (
    house.router,
    applications.router,
    runs.router,
    commands.router,
    clusters.router,
    placements.router,
    orphans.router,
    overview.router,
    streaming.router,
)


def _nothing(_: str, __: webhooks.Hint) -> None:
    """Look at nothing sooner: there is no watcher."""


def build(
    backing: service.Service,
    settings: controller.Settings,
    kept: tokens.TokenFile,
    clock: clocks.Clock,
    *,
    hasten: surroundings.Hasten = _nothing,
    registry: CollectorRegistry | None = None,
    patience: surroundings.Patience | None = None,
) -> fastapi.FastAPI:
    """Return the application, ready to be served.

    Args:
        backing: Does what people ask for.
        settings: Who is let in, which webhooks there are.
        kept: The API tokens.
        clock: Judges whether tokens have expired.
        hasten: Told that a repository may have changed.
        registry: Other numbers that ``/metrics`` shows as well.
        patience: How long streams wait.

    Raises:
        access.UndeclaredError: A route does not say who may use it.
        errors.UserError: It would stand open to other machines.
    """
    numbers = metrics.Metrics(registry)
    here = surroundings.Surroundings(
        backing,
        settings,
        authentication.open_door(settings, kept, clock),
        clock,
        numbers,
        census.Census(numbers.registry, clock),
        hasten,
        patience or surroundings.Patience(),
    )
    made = _routed()
    made.state.surroundings = here
    _answer_errors(made)
    made.add_middleware(border.Border, here=here)
    return made


def document() -> dict[str, Any]:
    """Return the API's OpenAPI document, without a server."""
    return _routed().openapi()


def _routed() -> "_Application":
    made = _Application(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    for each in ROUTERS:
        check(each)
        made.include_router(each)
    return made


def check(router: fastapi.APIRouter) -> None:
    """Make sure that every route of a router is guarded.

    Raises:
        access.UndeclaredError: One is not.
    """
    for route in router.routes:
        if not isinstance(route, guard.GuardedRoute):
            raise access.UndeclaredError(f"{route} is not guarded")


class _Application(fastapi.FastAPI):
    """Describes itself by the structs it writes."""

    def openapi(self) -> dict[str, Any]:
        if not self.openapi_schema:
            self.openapi_schema = description.describe(self)
        return self.openapi_schema


def _answer_errors(made: fastapi.FastAPI) -> None:
    for kind in (refusals.NotFound, refusals.Conflict, errors.VolaryError):
        made.add_exception_handler(kind, problems.refused)
    strangers = (
        authentication.UnauthenticatedError,
        authentication.TooManyError,
        guard.ForbiddenError,
    )
    for each in strangers:
        made.add_exception_handler(each, problems.not_admitted)
    made.add_exception_handler(exceptions.RequestValidationError, problems.malformed)
    made.add_exception_handler(starlette_exceptions.HTTPException, problems.http)
    made.add_exception_handler(RecursionError, problems.too_deep)
    made.add_exception_handler(Exception, problems.crashed)
