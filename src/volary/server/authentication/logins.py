"""From a request's credentials to a person, or a refusal; failed logins are counted by address."""

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from starlette import requests

from volary.model import clocks, errors, server_settings
from volary.server import permissions
from volary.server.authentication import issuers, tokens

#: So many failures within the window; then every try is refused until one is old enough.
MOST, WINDOW = 10, timedelta(minutes=1)
#: Addresses that are remembered; the one seen longest ago is dropped first.
_MOST_ADDRESSES = 10_000


class FailedLogins:
    """Remembers failures of the last minute."""

    def __init__(self) -> None:
        self._failures: OrderedDict[str, tuple[datetime, ...]] = OrderedDict()

    def wait(self, address: str, now: datetime) -> timedelta:
        """Return how long this address has to wait; zero when it may try."""
        recent = self._recent(address, now)
        return recent[0] + WINDOW - now if len(recent) >= MOST else timedelta(0)

    def count(self, address: str, now: datetime) -> None:
        """Remember a failure."""
        recent = self._recent(address, now)
        self._failures[address] = (*recent, now)[-MOST:]
        self._failures.move_to_end(address)
        while len(self._failures) > _MOST_ADDRESSES:
            self._failures.popitem(last=False)

    def _recent(self, address: str, now: datetime) -> tuple[datetime, ...]:
        return tuple(
            moment for moment in self._failures.get(address, ()) if now - WINDOW < moment <= now
        )


#: What everybody is when no credentials are configured; only heard on loopback.
LOCAL = permissions.Person("local", (permissions.Grant(server_settings.Role.ADMIN),))
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class UnauthenticatedError(Exception):
    """Nobody knows who this is."""


class TooManyError(Exception):
    """Too many failures from one address."""

    def __init__(self, wait: timedelta) -> None:
        super().__init__("too many failed logins from this address")
        self.wait = wait


def is_loopback(host: str) -> bool:
    """Say whether an address to listen on is only reached from this machine."""
    return host in _LOOPBACK or host.startswith("127.")


@dataclass(slots=True)
class Authenticator:
    """Decides who somebody is."""

    settings: server_settings.Settings
    tokens: tokens.TokenFile
    clock: clocks.Clock
    failed: FailedLogins = field(default_factory=FailedLogins)
    issuer: issuers.Issuer | None = None

    @property
    def is_open(self) -> bool:
        """Whether there are no credentials, so that everybody on loopback may do everything."""
        auth = self.settings.auth
        return (
            auth.oidc is None
            and not auth.tokens_required
            and is_loopback(self.settings.host)
            and not self.tokens.all()
        )

    async def identify(self, request: requests.Request) -> permissions.Person:
        """Return who a request comes from.

        Raises:
            UnauthenticatedError: Without valid credentials.
            TooManyError: This address failed too often.
            errors.TemporaryError: The issuer's keys cannot be had now.
        """
        address, now = address_of(request), self.clock.now()
        wait = self.failed.wait(address, now)
        if wait:
            raise TooManyError(wait)
        presented = _bearer(request)
        if not presented:
            if self.is_open:
                return LOCAL
            raise UnauthenticatedError("credentials are needed")
        try:
            return await self._verify(presented)
        except UnauthenticatedError:
            self.failed.count(address, now)
            raise

    async def _verify(self, presented: str) -> permissions.Person:
        if presented.startswith(tokens.PREFIX):
            return self._by_token(presented)
        if self.issuer is None:
            raise UnauthenticatedError("the token is not known")
        try:
            claims = await self.issuer.claims(presented)
        except issuers.RefusedError as error:
            raise UnauthenticatedError(str(error)) from error
        oidc = self.settings.auth.oidc
        assert oidc is not None
        subject, groups = claims.get(oidc.subject_claim), claims.get(oidc.groups_claim)
        if not isinstance(subject, str) or not subject:
            raise UnauthenticatedError("the token does not say who it is for")
        listed = groups if isinstance(groups, list) else []
        named = [group for group in listed if isinstance(group, str)]
        grants = permissions.grants_of(self.settings.roles, subject, named)
        return permissions.Person(subject, grants)

    def _by_token(self, presented: str) -> permissions.Person:
        token = self.tokens.find(presented, self.clock.now())
        if token is None:
            raise UnauthenticatedError("the token is not known, has expired or was revoked")
        name = f"token:{token.name}"
        own = permissions.Grant(token.role, tuple(sorted(token.match_labels.items())))
        return permissions.Person(name, (own, *permissions.grants_of(self.settings.roles, name)))


def open_authenticator(
    settings: server_settings.Settings, kept: tokens.TokenFile, clock: clocks.Clock
) -> Authenticator:
    """Make the authenticator that the settings ask for.

    Raises:
        errors.UserError: It would stand open to other machines, or believe what must not be.
    """
    oidc = settings.auth.oidc
    authenticator = Authenticator(
        settings, kept, clock, issuer=issuers.Issuer(oidc) if oidc else None
    )
    if not is_loopback(settings.host) and oidc is None and not kept.all():
        raise errors.user_error(
            f"listening on {settings.host} needs credentials: there are none",
            hint="make a token with volary token create, configure auth.oidc, or listen on "
            "127.0.0.1",
        )
    return authenticator


def address_of(request: requests.HTTPConnection) -> str:
    """Return the address a request came from: the connection's, never a header's word."""
    return request.client.host if request.client else "unknown"


def _bearer(request: requests.Request) -> str:
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme and scheme.lower() != "bearer":
        return " "  # some other credentials: not nobody, but nobody we know
    return value.strip() or (" " if scheme else "")
