"""Bearer tokens of an OpenID Connect issuer: signature, issuer, audience and time are checked.

Only asymmetric algorithms can be allowed, and which ones is decided by the settings, never by the
token. Keys come from a file, an address, or the issuer's discovery document.

They are looked for beside the requests: a token whose key is known waits for nobody, whatever
other tokens name.
"""

import asyncio
import json
import logging
import time
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

from volary import secret_files
from volary.http_client import answers
from volary.model import errors, server_settings

_LOG = logging.getLogger(__name__)

#: What settings may allow.
ALGORITHMS: frozenset[str] = frozenset(typing.get_args(server_settings.Algorithm))
_CURVES = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}
#: Bits of an RSA key, at least.
_SHORTEST_RSA = 2048
#: Seconds that clocks may differ.
LEEWAY = 30
#: Seconds after which keys are looked for again, and between two looks.
_KEEP, _PAUSE = 600.0, 30.0
#: Seconds that keys are believed while the issuer cannot be asked.
_LONGEST = 3600.0
_LARGEST_TOKEN = 16 * 1024
_LARGEST_DOCUMENT = 1024 * 1024
_PATIENCE = aiohttp.ClientTimeout(total=10, connect=5)
#: Seconds that a token with an unknown key waits for a look: longer than its two requests.
_LOOK = 25.0
#: Keys of one issuer; nobody has so many.
_MOST_KEYS = 100


class RefusedError(Exception):
    """The token is not believed; says why, without repeating any of it."""


class Issuer:
    """Reads the tokens of one issuer; somebody has to `keep_looking` for its keys.

    Raises:
        errors.UserError: The settings allow an algorithm that must not be.
    """

    def __init__(self, settings: server_settings.Oidc) -> None:
        forbidden = sorted(set(settings.algorithms) - ALGORITHMS)
        if forbidden or not settings.algorithms:
            raise errors.user_error(
                f"auth.oidc.algorithms: {', '.join(forbidden) or 'nothing'} cannot be allowed",
                hint=f"use {', '.join(sorted(ALGORITHMS))}",
            )
        self._settings = settings
        self._keys: dict[str, _Key] = {}
        self._fetched = self._asked = float("-inf")
        #: Set when a look is wanted; whoever waits for its end waits for `_looked`.
        self._wanted, self._looked = asyncio.Event(), asyncio.Event()
        self._is_looking = False

    async def keep_looking(self) -> None:
        """Look for keys whenever that is wanted, until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await self._refresh()
            except errors.TemporaryError as error:
                _LOG.warning("%s: %s", self._settings.issuer, error)
            finally:
                self._is_looking = False
                looked, self._looked = self._looked, asyncio.Event()
                looked.set()

    async def claims(self, token: str, *, audience: str = "") -> Mapping[str, Any]:
        """Return the claims of a token that is believed.

        Args:
            token: As it was sent.
            audience: Whom it has to be for; empty: as the settings say.

        Raises:
            RefusedError: It is not.
            errors.TemporaryError: The keys cannot be had now.
        """
        if len(token) > _LARGEST_TOKEN:
            raise RefusedError("the token is too long")
        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError as error:
            raise RefusedError("the token is neither one of this server nor a JWT") from error
        algorithm = header.get("alg")
        if algorithm not in self._settings.algorithms:
            raise RefusedError("the token's algorithm is not allowed")
        key = await self._key(str(header.get("kid", "")))
        if not key.fits(algorithm):
            raise RefusedError("the token's algorithm is not that of its key")
        try:
            return jwt.decode(
                token,
                key.public,
                algorithms=[algorithm],
                audience=audience or self._settings.audience,
                issuer=self._settings.issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "iss", "aud", self._settings.subject_claim]},
            )
        except jwt.PyJWTError as error:
            raise RefusedError(_why(error)) from error

    async def _key(self, identifier: str) -> "_Key":
        """Return the key that a token names.

        A known one is there at once, also when it is time to look again. For an unknown one a
        look is waited for, when one is due or under way.

        Raises:
            RefusedError: The issuer has no such key.
            errors.TemporaryError: There are no keys that may be believed.
        """
        now = time.monotonic()
        key, is_old = self._known(identifier), now - self._fetched > _KEEP
        if key is None or is_old:
            self._want(now)
        if (key is None or now - self._fetched > _LONGEST) and self._is_looking:
            await self._end_of_look()
            key = self._known(identifier)
        if time.monotonic() - self._fetched > _LONGEST:
            raise errors.TemporaryError("the issuer's keys cannot be had")
        if key is None:
            raise RefusedError("the token is signed by a key that the issuer does not have")
        return key

    def _known(self, identifier: str) -> "_Key | None":
        if not identifier and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(identifier)

    def _want(self, now: float) -> None:
        """Have a look begin, unless one is under way or the last one was just now."""
        if not self._is_looking and now - self._asked > _PAUSE:
            self._asked, self._is_looking = now, True
            self._wanted.set()

    async def _end_of_look(self) -> None:
        looked = self._looked
        try:
            async with asyncio.timeout(_LOOK):
                await looked.wait()
        except TimeoutError:
            raise errors.TemporaryError("the issuer's keys cannot be had in time") from None

    async def _refresh(self) -> None:
        document = await self._document()
        listed = document.get("keys")
        if not isinstance(listed, list):
            raise errors.TemporaryError("the issuer's keys cannot be read")
        found = _read_keys(listed[:_MOST_KEYS])
        if not found:
            raise errors.TemporaryError("the issuer has no key that can be used")
        self._keys, self._fetched = found, time.monotonic()

    async def _document(self) -> Mapping[str, Any]:
        settings = self._settings
        if settings.jwks_file:
            return _from_file(Path(settings.jwks_file))
        if settings.jwks_url:
            return await _fetch(settings.jwks_url)
        document = await _fetch(settings.issuer.rstrip("/") + "/.well-known/openid-configuration")
        address = document.get("jwks_uri")
        if document.get("issuer") != settings.issuer or not isinstance(address, str):
            raise errors.TemporaryError("the issuer's discovery document is not its own")
        return await _fetch(address)


class _Key:
    """A public key of the issuer, and which signatures it may be used for."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        """Read it.

        Raises:
            jwt.PyJWTError: It is no public key of a kind we know.
        """
        self.public: Any = jwt.PyJWK(dict(document)).key
        #: The only algorithm that the issuer uses it for; empty: it does not say.
        self._algorithm = str(document.get("alg") or "")

    def fits(self, algorithm: str) -> bool:
        """Say whether signatures of this algorithm may be this key's."""
        if self._algorithm and self._algorithm != algorithm:
            return False
        match self.public:
            case rsa.RSAPublicKey():
                is_long = self.public.key_size >= _SHORTEST_RSA
                return is_long and algorithm.startswith(("RS", "PS"))
            case ec.EllipticCurvePublicKey():
                wanted = _CURVES.get(algorithm)
                return wanted is not None and isinstance(self.public.curve, wanted)
            case ed25519.Ed25519PublicKey() | ed448.Ed448PublicKey():
                return algorithm == "EdDSA"
            case _:
                # Such as a shared secret, which proves nothing.
                return False


