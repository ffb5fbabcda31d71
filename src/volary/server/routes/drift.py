"""Drift: what in the clusters is not as Git says."""

from starlette import requests, responses

from volary.controller.api import live_representations
from volary.model import errors
from volary.server.authorization import access
from volary.server.permissions import Permission
from volary.server.routes import response_schemas

router = response_schemas.router("drift")


@router.get(
    "/applications/{application}/drift", responses=response_schemas.one(live_representations.Drift)
)
@access.needs(Permission.VIEW, access.Scope.APPLICATION)
async def get_drift(request: requests.Request, application: str) -> responses.Response:
    """Show what in its clusters is not as Git says, who did it, and since when."""
    raise errors.TemporaryError("this is not served yet")
