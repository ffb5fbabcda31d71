"""Where applications are, what moves them, and having them placed anew."""

from starlette import requests, responses

from volary.controller import placement_service, views
from volary.server import access, encoding, surroundings
from volary.server.permissions import Permission
from volary.server.routes import answers
from volary.server.routes.applications import asker

router = answers.router("applications")


@router.get(
    "/applications/{application}/placement",
    responses=answers.one(placement_service.PlacementView),
)
@access.needs(Permission.VIEW, access.Scope.APPLICATION)
async def get_placement(request: requests.Request, application: str) -> responses.Response:
    """Show which clusters an application is on, what moves, and what a move waits for."""
    service = surroundings.of(request).service.placements
    return encoding.one(request, await service.get(application))


@router.post(
    "/applications/{application}/rebalance/plan",
    responses=answers.one(placement_service.RebalanceView),
)
@access.needs(Permission.DEPLOY, access.Scope.APPLICATION, action="application.rebalance")
async def plan_rebalance(request: requests.Request, application: str) -> responses.Response:
    """Say what a rebalance would move; changes nothing."""
    service = surroundings.of(request).service.placements
    return encoding.one(request, await service.plan(application, asker(request)))


@router.post(
    "/applications/{application}/rebalance",
    status_code=202,
    responses=answers.taken(views.AskedView),
)
@access.needs(Permission.DEPLOY, access.Scope.APPLICATION, action="application.rebalance")
async def rebalance(request: requests.Request, application: str) -> responses.Response:
    """Place an application anew: what moved away may come back, replicas are divided anew."""
    service = surroundings.of(request).service.placements
    asked = await service.rebalance(application, asker(request))
    return encoding.taken(request, asked)
