"""What people ask of a run."""

import functools

from starlette import requests, responses

from volary.server import server_state
from volary.server.permissions import Permission
from volary.server.routes import bodies, commands, response_schemas

router = response_schemas.router("commands")
_DECISION, _PAUSE, _CANCEL, _RETRY = (
    bodies.Decision(),
    bodies.Pause(),
    bodies.Cancel(),
    bodies.Retry(),
)


async def _ask(
    request: requests.Request, kind: str, run: str, body: bodies.Body | None = None
) -> responses.Response:
    ask = functools.partial(server_state.of(request).service.ask_run, kind)
    return await commands.carry_out(request, ask, run, body)


@commands.command(router, commands.RUN, "approve", Permission.APPROVE)
async def approve(
    request: requests.Request, run: str, body: bodies.Decision = _DECISION
) -> responses.Response:
    """Approve what the run waits for."""
    return await _ask(request, "approve", run, body)


@commands.command(router, commands.RUN, "reject", Permission.APPROVE)
async def reject(
    request: requests.Request, run: str, body: bodies.Decision = _DECISION
) -> responses.Response:
    """Reject what the run waits for; it ends."""
    return await _ask(request, "reject", run, body)


@commands.command(router, commands.RUN, "withdraw", Permission.APPROVE)
async def withdraw(
    request: requests.Request, run: str, body: bodies.Decision = _DECISION
) -> responses.Response:
    """Withdraw your approval before anything has begun."""
    return await _ask(request, "withdraw", run, body)


@commands.command(router, commands.RUN, "promote", Permission.APPROVE)
async def promote(request: requests.Request, run: str, body: bodies.Promote) -> responses.Response:
    """End what the current wave waits for at its end: soak, webhook, analysis; never approvals."""
    return await _ask(request, "promote", run, body)


@commands.command(router, commands.RUN, "unfreeze", Permission.BREAK_GLASS)
async def unfreeze(
    request: requests.Request, run: str, body: bodies.Unfreeze
) -> responses.Response:
    """Let the run change clusters whose windows are closed."""
    return await _ask(request, "unfreeze", run, body)


@commands.command(router, commands.RUN, "pause", Permission.DEPLOY)
async def pause(
    request: requests.Request, run: str, body: bodies.Pause = _PAUSE
) -> responses.Response:
    """Start nothing new until resumed."""
    return await _ask(request, "pause", run, body)


@commands.command(router, commands.RUN, "resume", Permission.DEPLOY)
async def resume(request: requests.Request, run: str) -> responses.Response:
    """Go on after a pause."""
    return await _ask(request, "resume", run)


@commands.command(router, commands.RUN, "cancel", Permission.DEPLOY)
async def cancel(
    request: requests.Request, run: str, body: bodies.Cancel = _CANCEL
) -> responses.Response:
    """End the run, going back or leaving everything as it is."""
    return await _ask(request, "cancel", run, body)


@commands.command(router, commands.RUN, "retry", Permission.DEPLOY)
async def retry(
    request: requests.Request, run: str, body: bodies.Retry = _RETRY
) -> responses.Response:
    """Try again what failed, everywhere or on some clusters."""
    return await _ask(request, "retry", run, body)


@commands.command(router, commands.RUN, "skip", Permission.DEPLOY)
async def skip(request: requests.Request, run: str, body: bodies.Skip) -> responses.Response:
    """Go on without a cluster, or without the rest of a stage that only measures or waits."""
    return await _ask(request, "skip", run, body)
