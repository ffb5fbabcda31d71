"""The one authorisation layer: every route goes through it, and denies unless it is allowed."""

import logging
import re
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from fastapi import routing
from starlette import requests, responses, websockets

from volary.controller import refusals
from volary.model import errors, identities
from volary.server import permissions, server_state
from volary.server.authentication import cross_site, logins, sessions
from volary.server.authorization import access
from volary.store import records

_LOG = logging.getLogger(__name__)
Handler = Callable[[requests.Request], Coroutine[Any, Any, responses.Response]]
SocketHandler = Callable[[websockets.WebSocket], Coroutine[Any, Any, None]]
ANONYMOUS = permissions.Person("nobody")
#: Names of applications and ids of runs; anything else is not looked up at all.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
#: Contexts have odd names, with colons and slashes.
_CLUSTER = re.compile(r"[^\s,\x00-\x1f\x7f]{1,253}")
#: A token by its id or its name, which begins with its project where it has one.
_TOKEN = re.compile(rf"(?:{_NAME.pattern}/)?{_NAME.pattern}")
_FORMS = {"cluster": _CLUSTER, "token": _TOKEN}


#: Without a role.
_OPEN = frozenset({permissions.Permission.PUBLIC, permissions.Permission.KNOWN})


class ForbiddenError(Exception):
    """We know who this is, and they may not."""


class CrossSiteError(Exception):
    """A browser sent it with its cookie, and not one of our pages."""

    def __init__(self) -> None:
        super().__init__("this request does not show that it comes from a page of this server")


