"""Drift: what in the clusters is not as Git says."""

from starlette import requests, responses

from volary.controller.api import live_representations
from volary.server import server_state
from volary.server.authorization import access
from volary.server.http import encoding, event_streams, paging
from volary.server.permissions import Permission
from volary.server.routes import response_schemas

router = response_schemas.router("drift")


@router.get(
    "/applications/{application}/drift", responses=response_schemas.one(live_representations.Drift)
)
@access.needs(Permission.VIEW, access.Scope.APPLICATION)
async def get_drift(request: requests.Request, application: str) -> responses.Response:
    """Show what in its clusters is not as Git says, who did it, and since when."""
    service = server_state.of(request).service.drift
    return encoding.one(request, await service.get(application))


@router.get("/applications/{application}/drift/stream", responses=response_schemas.stream())
@access.needs(Permission.VIEW, access.Scope.APPLICATION)
async def stream_drift(
    request: requests.Request, application: str, after: paging.After = 0
) -> responses.Response:
    """Follow an application's drift: a ``drift-changed`` event with how it is now, and for changes.

    The first comes at once. The id of each is the version of the application; several changes of a
    moment may be one event, and one may say the same as the one before it.
    """
    service = server_state.of(request).service.drift
    start = event_streams.start_of(request, after)
    await service.change(application)

    async def fetch(at: int, limit: int) -> tuple[list[event_streams.StreamEvent], int]:
        change, version = await service.change(application, at)
        if change is None:
            return [], at
        return [event_streams.StreamEvent(version, "drift-changed", change)], version

    stream = ("drift", application)
    return event_streams.respond(request, event_streams.shared(request, stream, fetch), start)
