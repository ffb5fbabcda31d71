"""How delivery goes: four figures with the runs behind them, and the calendar of closed windows."""

from typing import Annotated

import fastapi
from starlette import requests, responses

from volary.controller.api import insight_representations
from volary.server import server_state
from volary.server.authorization import access, visibility
from volary.server.http import encoding, paging
from volary.server.permissions import Permission
from volary.server.routes import response_schemas

router = response_schemas.router("insights")


@router.get("/insights", responses=response_schemas.one(insight_representations.Insights))
@access.needs(Permission.VIEW, access.Scope.OWN)
async def get_insights(
    request: requests.Request,
    project: paging.Word = "",
    application: paging.Word = "",
    days: Annotated[int, fastapi.Query(ge=1, le=366)] = 30,
) -> responses.Response:
    """Show deployment frequency, lead time, change failure rate and time to restore."""
    visible = await visibility.of(request).narrowed(application)
    insights = server_state.of(request).service.insights
    figures = await insights.delivery(visible, project=project, application=application, days=days)
    return encoding.one(request, figures)


@router.get("/calendar", responses=response_schemas.one(insight_representations.Calendar))
@access.needs(Permission.VIEW, access.Scope.OWN)
async def get_calendar(
    request: requests.Request,
    application: paging.Word = "",
    days: Annotated[int, fastapi.Query(ge=1, le=366)] = 30,
) -> responses.Response:
    """Show when nothing begins where: the closed windows of the next days."""
    visible = await visibility.of(request).narrowed(application)
    calendars = server_state.of(request).service.calendars
    calendar = await calendars.calendar(visible, application=application, days=days)
    return encoding.one(request, calendar)
