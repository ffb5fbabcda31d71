"""What people ask of a run."""

from starlette import requests, responses

from volary.controller.api import representations
from volary.server import server_state
from volary.server.authorization import access
from volary.server.http import encoding
from volary.server.permissions import Permission
from volary.server.routes import bodies, response_schemas
from volary.server.routes.applications import asker

router = response_schemas.router("commands")
_ACCEPTED = response_schemas.accepted(representations.Accepted)
_DECISION, _PAUSE, _CANCEL, _RETRY = (
    bodies.Decision(),
    bodies.Pause(),
    bodies.Cancel(),
    bodies.Retry(),
)


@router.post("/runs/{run}/approve", status_code=202, responses=_ACCEPTED)
@access.needs(Permission.APPROVE, access.Scope.RUN, action="run.approve")
async def approve(
    request: requests.Request, run: str, body: bodies.Decision = _DECISION
) -> responses.Response:
    """Approve what the run waits for."""
    service = server_state.of(request).service
    return encoding.accepted(
        request, await service.approve(run, asker(request), comment=body.comment)
    )


@router.post("/runs/{run}/reject", status_code=202, responses=_ACCEPTED)
@access.needs(Permission.APPROVE, access.Scope.RUN, action="run.reject")
async def reject(
    request: requests.Request, run: str, body: bodies.Decision = _DECISION
) -> responses.Response:
    """Reject what the run waits for; it ends."""
    service = server_state.of(request).service
    return encoding.accepted(
        request, await service.reject(run, asker(request), comment=body.comment)
    )


@router.post("/runs/{run}/withdraw", status_code=202, responses=_ACCEPTED)
@access.needs(Permission.APPROVE, access.Scope.RUN, action="run.withdraw")
async def withdraw(
    request: requests.Request, run: str, body: bodies.Decision = _DECISION
) -> responses.Response:
    """Withdraw your approval before anything has begun."""
    service = server_state.of(request).service
    return encoding.accepted(
        request, await service.withdraw(run, asker(request), comment=body.comment)
    )


@router.post("/runs/{run}/promote", status_code=202, responses=_ACCEPTED)
@access.needs(Permission.APPROVE, access.Scope.RUN, action="run.promote")
async def promote(request: requests.Request, run: str, body: bodies.Promote) -> responses.Response:
    """End what the current wave waits for at its end: soak, webhook, analysis; never approvals."""
    service = server_state.of(request).service
    asked = await service.promote(run, asker(request), reason=body.reason, wave=body.wave)
    return encoding.accepted(request, asked)


@router.post("/runs/{run}/unfreeze", status_code=202, responses=_ACCEPTED)
@access.needs(Permission.BREAK_GLASS, access.Scope.RUN, action="run.unfreeze")
async def unfreeze(
    request: requests.Request, run: str, body: bodies.Unfreeze
) -> responses.Response:
    """Let the run change clusters whose windows are closed."""
    service = server_state.of(request).service
    return encoding.accepted(
        request, await service.unfreeze(run, asker(request), reason=body.reason)
    )


@router.post("/runs/{run}/pause", status_code=202, responses=_ACCEPTED)
@access.needs(Permission.DEPLOY, access.Scope.RUN, action="run.pause")
async def pause(
    request: requests.Request, run: str, body: bodies.Pause = _PAUSE
) -> responses.Response:
    """Start nothing new until resumed."""
    service = server_state.of(request).service
    return encoding.accepted(request, await service.pause(run, asker(request), reason=body.reason))


@router.post("/runs/{run}/resume", status_code=202, responses=_ACCEPTED)
@access.needs(Permission.DEPLOY, access.Scope.RUN, action="run.resume")
async def resume(request: requests.Request, run: str) -> responses.Response:
    """Go on after a pause."""
    service = server_state.of(request).service
    return encoding.accepted(request, await service.resume(run, asker(request)))


@router.post("/runs/{run}/cancel", status_code=202, responses=_ACCEPTED)
@access.needs(Permission.DEPLOY, access.Scope.RUN, action="run.cancel")
async def cancel(
    request: requests.Request, run: str, body: bodies.Cancel = _CANCEL
) -> responses.Response:
    """End the run, going back or leaving everything as it is."""
    service = server_state.of(request).service
    asked = await service.cancel(
        run, asker(request), rollback=body.rollback, now=body.now, reason=body.reason
    )
    return encoding.accepted(request, asked)


@router.post("/runs/{run}/retry", status_code=202, responses=_ACCEPTED)
@access.needs(Permission.DEPLOY, access.Scope.RUN, action="run.retry")
async def retry(
    request: requests.Request, run: str, body: bodies.Retry = _RETRY
) -> responses.Response:
    """Try again what failed, everywhere or on some clusters."""
    service = server_state.of(request).service
    return encoding.accepted(
        request, await service.retry(run, asker(request), targets=body.targets)
    )


@router.post("/runs/{run}/skip", status_code=202, responses=_ACCEPTED)
@access.needs(Permission.DEPLOY, access.Scope.RUN, action="run.skip")
async def skip(request: requests.Request, run: str, body: bodies.Skip) -> responses.Response:
    """Go on without a cluster, or without the rest of a stage that only measures or waits."""
    service = server_state.of(request).service
    asked = await service.skip(
        run, body.target, asker(request), reason=body.reason, stage=body.stage
    )
    return encoding.accepted(request, asked)
