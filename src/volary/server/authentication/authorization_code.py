"""A login at an issuer, by the authorization code flow of OpenID Connect with PKCE. Pure.

What has to be remembered between its two halves is one secret in a cookie of the browser: state,
nonce and verifier are derived from it. So no server keeps anything for somebody who only began,
any server of a store can go on, and only the browser that began can end it.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib import parse

#: How long somebody may take at the issuer.
LIFETIME = timedelta(minutes=10)
_LONGEST_NEXT = 1000
#: Paths that are no pages.
_NO_PAGES = ("/api/", "/auth/")


@dataclass(frozen=True, slots=True)
class Attempt:
    """A login that has begun."""

    secret: str = field(repr=False)
    began: datetime
    #: The path of the page that is shown afterwards.
    next: str = "/"

    @property
    def state(self) -> str:
        """What the issuer sends back with the browser."""
        return self._derive("state")

    @property
    def nonce(self) -> str:
        """What the issuer writes into its token."""
        return self._derive("nonce")

    @property
    def verifier(self) -> str:
        """What only we know when the code is redeemed."""
        return self._derive("verifier")

    @property
    def challenge(self) -> str:
        """What the issuer knows the verifier by."""
        return _text(hashlib.sha256(self.verifier.encode()).digest())

    def is_over(self, now: datetime) -> bool:
        """Say whether it has taken too long; one from the future never began."""
        return not timedelta(0) <= now - self.began < LIFETIME

    def _derive(self, purpose: str) -> str:
        return _text(hmac.digest(self.secret.encode(), purpose.encode(), "sha256"))


def begin(now: datetime, wanted: str) -> Attempt:
    """Begin a login that ends at the page that is wanted."""
    return Attempt(secrets.token_urlsafe(32), now.replace(microsecond=0), page(wanted))


def write(attempt: Attempt) -> str:
    """Return it as the cookie has it."""
    path = _text(attempt.next.encode())
    return f"{attempt.secret}.{int(attempt.began.timestamp())}.{path}"


def read(cookie: str, now: datetime) -> Attempt | None:
    """Return the attempt of a cookie; None: it is none, or took too long."""
    parts = cookie.split(".")
    if len(parts) != 3 or not all(part.isascii() for part in parts) or len(parts[0]) < 40:
        return None
    secret, began, path = parts
    if not began.isdecimal() or len(began) > 12:
        return None
    try:
        moment = datetime.fromtimestamp(int(began), now.tzinfo)
        wanted = base64.urlsafe_b64decode(path + "=" * (-len(path) % 4)).decode()
    except (ValueError, OverflowError, OSError):
        return None
    attempt = Attempt(secret, moment, page(wanted))
    return None if attempt.is_over(now) else attempt


def is_answer_to(attempt: Attempt, state: str) -> bool:
    """Say whether what the issuer sent back belongs to an attempt."""
    return hmac.compare_digest(attempt.state.encode(), state.encode("utf-8", "replace"))


def has_nonce(attempt: Attempt, nonce: object) -> bool:
    """Say whether a token was made for an attempt."""
    return isinstance(nonce, str) and hmac.compare_digest(
        attempt.nonce.encode(), nonce.encode("utf-8", "replace")
    )


def address(
    endpoint: str, attempt: Attempt, *, client: str, redirect: str, scopes: Sequence[str]
) -> str:
    """Return where the browser is sent to: the issuer's endpoint, with all it has to know."""
    asked = {
        "response_type": "code",
        "client_id": client,
        "redirect_uri": redirect,
        "scope": " ".join(dict.fromkeys(("openid", *scopes))),
        "state": attempt.state,
        "nonce": attempt.nonce,
        "code_challenge": attempt.challenge,
        "code_challenge_method": "S256",
    }
    parts = parse.urlsplit(endpoint)
    query = "&".join(filter(None, (parts.query, parse.urlencode(asked))))
    return parse.urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))


def page(wanted: str) -> str:
    """Return the path of a page of ours, with its query; of anything else the first page.

    Browsers read more than one spelling as another host: two slashes, and slashes backwards.
    """
    is_path = wanted.startswith("/") and not wanted.startswith("//")
    if not is_path or len(wanted) > _LONGEST_NEXT or "\\" in wanted:
        return "/"
    if not wanted.isascii() or not wanted.isprintable() or " " in wanted:
        return "/"
    try:
        parts = parse.urlsplit(wanted)
    except ValueError:
        return "/"
    path = parse.unquote(parts.path)
    if parts.scheme or parts.netloc or path.startswith(("//", "/\\")):
        return "/"
    return "/" if f"{path}/".startswith(_NO_PAGES) else wanted


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
