"""Credentials at the moment of a request: tokens re-read, programs asked, results cached.

One `Authenticator` per cluster. `prove` is cheap when nothing changed; `forget` is
called after a 401, so that the next request uses fresh credentials.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol, assert_never
from urllib.parse import quote

from volary.clusters import settings
from volary.model import clock as clocks
from volary.model import errors

#: kubectl and client-go re-read token files about once a minute.
_TOKEN_FILE_AGE = timedelta(minutes=1)
_LARGEST_TOKEN = 1 << 16


@dataclass(frozen=True, slots=True)
class Proof:
    """What a request carries to prove who we are."""

    #: Value of the ``Authorization`` header; empty: none.
    authorization: str = field(default="", repr=False)
    #: PEM client certificate and key from an exec plugin; empty: those of the settings.
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)


class Authenticator(Protocol):
    """Gives the proof for the next request."""

    async def prove(self) -> Proof:
        """Return what to send; raises UserError when the user has to mend something."""
        ...

    def forget(self, proof: Proof) -> bool:
        """Drop `proof`, which a server refused; whether another try may have another result."""
        ...


class Fixed:
    """Credentials that never change."""

    def __init__(self, proof: Proof) -> None:
        self._proof = proof

    async def prove(self) -> Proof:
        """Return what was given."""
        return self._proof

    def forget(self, proof: Proof) -> bool:
        """There is nothing else to try."""
        return False


def simple(
    credentials: settings.Anonymous | settings.Token | settings.Basic,
) -> Fixed:
    """Return the authenticator of credentials that need no file and no program."""
    match credentials:
        case settings.Anonymous():
            return Fixed(Proof())
        case settings.Token():
            return Fixed(Proof(f"Bearer {credentials.token}"))
        case settings.Basic():
            pair = f"{credentials.username}:{credentials.password}".encode()
            return Fixed(Proof(f"Basic {base64.b64encode(pair).decode()}"))
        case _:
            assert_never(credentials)


class TokenFile:
    """A token in a file, read again when it may have been replaced."""

    def __init__(self, source: settings.TokenFile, cluster: str, clock: clocks.Clock) -> None:
        self._source = source
        self._cluster = cluster
        self._clock = clock
        self._proof = Proof()
        self._read: datetime | None = None

    async def prove(self) -> Proof:
        """Return the token that the file holds, or held within the last minute."""
        now = self._clock.now()
        if self._read is None or now - self._read >= _TOKEN_FILE_AGE:
            token = self._token()
            if self._proof.authorization != f"Bearer {token}":
                self._proof = Proof(f"Bearer {token}")
            self._read = now
        return self._proof

    def forget(self, proof: Proof) -> bool:
        """Read the file again, which may hold a newer token by now."""
        self._read = None
        try:
            return proof.authorization != f"Bearer {self._token()}"
        except errors.UserError:
            return False

    def _token(self) -> str:
        path = self._source.path
        try:
            with Path(path).open(encoding="utf-8") as file:
                token = file.read(_LARGEST_TOKEN).strip()
        except (OSError, UnicodeDecodeError) as error:
            if self._source.fallback:
                return self._source.fallback
            raise errors.user_error(
                f"cluster {self._cluster}: the token file {path} cannot be read:"
                f" {(getattr(error, 'strerror', None) or 'it is not text').lower()}",
                hint="check tokenFile of the user in the kubeconfig",
            ) from error
        if not token or not token.isprintable():
            raise errors.user_error(
                f"cluster {self._cluster}: the token file {path} holds no token"
            )
        return token


def impersonation_headers(who: settings.Impersonation) -> list[tuple[str, str]]:
    """Return the headers that make requests on behalf of somebody else."""
    headers = [("Impersonate-User", who.user)] if who.user else []
    if who.uid:
        headers.append(("Impersonate-Uid", who.uid))
    headers += [("Impersonate-Group", group) for group in who.groups]
    headers += _extra_headers(who.extra)
    return headers


def _extra_headers(extra: Mapping[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    return [
        (f"Impersonate-Extra-{quote(key, safe='')}", value)
        for key, values in extra.items()
        for value in values
    ]
