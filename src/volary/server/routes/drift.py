"""Drift: what in the clusters is not as Git says."""

from starlette import requests, responses

from volary.controller.api import live_representations
from volary.server import server_state
from volary.server.authorization import access
from volary.server.http import encoding
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