class GuardedRoute(routing.APIRoute):
    """A route that checks before anything of the request is read.

    Raises:
        access.UndeclaredError: When made of a function that declares no permission.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
        self.access = access.of(endpoint)
        super().__init__(path, endpoint, **more)

    def get_route_handler(self) -> Handler:
        """Return the handler with the check before it."""
        handle = super().get_route_handler()

        async def guarded(request: requests.Request) -> responses.Response:
            request.state.access = self.access
            await authorize(request, self.access)
            answer = await handle(request)
            _renew(request, answer)
            return answer

        return guarded


class AgentSocketRoute(routing.APIWebSocketRoute):
    """A WebSocket of agents, and of nobody else: checked before it is accepted.

    The function under it gets the socket of an agent that is known; a browser never gets there.
    """

    def __init__(self, path: str, endpoint: SocketHandler, **more: Any) -> None:
        async def guarded(websocket: websockets.WebSocket) -> None:
            try:
                websocket.state.agent = await _agent_of(websocket)
            except _DENIED as error:
                await deny(websocket, _status(error), str(error))
                return
            await endpoint(websocket)

        super().__init__(path, guarded, **more)


async def deny(websocket: websockets.WebSocket, status: int, why: str) -> None:
    """Answer whoever wants a WebSocket that there will be none; the connection ends with it."""
    answer = responses.Response(why, status, {"connection": "close"}, media_type="text/plain")
    await websocket.send_denial_response(answer)


async def _agent_of(websocket: websockets.WebSocket) -> records.AgentRecord:
    if "origin" in websocket.headers:
        raise CrossSiteError
    return await identify_agent(websocket)


_DENIED = (
    CrossSiteError,
    logins.UnauthenticatedError,
    logins.TooManyError,
    errors.TemporaryError,
)


def _status(error: BaseException) -> int:
    match error:
        case CrossSiteError():
            return 403
        case logins.TooManyError():
            return 429
        case errors.TemporaryError():
            return 503
        case _:
            return 401


async def authorize(request: requests.Request, needed: access.Access) -> None:
    """Let a request pass, or not.

    Raises:
        authentication.UnauthenticatedError: Nobody knows who this is.
        authentication.TooManyError: The address failed too often.
        CrossSiteError: It comes with a cookie, and from elsewhere.
        ForbiddenError: They may not.
        refusals.NotFound: They may not even know that it exists.
    """
    if needed.permission is permissions.Permission.PUBLIC:
        request.state.person = ANONYMOUS
        return
    if needed.permission is permissions.Permission.AGENT:
        agent = request.state.agent = await identify_agent(request)
        request.state.person = permissions.Person(f"{identities.AGENT_PREFIX}{agent.name}")
        return
    here = server_state.of(request)
    person = await identify(request)
    request.state.person = person
    session: sessions.Session | None = getattr(request.state, "session", None)
    if session is not None and cross_site.is_refused(
        request.method, request.headers, session.record.csrf_token
    ):
        here.metrics.denied.inc()
        raise CrossSiteError
    if needed.permission is permissions.Permission.KNOWN:
        return
    try:
        await _check(request, person, needed)
    except (ForbiddenError, refusals.NotFound):
        here.metrics.denied.inc()
        await _audit(request, person, needed)
        raise


async def identify(request: requests.Request) -> permissions.Person:
    """Return who a request comes from; a failed login is counted.

    Raises:
        logins.UnauthenticatedError: Nobody knows who this is.
        logins.TooManyError: The address failed too often, or asks too often.
        errors.TemporaryError: It cannot be said now.
    """
    here = server_state.of(request)
    try:
        return await here.authenticator.identify(request)
    except (logins.UnauthenticatedError, logins.TooManyError):
        if "authorization" in request.headers:
            here.metrics.failed_logins.inc()
            _LOG.warning("a login failed from %s", logins.address_of(request))
        # A cookie that is over is no credentials, so there is a limit for it.
        elif here.has_cookie(request) and (wait := here.anonymous_wait(request)):
            raise logins.TooManyError(timedelta(seconds=wait)) from None
        raise


async def identify_agent(request: requests.HTTPConnection) -> records.AgentRecord:
    """Return the agent that a request comes from; a failed login is counted.

    Raises:
        logins.UnauthenticatedError: It has no token of an agent that is registered now.
        logins.TooManyError: The address failed too often.
        errors.TemporaryError: It cannot be said now.
    """
    here = server_state.of(request)
    presented = logins.bearer(request)
    agent = await here.service.agents.registry.authenticate(presented)
    if agent is not None:
        return agent
    here.metrics.failed_logins.inc()
    _LOG.warning("an agent's login failed from %s", logins.address_of(request))
    here.authenticator.count_failure(request)
    raise logins.UnauthenticatedError("the agent's token is not known, was replaced or revoked")


def _renew(request: requests.Request, answer: responses.Response) -> None:
    """Have the browser keep the new secret of its session, where it was changed."""
    session: sessions.Session | None = getattr(request.state, "session", None)
    here = server_state.of(request)
    if session is not None and session.renewed:
        left = session.record.expires - here.clock.now()
        here.authenticator.browser_cookies.session.set(answer, session.renewed, left)


async def check_again(request: requests.Request) -> bool:
    """Say whether somebody who was let in still may; for answers that go on for long.

    The request has who they are now: roles may have changed, and credentials ended.

    Raises:
        errors.TemporaryError: It cannot be said now.
    """
    needed: access.Access = request.state.access
    try:
        person = await server_state.of(request).authenticator.identify(request)
        request.state.person = person
        if needed.permission not in _OPEN:
            await _check(request, person, needed, again=True)
    except (logins.UnauthenticatedError, logins.TooManyError, ForbiddenError, refusals.NotFound):
        return False
    return True


async def _check(
    request: requests.Request,
    person: permissions.Person,
    needed: access.Access,
    *,
    again: bool = False,
) -> None:
    for kind, value in request.path_params.items():
        if not _FORMS.get(kind, _NAME).fullmatch(str(value)):
            raise refusals.not_found(kind, "of this name")
    if person.may_everywhere(needed.permission):
        return
    if not person.may_somewhere(permissions.Permission.VIEW):
        raise ForbiddenError(f"{person.name} has no role here")
    if needed.scope is access.Scope.EVERYTHING:
        raise ForbiddenError(why_not(person, needed.permission))
    if needed.scope is access.Scope.OWN:
        if not person.may_somewhere(needed.permission):
            raise ForbiddenError(why_not(person, needed.permission))
        return
    if needed.scope is access.Scope.PROJECT:
        if not person.projects(needed.permission):
            raise ForbiddenError(why_not(person, needed.permission))
        return
    await _check_resource(request, person, needed, again=again)


async def _check_resource(
    request: requests.Request,
    person: permissions.Person,
    needed: access.Access,
    *,
    again: bool,
) -> None:
    """Let a request pass that is about an application or a run, or not."""
    try:
        here, key = server_state.of(request), ("subject", *_resource_of(request, needed.scope))
        # Those who are let in for long are all looked at again at the same time.
        read = here.reads.read if again else here.read
        subject = await read(key, lambda: _subject(request, needed.scope))
    except refusals.NotFound:
        if await _is_repetition(request, person, needed):
            return
        raise
    if not person.may(permissions.Permission.VIEW, subject):
        raise refusals.not_found(*_resource_of(request, needed.scope))
    if not person.may(needed.permission, subject):
        raise ForbiddenError(why_not(person, needed.permission))


async def _is_repetition(
    request: requests.Request, person: permissions.Person, needed: access.Access
) -> bool:
    """Say whether a person asks again, under their key, for what made an application go.

    Nothing else can be asked for under that key, and the answer is the one they were given.
    """
    if needed.scope is not access.Scope.APPLICATION or not needed.action:
        return False
    client, key = server_state.of(request).service.asker, request.headers.get("idempotency-key", "")
    return person.may_somewhere(needed.permission) and await client.has_asked(
        person.name, key, request.path_params["application"]
    )


def why_not(person: permissions.Person, permission: permissions.Permission) -> str:
    """Return what somebody is told who has not got a permission."""
    return f"{person.name} may not {permission.value} here"


def _resource_of(request: requests.Request, scope: access.Scope) -> tuple[str, str]:
    kind = "application" if scope is access.Scope.APPLICATION else "run"
    return kind, request.path_params[kind]


async def _subject(request: requests.Request, scope: access.Scope) -> permissions.Subject:
    service, (_, name) = server_state.of(request).service, _resource_of(request, scope)
    if scope is access.Scope.RUN:
        name = (await service.run_summary(name)).application
    known = await service.application(name)
    return permissions.Subject(known.labels, known.project)


async def _audit(
    request: requests.Request, person: permissions.Person, needed: access.Access
) -> None:
    """Write a denied request into the audit; that it cannot be written does not let anybody in."""
    if not needed.action:
        return
    here = server_state.of(request)
    entry = records.AuditRecord(
        at=here.clock.now(),
        by=person.name,
        action=needed.action,
        result="denied",
        source=logins.address_of(request),
        application=request.path_params.get("application", ""),
        run_id=request.path_params.get("run", ""),
        document={
            name: request.path_params[name]
            for name in ("cluster", "token", "workspace")
            if name in request.path_params
        },
    )
    try:
        await here.service.audit_trail.write(entry)
    except errors.TemporaryError as error:
        _LOG.warning("a denial could not be written into the audit: %s", error)
