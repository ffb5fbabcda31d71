"""From a request's credentials to a person, or a refusal; failed logins are counted by address."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from starlette import requests

from volary.model import addresses, clocks, errors, identities, server_settings
from volary.server import permissions
from volary.server.authentication import cookies, issuers, sessions, token_uses, tokens
from volary.tenancy import membership

_LOG = logging.getLogger(__name__)
_Token = tokens.Token
_Tokens = tuple[_Token, ...]
#: So many failures within the window; further ones are told to wait until one is old enough.
MOST, WINDOW = 10, timedelta(minutes=1)
#: Addresses that are remembered; the one seen longest ago is dropped first.
_MOST_ADDRESSES = 10_000
_LONGEST_NAME = 253
#: What proxies add; a request that carries one did not begin at the other end of the connection.
_BY_PROXIES = frozenset(
    {
        *("forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"),
        *("x-cluster-client-ip", "x-original-forwarded-for"),
    }
)


class FailedLogins:
    """Remembers failures of the last minute.

    Args:
        servers: Says how many servers there are: each counts for itself, and allows its share.
        proxies: Networks that stand for many people: nobody there is held up for others.
    """

    def __init__(self, servers: Callable[[], int] = lambda: 1, proxies: Sequence[str] = ()) -> None:
        self._servers, self._proxies = servers, tuple(proxies)
        self._failures: OrderedDict[str, tuple[datetime, ...]] = OrderedDict()

    def count(self, address: str, now: datetime) -> timedelta:
        """Remember a failure; return how long this address has to wait, zero for not at all.

        Failures of one network of IPv6 count together: whoever has an address has all of it.
        """
        if self._is_proxy(address):
            return timedelta(0)
        address = addresses.holder_of(address)
        recent = self._recent(address, now)
        wait = self._until_room(recent, now)
        if not wait:
            self._failures[address] = (*recent, now)
        if address in self._failures:
            self._failures.move_to_end(address)
        while len(self._failures) > _MOST_ADDRESSES:
            self._failures.popitem(last=False)
        return wait

    def wait(self, address: str, now: datetime) -> timedelta:
        """Return how long this address has to wait before it may try again; zero: not at all."""
        if self._is_proxy(address):
            return timedelta(0)
        return self._until_room(self._recent(addresses.holder_of(address), now), now)

    def _is_proxy(self, address: str) -> bool:
        return bool(self._proxies) and addresses.is_within(address, self._proxies)

    def _until_room(self, recent: tuple[datetime, ...], now: datetime) -> timedelta:
        most = max(1, MOST // self._servers())
        return recent[-most] + WINDOW - now if len(recent) >= most else timedelta(0)

    def _recent(self, address: str, now: datetime) -> tuple[datetime, ...]:
        return tuple(
            moment for moment in self._failures.get(address, ()) if now - WINDOW < moment <= now
        )


#: What everybody is while no credentials are asked for; only heard on loopback.
LOCAL = permissions.Person(identities.LOCAL, (permissions.Grant(server_settings.Role.ADMIN),))
#: What a server says that nobody can get into yet.
CLOSED = (
    "this server has no credentials yet: on its machine, volary token create NAME --role admin"
    " makes the first token"
)

#: What somebody is told whose login in the browser is over.
OVER = "your login is over"
_UNREADABLE = "the tokens of this server cannot be read; its log says why"


class UnauthenticatedError(Exception):
    """Nobody knows who this is."""


class TooManyError(Exception):
    """Too many failures from one address."""

    def __init__(self, wait: timedelta) -> None:
        super().__init__("too many failed logins from this address")
        self.wait = wait


@dataclass(slots=True)
class Authenticator:
    """Decides who somebody is."""

    settings: server_settings.Settings
    tokens: tokens.TokenFile
    uses: token_uses.TokenUses
    clock: clocks.Clock
    #: Which projects there are now: asked for each request, so nobody stays who they were.
    projects: Callable[[], membership.Projects] = membership.Projects
    #: How many servers share what one address may do.
    servers: Callable[[], int] = lambda: 1
    failed: FailedLogins = field(init=False)
    #: Counted apart: whoever guesses tokens shuts no Git host out, nor the other way round.
    failed_webhooks: FailedLogins = field(init=False)
    issuer: issuers.Issuer | None = None
    #: Whether what other servers revoked is known here.
    are_tokens_current: Callable[[], bool] = lambda: True
    #: Logins of browsers; None: there are none.
    browsers: sessions.Sessions | None = None
    #: A token was seen: from then on this process is closed, whatever becomes of the file.
    _has_seen_tokens: bool = False
    #: Why the tokens cannot be read, as it was logged last; empty: they can.
    _complaint: str = ""
    #: What browsers show.
    browser_cookies: cookies.Cookies = field(init=False)

    def __post_init__(self) -> None:
        self.browser_cookies = cookies.of(self.settings)
        proxies = self.settings.limits.proxies
        self.failed = FailedLogins(self.servers, proxies)
        self.failed_webhooks = FailedLogins(self.servers, proxies)

    @property
    def is_open(self) -> bool:
        """Whether everybody on this machine may do everything.

        Only where the settings say so and there never was a token: a file that went away, was
        emptied or cannot be read opens nothing.
        """
        settings = self.settings
        is_meant = (
            settings.authentication is server_settings.Authentication.NONE
            and settings.auth.oidc is None
            and addresses.is_loopback(settings.host)
        )
        if is_meant and not self._has_seen_tokens:
            known = self._known_tokens()
            self._has_seen_tokens = known is None or bool(known)
        return is_meant and not self._has_seen_tokens

    async def run(self) -> None:
        """Do what goes on beside the requests, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.uses.keep_writing(), name="token uses")
            if self.issuer is not None:
                group.create_task(self.issuer.keep_looking(), name="issuer keys")

    async def identify(self, request: requests.Request) -> permissions.Person:
        """Return who a request comes from.

        Valid credentials are valid, however often others failed from the same address.

        Raises:
            UnauthenticatedError: Without valid credentials.
            TooManyError: Without valid credentials, from an address that failed too often.
            errors.TemporaryError: It cannot be said now: the issuer's keys cannot be had, or the
                tokens cannot be read.
        """
        presented = bearer(request)
        if not presented:
            shown = "" if self.is_open else self.browser_cookies.session.read(request)
            if shown and self.browsers is not None:
                return await self._by_session(request, shown, self.browsers)
            return self._without_credentials(request)
        try:
            return await self._verify(presented)
        except UnauthenticatedError:
            self.count_failure(request)
            raise

    def count_failure(self, request: requests.HTTPConnection) -> None:
        """Remember that somebody's credentials were not good.

        Raises:
            TooManyError: Their address failed too often.
        """
        wait = self.failed.count(address_of(request), self.clock.now())
        if wait:
            raise TooManyError(wait) from None

    async def login_by_token(self, presented: str) -> sessions.Login:
        """Return whom an API token is of, so that a session can begin.

        Raises:
            UnauthenticatedError: It is none, or no longer.
            errors.TemporaryError: It cannot be said now.
        """
        token = self._token(presented)
        name = f"{identities.TOKEN_PREFIX}{token.full_name}"
        source = permissions.Source.TOKEN
        return sessions.Login(name, source, token.id, expires=token.expires)

    def login_by_claims(self, claims: Mapping[str, Any]) -> sessions.Login:
        """Return whom an issuer's token is of, by claims that are believed.

        Raises:
            UnauthenticatedError: It is for nobody whose name can be shown.
        """
        oidc = self.settings.auth.oidc
        assert oidc is not None
        subject, groups = claims.get(oidc.subject_claim), claims.get(oidc.groups_claim)
        if not isinstance(subject, str) or not subject:
            raise UnauthenticatedError("the token does not say who it is for")
        if len(subject) > _LONGEST_NAME or not subject.isprintable():
            raise UnauthenticatedError("the token is for somebody whose name cannot be shown")
        listed = groups if isinstance(groups, list) else []
        return sessions.Login(
            f"{identities.PERSON_PREFIX}{subject}",
            permissions.Source.OIDC,
            subject,
            oidc.issuer,
            tuple(group for group in listed if isinstance(group, str)),
        )

    async def _by_session(
        self, request: requests.Request, shown: str, kept: sessions.Sessions
    ) -> permissions.Person:
        """Return who is logged in; the request has their session then."""
        known: sessions.Session | None = getattr(request.state, "session", None)
        if known is None:
            session = await kept.find(shown)
        else:
            # One that goes on for long: the secret it came with may have been changed meanwhile.
            record = await kept.again(known.record.id)
            session = None if record is None else sessions.Session(record)
        if session is None:
            raise UnauthenticatedError(OVER)
        person = self.person_of(session)
        if known is None:
            request.state.session = session
        return person

    def person_of(self, session: sessions.Session) -> permissions.Person:
        """Return who a session is of, with what they are given at this moment.

        Raises:
            UnauthenticatedError: What they logged in with is not believed any more.
        """
        login, now = session.login, self.clock.now()
        if login.source is permissions.Source.TOKEN:
            known = self._known_tokens()
            if known is None:
                raise errors.TemporaryError(_UNREADABLE)
            self._check_current()
            token = next((one for one in known if one.id == login.credential), None)
            if token is None or not token.is_valid(now):
                raise UnauthenticatedError(OVER)
            self.uses.note(token.id, now)
            return replace(self._person_by(token), expires=session.record.expires)
        oidc = self.settings.auth.oidc
        if oidc is None or oidc.issuer != login.issuer:
            raise UnauthenticatedError(OVER)
        grants = self._grants(login.name, login.groups)
        return permissions.Person(login.name, grants, login.source, login.expires)

    def _without_credentials(self, request: requests.Request) -> permissions.Person:
        if self.is_open:
            if is_direct(request):
                return LOCAL
            raise UnauthenticatedError(
                "without credentials only this machine is answered, and this request came through"
                " a proxy"
            )
        raise UnauthenticatedError(CLOSED if self.is_closed else "credentials are needed")

    @property
    def is_closed(self) -> bool:
        """Whether nobody can get in: there is no issuer, and no token that is valid."""
        now, known = self.clock.now(), self._known_tokens()
        return (
            self.issuer is None
            and known is not None
            and not any(token.is_valid(now) for token in known)
        )

    def _known_tokens(self) -> _Tokens | None:
        """Return the tokens; None: they cannot be read, as the log says."""
        try:
            known = self.tokens.all()
        except errors.UserError as error:
            self._complain(error)
            return None
        self._complaint = ""
        return known

    def _complain(self, error: errors.UserError) -> None:
        """Say in the log what has to be mended, once for each reason."""
        problem = error.problems[0]
        said = f"{problem.message}; {problem.hint}" if problem.hint else problem.message
        if said != self._complaint:
            self._complaint = said
            _LOG.error("API tokens open nothing: %s", said)

    async def _verify(self, presented: str) -> permissions.Person:
        if presented.startswith(tokens.PREFIX):
            return self._by_token(presented)
        if self.issuer is None:
            raise UnauthenticatedError("the token is not known")
        try:
            claims = await self.issuer.claims(presented)
        except issuers.RefusedError as error:
            raise UnauthenticatedError(str(error)) from error
        login = self.login_by_claims(claims)
        return permissions.Person(
            login.name,
            self._grants(login.name, login.groups),
            permissions.Source.OIDC,
            _moment(int(claims["exp"])),
        )

    def _grants(self, name: str, groups: Iterable[str] = ()) -> tuple[permissions.Grant, ...]:
        """Return what somebody is given, by settings and projects as they are at this moment."""
        groups = tuple(groups)
        return (
            *permissions.grants_of(self.settings.roles, name, groups),
            *permissions.grants_by_projects(self.projects().by_name.values(), name, groups),
        )

    def _by_token(self, presented: str) -> permissions.Person:
        token = self._token(presented)
        return self._person_by(token)

    def _token(self, presented: str) -> _Token:
        now = self.clock.now()
        self._check_current()
        try:
            token = self.tokens.find(presented, now)
        except errors.UserError as error:
            self._complain(error)
            raise errors.TemporaryError(_UNREADABLE) from error
        if token is None:
            raise UnauthenticatedError("the token is not known, has expired or was revoked")
        self.uses.note(token.id, now)
        return token

    def _check_current(self) -> None:
        """Make sure that a token is not believed that another server revoked.

        Raises:
            errors.TemporaryError: The database has not said so for too long.
        """
        if not self.are_tokens_current():
            raise errors.TemporaryError(
                "no token is believed, as the database has not said for a while which are revoked"
            )

    def _person_by(self, token: _Token) -> permissions.Person:
        name = f"{identities.TOKEN_PREFIX}{token.full_name}"
        own = permissions.Grant(
            token.role,
            tuple(sorted(token.match_labels.items())),
            (token.project,) if token.project else (),
        )
        return permissions.Person(
            name,
            (own, *self._grants(name)),
            permissions.Source.TOKEN,
            token.expires,
        )


