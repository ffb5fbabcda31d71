"""Logins in the browser: with an API token, or at the issuer; and who is logged in."""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any
from urllib import parse

import fastapi
import pydantic
from starlette import requests, responses

from volary import __version__
from volary.controller.api import representations
from volary.model import errors, server_settings
from volary.server import permissions, server_state
from volary.server.authentication import (
    authorization_code,
    cross_site,
    issuer_client,
    issuers,
    logins,
    sessions,
)
from volary.server.authorization import access, guard
from volary.server.http import encoding
from volary.server.permissions import Permission
from volary.server.routes import bodies, response_schemas
from volary.store import records

_LOG = logging.getLogger(__name__)
router = response_schemas.router("logins")
#: Not of the API: what browsers go to.
pages = response_schemas.router("logins", prefix="/auth")
CALLBACK = "/auth/callback"
_ELSEWHERE: dict[int | str, dict[str, Any]] = {303: {"description": "Go on there"}}
#: What issuers send back.
_Sent = Annotated[str, fastapi.Query(max_length=4096)]


class SessionState(representations.Representation, frozen=True):
    """Who is logged in, and how one can log in."""

    authenticated: bool
    #: As audit and roles have it; empty: nobody is logged in.
    name: str
    #: ``token``, ``oidc``, or ``local``: this machine, without credentials; empty: nobody.
    source: str
    #: To be sent as ``X-CSRF-Token`` with every write that comes with the cookie; empty: not
    #: needed.
    csrf_token: str
    #: Ways to log in: ``oidc`` (go to ``/auth/login``) and ``token`` (post it to
    #: ``/auth/token``); ``local``: nobody has to.
    methods: tuple[str, ...]
    #: When the login ends if it is used until then; empty: it does not.
    expires: datetime | None
    #: Of the server; empty as long as nobody is logged in.
    version: str


class TokenLogin(bodies.Body):
    """Log in with an API token."""

    token: Annotated[str, pydantic.StringConstraints(min_length=1, max_length=200)]


@router.get("/session", responses=response_schemas.one(SessionState))
@access.needs(Permission.PUBLIC)
async def show_session(request: requests.Request) -> responses.Response:
    """Show who is logged in, or how one can log in; needs no credentials."""
    return encoding.one(request, await _state_of(request))


@pages.post("/token", responses=response_schemas.one(SessionState))
@access.needs(Permission.PUBLIC)
async def log_in_with_token(request: requests.Request, body: TokenLogin) -> responses.Response:
    """Log in with an API token: the answer has the cookie of a session."""
    here, kept = _sessions(request)
    if cross_site.comes_from_elsewhere(request.headers):
        raise guard.CrossSiteError
    authenticator = here.authenticator
    try:
        login = await authenticator.login_by_token(body.token)
    except logins.UnauthenticatedError:
        here.metrics.failed_logins.inc()
        _LOG.warning("a login failed from %s", logins.address_of(request))
        authenticator.count_failure(request)
        raise
    session = await _begin(request, kept, login)
    return encoding.one(request, _shown(request, authenticator.person_of(session), session))


@pages.get("/login", status_code=303, responses=_ELSEWHERE)
@access.needs(Permission.PUBLIC)
async def log_in_at_issuer(
    request: requests.Request,
    next_page: Annotated[
        str,
        fastapi.Query(alias="next", max_length=1000, description="The page that is shown then."),
    ] = "/",
) -> responses.Response:
    """Go to the issuer to log in there."""
    here, _ = _sessions(request)
    client, oidc = _client(here)
    endpoints = await client.endpoints()
    attempt = authorization_code.begin(here.clock.now(), next_page)
    address = authorization_code.address(
        endpoints.authorization,
        attempt,
        client=oidc.client_id,
        redirect=_redirect(here),
        scopes=oidc.scopes,
    )
    answer = _go_to(address)
    here.authenticator.browser_cookies.attempt.set(
        answer, authorization_code.write(attempt), authorization_code.LIFETIME
    )
    return answer


@pages.get("/callback", status_code=303, responses=_ELSEWHERE)
@access.needs(Permission.PUBLIC)
async def come_back_from_issuer(
    request: requests.Request,
    code: _Sent = "",
    state: _Sent = "",
    error: _Sent = "",
    iss: _Sent = "",
) -> responses.Response:
    """Come back from the issuer, logged in or not."""
    here, kept = _sessions(request)
    client, oidc = _client(here)
    cookie, now = here.authenticator.browser_cookies.attempt, here.clock.now()
    attempt = authorization_code.read(cookie.read(request), now)
    if attempt is None or not authorization_code.is_answer_to(attempt, state):
        return _not_logged_in(here, "expired", "/")
    if wait := here.authenticator.failed.wait(logins.address_of(request), now):
        raise logins.TooManyError(wait)
    if error or not code or (iss and iss != oidc.issuer):
        return _not_logged_in(here, "refused", attempt.next)
    try:
        token = await client.redeem(code, attempt.verifier, _redirect(here))
        login = here.authenticator.login_by_claims(await _claims(here, oidc, token, attempt))
    except errors.TemporaryError as unavailable:
        _LOG.warning("a login could not be ended: %s", unavailable)
        return _not_logged_in(here, "unavailable", attempt.next)
    except (issuer_client.RefusedError, issuers.RefusedError, logins.UnauthenticatedError) as why:
        _LOG.warning("a login failed from %s: %s", logins.address_of(request), why)
        here.metrics.failed_logins.inc()
        here.authenticator.failed.count(logins.address_of(request), now)
        return _not_logged_in(here, "refused", attempt.next)
    await _begin(request, kept, login)
    answer = _go_to(attempt.next)
    cookie.clear(answer)
    return answer


