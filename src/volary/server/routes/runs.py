"""Runs with their stages, tasks, events, logs and approvals."""

from typing import Annotated, Literal

import fastapi
from starlette import requests, responses

from volary.controller.api import representations
from volary.model import statuses
from volary.server import server_state
from volary.server.authorization import access, visibility
from volary.server.http import encoding, paging
from volary.server.permissions import Permission
from volary.server.routes import response_schemas
from volary.store import records

router = response_schemas.router("runs")
Statuses = Annotated[list[statuses.RunStatus], fastapi.Query(max_length=10)]


@router.get("/runs", responses=response_schemas.many(representations.RunSummary))
@access.needs(Permission.VIEW, access.Scope.OWN)
async def list_runs(
    request: requests.Request,
    application: paging.Word = "",
    status: Statuses = [],  # noqa: B006 - read only
    commit: paging.Word = "",
    by: paging.Word = "",
    cluster: paging.Word = "",
    cursor: paging.Cursor = "",
    limit: paging.Limit = 50,
) -> responses.Response:
    """List runs, the newest first; `by`: who asked for them, `cluster`: one that they are about."""
    seen = await visibility.of(request).narrowed(application)
    wanted = records.RunFilter(seen, frozenset(status), commit, by, cluster)
    service = server_state.of(request).service
    page = await service.runs(wanted, cursor=cursor, limit=limit)
    return encoding.many(request, page.items, page.cursor)


@router.get("/runs/{run}", responses=response_schemas.one(representations.Run))
@access.needs(Permission.VIEW, access.Scope.RUN)
async def get_run(request: requests.Request, run: str) -> responses.Response:
    """Show a whole run: why it exists, why it waits, what comes next, what if it fails."""
    return encoding.one(request, await _read(request, run))


async def _read(request: requests.Request, run: str) -> representations.Run:
    here = server_state.of(request)
    return await here.read(("run", run), lambda: here.service.run(run))


def _stages(run: representations.Run) -> tuple[representations.Stage, ...]:
    return (*run.stages, run.rollback) if run.rollback else run.stages


@router.get("/runs/{run}/stages", responses=response_schemas.many(representations.Stage))
@access.needs(Permission.VIEW, access.Scope.RUN)
async def list_stages(
    request: requests.Request,
    run: str,
    status: paging.Word = "",
    cursor: paging.Cursor = "",
    limit: paging.Limit = 50,
) -> responses.Response:
    """List a run's stages in order; a rollback comes last."""
    run_view = await _read(request, run)
    wanted = [stage_view for stage_view in _stages(run_view) if status in ("", stage_view.status)]
    page = paging.cut(wanted, lambda stage_view: stage_view.id, cursor, limit)
    return encoding.many(request, page.items, page.cursor)


@router.get("/runs/{run}/tasks", responses=response_schemas.many(representations.PlacedTask))
@access.needs(Permission.VIEW, access.Scope.RUN)
async def list_tasks(
    request: requests.Request,
    run: str,
    stage: paging.Word = "",
    cluster: paging.Word = "",
    status: paging.Word = "",
    cursor: paging.Cursor = "",
    limit: paging.Limit = 50,
) -> responses.Response:
    """List the tasks of a run, each with the id of its stage."""
    run_view = await _read(request, run)
    wanted = [
        (stage_view.id, task)
        for stage_view in _stages(run_view)
        for task in stage_view.tasks
        if stage in ("", stage_view.id, stage_view.name)
        and cluster in ("", task.target)
        and status in ("", task.status)
    ]
    page = paging.cut(wanted, lambda entry: f"{entry[0]} {entry[1].target}", cursor, limit)
    items = tuple(representations.PlacedTask(name, task) for name, task in page.items)
    return encoding.many(request, items, page.cursor)


@router.get("/runs/{run}/events", responses=response_schemas.many(representations.Event))
@access.needs(Permission.VIEW, access.Scope.RUN)
async def list_events(
    request: requests.Request,
    run: str,
    after: paging.After = 0,
    cursor: paging.Cursor = "",
    limit: paging.Limit = 200,
) -> responses.Response:
    """List a run's events after the one with number `after`, in order."""
    service = server_state.of(request).service
    events = await service.events(run, paging.after(cursor, after), limit=limit)
    follows = paging.next_cursor([event.number for event in events], limit)
    return encoding.many(request, events, follows)


@router.get("/runs/{run}/logs", responses=response_schemas.many(representations.LogLine))
@access.needs(Permission.VIEW, access.Scope.RUN)
async def list_logs(
    request: requests.Request,
    run: str,
    stage: paging.Word = "",
    cluster: paging.Word = "",
    after: paging.After = 0,
    cursor: paging.Cursor = "",
    limit: paging.Limit = 200,
) -> responses.Response:
    """List lines of a run's logs after position `after`, in order."""
    service = server_state.of(request).service
    lines = await service.logs(
        run, stage=stage, target=cluster, after=paging.after(cursor, after), limit=limit
    )
    follows = paging.next_cursor([line.position for line in lines], limit)
    return encoding.many(request, lines, follows)


@router.get("/runs/{run}/findings", responses=response_schemas.many(representations.Finding))
@access.needs(Permission.VIEW, access.Scope.RUN)
async def list_findings(
    request: requests.Request,
    run: str,
    stage: paging.Word = "",
    cluster: paging.Word = "",
    metric: paging.Word = "",
    kind: Annotated[Literal["", "measurement", "verdict"], fastapi.Query()] = "",
    after: paging.After = 0,
    cursor: paging.Cursor = "",
    limit: paging.Limit = 200,
) -> responses.Response:
    """List what a run's analyses measured and concluded after position `after`, in order."""
    service = server_state.of(request).service
    wanted = records.FindingFilter(stage, cluster, metric, kind)
    at = paging.after(cursor, after)
    findings = await service.findings(run, wanted=wanted, after=at, limit=limit)
    follows = paging.next_cursor([finding.position for finding in findings], limit)
    return encoding.many(request, findings, follows)


@router.get("/runs/{run}/approvals", responses=response_schemas.many(representations.Approval))
@access.needs(Permission.VIEW, access.Scope.RUN)
async def list_approvals(
    request: requests.Request,
    run: str,
    cursor: paging.Cursor = "",
    limit: paging.Limit = 50,
) -> responses.Response:
    """List who approved or rejected what, in order."""
    approvals = (await server_state.of(request).service.run(run)).approvals
    keyed = list(enumerate(approvals))
    page = paging.cut(keyed, lambda entry: str(entry[0]), cursor, limit)
    return encoding.many(request, tuple(approval for _, approval in page.items), page.cursor)


@router.get("/approvals", responses=response_schemas.many(representations.Run))
@access.needs(Permission.VIEW, access.Scope.OWN)
async def list_pending_approvals(
    request: requests.Request,
    application: paging.Word = "",
    cursor: paging.Cursor = "",
    limit: Annotated[int, fastapi.Query(ge=1, le=50)] = 20,
) -> responses.Response:
    """List runs that wait for an approval, the newest first."""
    service = server_state.of(request).service
    wanted = records.RunFilter(
        await visibility.of(request).narrowed(application),
        frozenset({statuses.RunStatus.WAITING}),
    )
    while True:
        page = await service.runs(wanted, cursor=cursor, limit=limit)
        runs = [await service.run(item.id) for item in page.items]
        waiting = tuple(run for run in runs if run.pending_approval)
        cursor = page.cursor
        if waiting or not cursor:
            return encoding.many(request, waiting, cursor)
