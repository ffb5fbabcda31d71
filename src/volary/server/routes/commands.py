"""How routes of commands are declared, and carried out by a method of the service."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import fastapi
from starlette import requests, responses

from volary.controller.api import cluster_service, representations
from volary.server import server_state
from volary.server.authentication import logins
from volary.server.authorization import access
from volary.server.http import encoding
from volary.server.permissions import Permission
from volary.server.routes import bodies, response_schemas


@dataclass(frozen=True, slots=True)
class Noun:
    """What commands are about."""

    name: str
    path: str
    scope: access.Scope
    #: What is answered.
    representation: type[representations.Representation] = representations.Accepted


APPLICATION = Noun("application", "/applications/{application}", access.Scope.APPLICATION)
RUN = Noun("run", "/runs/{run}", access.Scope.RUN)
CLUSTER = Noun(
    "cluster", "/clusters/{cluster:path}", access.Scope.EVERYTHING, cluster_service.Cluster
)


def command(
    router: fastapi.APIRouter, noun: Noun, verb: str, permission: Permission
) -> Callable[[access.EndpointT], access.EndpointT]:
    """Declare the route of a command, what it needs, and its name in the audit."""

    def declare(endpoint: access.EndpointT) -> access.EndpointT:
        access.needs(permission, noun.scope, action=f"{noun.name}.{verb}")(endpoint)
        answers = response_schemas.accepted(noun.representation)
        return router.post(f"{noun.path}/{verb}", status_code=202, responses=answers)(endpoint)

    return declare


async def carry_out(
    request: requests.Request,
    method: Callable[..., Awaitable[representations.Representation]],
    name: str,
    body: bodies.Body | None = None,
) -> responses.Response:
    """Ask the service for a command in the name of whoever asks; the body has its options."""
    options = dict(body) if body else {}
    return encoding.accepted(request, await method(name, asker=asker(request), **options))


def asker(request: requests.Request) -> representations.Actor:
    """Return who asks, and from where."""
    return representations.Actor(server_state.person(request).name, logins.address_of(request))
