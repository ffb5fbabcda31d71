"""Health, readiness, metrics, the API's own description, and webhooks of Git hosts."""

from typing import Any

from starlette import requests, responses

from volary import secret_files
from volary.controller import refusals
from volary.gitops import webhooks
from volary.model import errors, server_settings
from volary.server import server_state
from volary.server.authentication import logins
from volary.server.authorization import access
from volary.server.http import encoding, problems
from volary.server.permissions import Permission
from volary.server.routes import response_schemas
from volary.store import records

router = response_schemas.router("server", prefix="")
_TEXT: dict[int | str, dict[str, Any]] = {
    200: {"description": "Fine", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


@router.get("/healthz", responses=_TEXT)
@access.needs(Permission.PUBLIC)
async def healthz() -> responses.Response:
    """Say that the process lives."""
    return responses.PlainTextResponse("ok\n")


@router.get("/readyz", responses=_TEXT)
@access.needs(Permission.PUBLIC)
async def readyz(request: requests.Request) -> responses.Response:
    """Say whether requests can be answered: the store works, and the server is not stopping."""
    here = server_state.of(request)
    if here.stopping.is_set():
        raise errors.TemporaryError("the server is stopping")

    async def look() -> errors.TemporaryError | None:
        try:
            await here.service.runs(records.RunFilter(), limit=1)
            here.service.store.check_writes()
        except errors.TemporaryError as error:
            return error
        return None

    # However many ask, the store is asked once at a time.
    found = await here.looks.do("readiness", "readyz", look)
    if found is not None and found.value is not None:
        raise found.value
    return responses.PlainTextResponse("ok\n")


@router.get("/metrics", responses=_TEXT)
@access.needs(Permission.VIEW)
async def metrics(request: requests.Request) -> responses.Response:
    """Show metrics for Prometheus: they name no application, and count all there are."""
    here = server_state.of(request)
    await here.metrics.fleet.take(here.service)
    body = here.metrics.write(here.service.measures.registry)
    return responses.Response(body, media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/api/v1/openapi.json", include_in_schema=False)
@access.needs(Permission.VIEW, access.Scope.OWN)
async def openapi(request: requests.Request) -> responses.Response:
    """Show this API's description."""
    return encoding.answer(request, encoding.encode(request.app.openapi()))


@router.post(
    "/webhooks/{repository}",
    status_code=202,
    responses={202: {"description": "Accepted: the repository is polled soon"}},
)
@access.needs(Permission.PUBLIC)
async def webhook(request: requests.Request, repository: str) -> responses.Response:
    """Receive the push event of a Git host: the repository is polled at once."""
    here = server_state.of(request)
    wanted = _webhook_of(here.settings, repository)
    headers = {key.lower(): value for key, value in request.headers.items()}
    said = webhooks.read(wanted.provider, headers, await request.body(), _secret(wanted))
    if isinstance(said, webhooks.Rejection):
        failed = here.authenticator.failed_webhooks
        wait = failed.count(logins.address_of(request), here.clock.now())
        if wait:
            raise logins.TooManyError(wait)
        return problems.problem(said.status, said.reason)
    here.request_refresh(repository, said)
    return responses.Response(status_code=202)


def _webhook_of(
    settings: server_settings.Settings, repository: str
) -> server_settings.RepositoryWebhook:
    for listed_repository in settings.repositories:
        if listed_repository.name == repository and listed_repository.webhook:
            return listed_repository.webhook
    raise refusals.not_found("webhook", "for this repository")


def _secret(webhook: server_settings.RepositoryWebhook) -> str:
    try:
        return secret_files.read(webhook.secret_file)
    except errors.UserError as error:
        raise errors.TemporaryError("the webhook's secret cannot be read") from error