def open_authenticator(
    settings: server_settings.Settings,
    kept: tokens.TokenFile,
    clock: clocks.Clock,
    projects: Callable[[], membership.Projects] = membership.Projects,
    browsers: sessions.Sessions | None = None,
    servers: Callable[[], int] = lambda: 1,
) -> Authenticator:
    """Make the authenticator that the settings ask for; `projects` says which there are now.

    Without `browsers` nobody is logged in in one.

    Raises:
        errors.UserError: The tokens cannot be read, or it would believe what must not be.
    """
    oidc = settings.auth.oidc
    kept.all()
    return Authenticator(
        settings,
        kept,
        token_uses.TokenUses(Path(settings.data_directory)),
        clock,
        projects,
        issuer=issuers.Issuer(oidc) if oidc else None,
        browsers=browsers,
        servers=servers,
    )


def _moment(seconds: int) -> datetime | None:
    """Return when a token ends; None: so late that there is no date for it."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def address_of(request: requests.HTTPConnection) -> str:
    """Return the address a request came from: the connection's, never a header's word."""
    return request.client.host if request.client else "unknown"


def is_direct(request: requests.HTTPConnection) -> bool:
    """Say whether a request comes from this machine itself, by no proxy that can be told."""
    through_proxy = any(
        name in _BY_PROXIES or name.startswith("x-forwarded") for name in request.headers
    )
    return not through_proxy and addresses.is_loopback(address_of(request))


def bearer(request: requests.HTTPConnection) -> str:
    """Return the token that a request shows; empty: it shows no credentials."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme and scheme.lower() != "bearer":
        return " "  # some other credentials: not nobody, but nobody we know
    return value.strip() or (" " if scheme else "")
