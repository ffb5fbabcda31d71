"""Logins that last: what a browser shows with each request, and what is kept of it.

A browser keeps a secret of 256 random bits in a cookie; the store has its hash, so that every
server of one store knows the login, and whoever reads the store can log in nowhere. The secret is
changed while it is used. The one before stays good until the new one was seen, and a minute
longer: answers get lost, and requests overtake each other. Shown later than that, somebody
has a copy, and the login is over for everybody.
"""

import asyncio
import base64
import hashlib
import hmac
import logging
import secrets
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from volary.concurrency import single_flight
from volary.model import clocks, errors, server_settings
from volary.server import permissions
from volary.store import records
from volary.store.sql.repositories import sessions as session_store

_LOG = logging.getLogger(__name__)
#: Of one person; the one used longest ago goes for a new one.
MOST = 20
#: Age of a secret from which on the next use changes it.
ROTATION = timedelta(minutes=15)
#: How long the one before is good once its successor was seen.
GRACE = timedelta(minutes=1)
#: How exact it is known when a login was used last: not each request writes.
_EXACTNESS = timedelta(minutes=1)
_LONGEST_SECRET = 100


@dataclass(frozen=True, slots=True)
class Login:
    """Whom we believe, and why."""

    #: As audit and roles have it.
    name: str
    source: permissions.Source
    #: The id of an API token, or the name that the issuer gave.
    credential: str
    issuer: str = ""
    groups: tuple[str, ...] = ()
    #: When the credentials end; None: never.
    expires: datetime | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A login that holds now."""

    record: records.SessionRecord
    #: What the browser shows from now on; empty: what it has.
    renewed: str = field(default="", repr=False)

    @property
    def login(self) -> Login:
        """Whom it is of."""
        kept = self.record
        groups = kept.document.get("groups", [])
        named = groups if isinstance(groups, list) else []
        return Login(
            kept.by,
            permissions.Source(kept.source),
            kept.credential,
            kept.issuer,
            tuple(group for group in named if isinstance(group, str)),
            kept.expires,
        )


class Sessions:
    """The logins of browsers."""

    def __init__(
        self,
        store: session_store.Sessions,
        settings: server_settings.Sessions,
        clock: clocks.Clock,
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        #: What the next question about sessions of streams is asked about.
        self._asked: _Question | None = None

    async def begin(self, login: Login) -> Session:
        """Begin a login; the session has what the browser is to show.

        Raises:
            errors.TemporaryError: It cannot be kept now.
        """
        now, secret = self._clock.now(), secrets.token_urlsafe(32)
        end = now + self._settings.longest
        record = records.SessionRecord(
            secrets.token_hex(8),
            digest(secret),
            login.name,
            login.source.value,
            login.credential,
            secrets.token_urlsafe(32),
            created=now,
            rotated=now,
            seen=now,
            expires=end if login.expires is None else min(end, login.expires),
            issuer=login.issuer,
            document={"groups": list(login.groups)} if login.groups else {},
        )
        await self._store.begin(record, most=MOST, idle=self._settings.idle)
        return Session(record, secret)

    async def find(self, secret: str) -> Session | None:
        """Return the login of a browser that shows a secret; None: it has none, or none any more.

        Raises:
            errors.TemporaryError: It cannot be said now.
        """
        if not secret or len(secret) > _LONGEST_SECRET:
            return None
        shown = digest(secret)
        # Twice at most: somebody else may change the secret between our look and our write.
        for _ in range(2):
            known = await self._store.find(shown)
            if known is None or not self._holds(known):
                return None
            if shown != known.hash:
                return await self._with_previous(known, secret)
            session = _used(known, secret, self._clock.now())
            if session.record == known or await self._keep(session.record, known.hash):
                return session
        return None

    async def again(self, session: str) -> records.SessionRecord | None:
        """Return the login of this id, for a request that goes on for long; None: it is over.

        Raises:
            errors.TemporaryError: It cannot be said now.
        """
        known = await self._together(session)
        return known if known is not None and self._holds(known) else None

    async def _together(self, session: str) -> records.SessionRecord | None:
        """Return what is kept of a session; whoever asks at the same time asks in one question."""
        if self._asked is None:
            self._asked = _Question(self._store)
        asked = self._asked
        asked.ids.add(session)
        # All streams look at the same time: let those that are due now join.
        await asyncio.sleep(0)
        if self._asked is asked:
            self._asked = None
        return (await asked.answer()).get(session)

    async def end(self, session: str) -> None:
        """End the login of this id.

        Raises:
            errors.TemporaryError: It cannot be ended now.
        """
        await self._store.end(session)

    def _holds(self, known: records.SessionRecord) -> bool:
        now = self._clock.now()
        return now < known.expires and now - known.seen < self._settings.idle

    async def _with_previous(self, known: records.SessionRecord, secret: str) -> Session | None:
        if known.previous_ends is None or self._clock.now() < known.previous_ends:
            return Session(known, _successor(secret, known.nonce))
        _LOG.warning(
            "a secret of %s that was changed long ago was shown again: their login is ended",
            known.by,
        )
        await self._store.end(known.id)
        return None

    async def _keep(self, changed: records.SessionRecord, expected: str) -> bool:
        try:
            return await self._store.change(changed, expected=expected)
        except errors.TemporaryError:
            # With the next request then; the secret stays the one that the browser has. What was
            # changed is not shown to it, or it would show what nobody keeps.
            if changed.hash != expected:
                raise
            return True


class _Question:
    """One look at the sessions of several streams; whoever wants its answer first has it asked."""

    def __init__(self, store: session_store.Sessions) -> None:
        self._store = store
        self._flight = single_flight.SingleFlight()
        self.ids: set[str] = set()

    async def answer(self) -> dict[str, records.SessionRecord]:
        """Return the sessions that there are, by id.

        Raises:
            errors.TemporaryError: It cannot be said now.
        """
        shared = await self._flight.do(
            "sessions", "", lambda: self._store.get(self.ids), is_kept=lambda _: True
        )
        assert shared is not None
        return shared.value


def digest(secret: str) -> str:
    """Return what is kept of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _used(known: records.SessionRecord, secret: str, now: datetime) -> Session:
    """Return a login as it is after a use of its present secret."""
    changed, renewed = known, ""
    if known.previous and known.previous_ends is None:
        # Its age counts from here: else it would be changed at once, and the one before lost.
        changed = replace(changed, previous_ends=now + GRACE, rotated=now)
    elif now - known.rotated >= ROTATION:
        nonce = secrets.token_urlsafe(16)
        renewed = _successor(secret, nonce)
        changed = replace(
            changed,
            hash=digest(renewed),
            previous=known.hash,
            nonce=nonce,
            rotated=now,
            previous_ends=None,
        )
    if renewed or now - known.seen >= _EXACTNESS:
        changed = replace(changed, seen=now)
    return Session(changed, renewed)


def _successor(secret: str, nonce: str) -> str:
    """Return the secret after this one.

    The same for all requests that show this one, so that it does not matter whose answer arrives
    last; who has only one of both finds it not.
    """
    made = hmac.digest(secret.encode(), nonce.encode(), "sha256")
    return base64.urlsafe_b64encode(made).rstrip(b"=").decode()