def _read_keys(listed: Sequence[object]) -> dict[str, _Key]:
    """Return the keys for signatures by their names; others are none of ours."""
    keys: dict[str, _Key] = {}
    for entry in listed:
        if not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
            continue
        try:
            keys[str(entry.get("kid") or "")] = _Key(entry)
        except (jwt.PyJWTError, TypeError, ValueError, AttributeError):
            continue
    return keys


def _why(error: jwt.PyJWTError) -> str:
    known: dict[type[jwt.PyJWTError], str] = {
        jwt.ExpiredSignatureError: "the token has expired",
        jwt.ImmatureSignatureError: "the token is not valid yet",
        jwt.InvalidAudienceError: "the token is for another audience",
        jwt.InvalidIssuerError: "the token is from another issuer",
        jwt.InvalidSignatureError: "the token's signature is not right",
        jwt.MissingRequiredClaimError: "the token lacks a claim that is needed",
    }
    return known.get(type(error), "the token is not valid")


def _from_file(path: Path) -> Mapping[str, Any]:
    try:
        read = json.loads(secret_files.read_bytes(path, _LARGEST_DOCUMENT))
    except (OSError, ValueError, RecursionError) as error:
        raise errors.TemporaryError("the file with the issuer's keys cannot be read") from error
    return _object(read)


async def _fetch(url: str) -> Mapping[str, Any]:
    try:
        async with (
            aiohttp.ClientSession(timeout=_PATIENCE) as session,
            session.get(url, allow_redirects=False) as answer,
        ):
            answer.raise_for_status()
            return _object(json.loads(await answers.read_whole(answer, _LARGEST_DOCUMENT)))
    except (aiohttp.ClientError, TimeoutError, ValueError, RecursionError) as error:
        raise errors.TemporaryError("the issuer's keys cannot be fetched") from error


def _object(read: object) -> Mapping[str, Any]:
    if not isinstance(read, dict):
        raise errors.TemporaryError("the issuer's keys cannot be read")
    return read
