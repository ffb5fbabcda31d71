"""Commands for applications whose repository or file is gone."""

from starlette import requests, responses

from volary.controller.api import representations
from volary.server import server_state
from volary.server.authorization import access
from volary.server.http import encoding
from volary.server.permissions import Permission
from volary.server.routes import bodies, response_schemas
from volary.server.routes.applications import asker

router = response_schemas.router("applications")
_ACCEPTED = response_schemas.accepted(representations.Accepted)


@router.post("/applications/{application}/adopt", status_code=202, responses=_ACCEPTED)
@access.needs(Permission.ADMINISTER, access.Scope.APPLICATION, action="application.adopt")
async def adopt(
    request: requests.Request, application: str, body: bodies.Adopt
) -> responses.Response:
    """Have an application whose repository is gone go on with its namesake in another one."""
    asked = await server_state.of(request).service.adopt_application(
        application, asker(request), repository=body.repository, reason=body.reason
    )
    return encoding.accepted(request, asked)


@router.post("/applications/{application}/forget", status_code=202, responses=_ACCEPTED)
@access.needs(Permission.ADMINISTER, access.Scope.APPLICATION, action="application.forget")
async def forget(
    request: requests.Request, application: str, body: bodies.Forget
) -> responses.Response:
    """Drop what is kept of an application that is gone; nothing changes in any cluster."""
    service = server_state.of(request).service
    asked = await service.forget_application(application, asker(request), reason=body.reason)
    return encoding.accepted(request, asked)
