"""Runs as charts: what was measured, how traffic moved, and how two runs differ."""

from starlette import requests, responses

from volary.controller.api import analysis_representations
from volary.controller.api.insights import run_marks
from volary.server import server_state
from volary.server.authorization import access
from volary.server.http import encoding, paging
from volary.server.permissions import Permission
from volary.server.routes import response_schemas

router = response_schemas.router("runs")


@router.get(
    "/runs/{run}/analysis", responses=response_schemas.one(analysis_representations.RunAnalysis)
)
@access.needs(Permission.VIEW, access.Scope.RUN)
async def get_analysis(
    request: requests.Request, run: str, stage: paging.Word = "", cluster: paging.Word = ""
) -> responses.Response:
    """Show what the analyses of a run measured over time, with bounds and verdicts."""
    insights = server_state.of(request).service.insights
    return encoding.one(request, await insights.analysis(run, stage=stage, cluster=cluster))


@router.get(
    "/runs/{run}/traffic", responses=response_schemas.one(analysis_representations.RunTraffic)
)
@access.needs(Permission.VIEW, access.Scope.RUN)
async def get_traffic(request: requests.Request, run: str) -> responses.Response:
    """Show how a run moved traffic: wanted and observed, by cluster."""
    insights = server_state.of(request).service.insights
    return encoding.one(request, await insights.traffic(run))


@router.get("/runs/{run}/marks", responses=response_schemas.one(run_marks.RunMarks))
@access.needs(Permission.VIEW, access.Scope.RUN)
async def get_marks(request: requests.Request, run: str) -> responses.Response:
    """Show what marks a run's time line: decisions, traffic, verdicts, clusters lost and back."""
    insights = server_state.of(request).service.insights
    return encoding.one(request, await insights.marks(run))


@router.get(
    "/runs/{run}/comparison", responses=response_schemas.one(analysis_representations.RunComparison)
)
@access.needs(Permission.VIEW, access.Scope.RUN)
async def get_comparison(
    request: requests.Request, run: str, before: paging.Word
) -> responses.Response:
    """Compare a run with an earlier one of the same application."""
    insights = server_state.of(request).service.insights
    return encoding.one(request, await insights.comparison(run, before))