@pages.post("/logout", status_code=204)
@access.needs(Permission.KNOWN)
async def log_out(request: requests.Request) -> responses.Response:
    """End the session of the cookie that comes with the request."""
    here, kept = _sessions(request)
    answer = responses.Response(status_code=204)
    session: sessions.Session | None = getattr(request.state, "session", None)
    if session is not None:
        await kept.end(session.record.id)
        await _audit(request, session.record.by, "session.end", session)
        request.state.session = None
        here.authenticator.browser_cookies.session.clear(answer)
    return answer


def _sessions(request: requests.Request) -> tuple[server_state.ServerState, sessions.Sessions]:
    """Return what logins in the browser need.

    Raises:
        errors.UserError: There are none here.
    """
    here = server_state.of(request)
    kept = here.authenticator.browsers
    if kept is None or not here.authenticator.browser_cookies.is_possible:
        raise errors.user_error(
            "nobody logs in in a browser here: over plain http a login is read on its way",
            hint="in the settings, write tls, or url: https://… for the proxy before this server",
        )
    return here, kept


def _client(
    here: server_state.ServerState,
) -> tuple[issuer_client.IssuerClient, server_settings.Oidc]:
    oidc, client = here.settings.auth.oidc, here.issuer_login
    if oidc is None or client is None:
        raise errors.user_error(
            "there is no issuer to log in at",
            hint="log in with an API token, or write auth.oidc.clientId in the settings",
        )
    return client, oidc


async def _claims(
    here: server_state.ServerState,
    oidc: server_settings.Oidc,
    token: str,
    attempt: authorization_code.Attempt,
) -> Mapping[str, Any]:
    """Return the claims of an ID token that was made for us and for this login."""
    issuer = here.authenticator.issuer
    assert issuer is not None
    claims = await issuer.claims(token, audience=oidc.client_id)
    if not authorization_code.has_nonce(attempt, claims.get("nonce")):
        raise issuers.RefusedError("the token is of another login")
    if claims.get("azp", oidc.client_id) != oidc.client_id:
        raise issuers.RefusedError("the token was made for another client")
    return claims


async def _begin(
    request: requests.Request, kept: sessions.Sessions, login: sessions.Login
) -> sessions.Session:
    """Begin a session, in place of the one that the browser may have; it is told as it leaves."""
    here = server_state.of(request)
    former = await kept.find(here.authenticator.browser_cookies.session.read(request))
    if former is not None:
        await kept.end(former.record.id)
    session = await kept.begin(login)
    request.state.session = session
    await _audit(request, login.name, "session.begin", session)
    return session


async def _audit(
    request: requests.Request, name: str, action: str, session: sessions.Session
) -> None:
    here = server_state.of(request)
    entry = records.AuditRecord(
        at=here.clock.now(),
        by=name,
        action=action,
        result="ok",
        source=logins.address_of(request),
        document={"session": session.record.id, "with": session.record.source},
    )
    await here.service.audit_trail.write(entry)


async def _state_of(request: requests.Request) -> SessionState:
    try:
        person = await guard.identify(request)
    except logins.UnauthenticatedError:
        return _shown(request, None, None)
    return _shown(request, person, getattr(request.state, "session", None))


def _shown(
    request: requests.Request,
    person: permissions.Person | None,
    session: sessions.Session | None,
) -> SessionState:
    return SessionState(
        person is not None,
        person.name if person else "",
        person.source.value if person else "",
        session.record.csrf_token if session else "",
        _methods(server_state.of(request)),
        person.expires if person else None,
        __version__ if person else "",
    )


def _methods(here: server_state.ServerState) -> tuple[str, ...]:
    if here.authenticator.is_open:
        return ("local",)
    if not here.authenticator.browser_cookies.is_possible:
        return ()
    return ("oidc", "token") if here.issuer_login is not None else ("token",)


def _redirect(here: server_state.ServerState) -> str:
    """Return where the issuer sends people back to: never what a request says of itself."""
    return here.settings.url.rstrip("/") + CALLBACK


def _not_logged_in(here: server_state.ServerState, problem: str, wanted: str) -> responses.Response:
    """Go back to the page of the login, which says what the word means."""
    said = parse.urlencode({"problem": problem, "next": wanted})
    answer = _go_to(f"/login?{said}")
    here.authenticator.browser_cookies.attempt.clear(answer)
    return answer


def _go_to(address: str) -> responses.Response:
    return responses.Response(
        status_code=303, headers={"location": address, "cache-control": "no-store"}
    )
