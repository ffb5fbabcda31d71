"""Where applications are, what moves them, and having them placed anew."""

from starlette import requests, responses

from volary.controller.api import placement_service, representations
from volary.server import server_state
from volary.server.authorization import access
from volary.server.http import encoding
from volary.server.permissions import Permission
from volary.server.routes import response_schemas
from volary.server.routes.applications import asker

router = response_schemas.router("applications")


@router.get(
    "/applications/{application}/placement",
    responses=response_schemas.one(placement_service.Placement),
)
@access.needs(Permission.VIEW, access.Scope.APPLICATION)
async def get_placement(request: requests.Request, application: str) -> responses.Response:
    """Show which clusters an application is on, what moves, and what a move waits for."""
    service = server_state.of(request).service.placements
    return encoding.one(request, await service.get(application))


@router.post(
    "/applications/{application}/rebalance/plan",
    responses=response_schemas.one(placement_service.Rebalance),
)
@access.needs(Permission.DEPLOY, access.Scope.APPLICATION, action="application.rebalance")
async def plan_rebalance(request: requests.Request, application: str) -> responses.Response:
    """Say what a rebalance would move; changes nothing."""
    service = server_state.of(request).service.placements
    return encoding.one(request, await service.plan(application, asker(request)))


@router.post(
    "/applications/{application}/rebalance",
    status_code=202,
    responses=response_schemas.accepted(representations.Accepted),
)
@access.needs(Permission.DEPLOY, access.Scope.APPLICATION, action="application.rebalance")
async def rebalance(request: requests.Request, application: str) -> responses.Response:
    """Place an application anew: what moved away may come back, replicas are divided anew."""
    service = server_state.of(request).service.placements
    asked = await service.rebalance(application, asker(request))
    return encoding.accepted(request, asked)
