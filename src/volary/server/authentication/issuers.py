"""Bearer tokens of an OpenID Connect issuer: signature, issuer, audience and time are checked.

Only asymmetric algorithms can be allowed, and which ones is decided here and by the settings,
never by the token. Keys come from a file, an address, or the issuer's discovery document.
"""

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import jwt

from volary.http_client import answers
from volary.model import errors, server_settings

_LOG = logging.getLogger(__name__)

#: What settings may allow.
ALGORITHMS = frozenset({"RS256", "ES256", "PS256"})
#: Seconds that clocks may differ.
LEEWAY = 30
#: Seconds after which keys are looked for again, and between two looks.
_KEEP, _PAUSE = 600.0, 30.0
#: Seconds that keys are believed while the issuer cannot be asked.
_LONGEST = 3600.0
_LARGEST_TOKEN = 16 * 1024
_LARGEST_DOCUMENT = 1024 * 1024
_PATIENCE = aiohttp.ClientTimeout(total=10, connect=5)


class RefusedError(Exception):
    """The token is not believed; says why, without repeating any of it."""


class Issuer:
    """Reads the tokens of one issuer.

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
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched = self._looked = float("-inf")
        self._looking = asyncio.Lock()

    async def claims(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a token that is believed.

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
        try:
            return jwt.decode(
                token,
                key,
                algorithms=list(self._settings.algorithms),
                audience=self._settings.audience,
                issuer=self._settings.issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "iss", "aud", self._settings.subject_claim]},
            )
        except jwt.PyJWTError as error:
            raise RefusedError(_why(error)) from error

    async def _key(self, identifier: str) -> jwt.PyJWK:
        async with self._looking:  # one look for all who come at once
            await self._look(identifier)
        key = self._keys.get(identifier)
        if key is None and not identifier and len(self._keys) == 1:
            key = next(iter(self._keys.values()))
        if key is None:
            raise RefusedError("the token is signed by a key that the issuer does not have")
        return key

    async def _look(self, identifier: str) -> None:
        """Look for keys when it is time; an issuer that is down for a while shuts nobody out.

        Raises:
            errors.TemporaryError: There are no keys that may be believed.
        """
        now = time.monotonic()
        is_due = identifier not in self._keys or now - self._fetched > _KEEP
        if is_due and now - self._looked > _PAUSE:
            self._looked = now
            try:
                await self._refresh(now)
            except errors.TemporaryError as error:
                _LOG.warning("%s: %s", self._settings.issuer, error)
        if now - self._fetched > _LONGEST:
            raise errors.TemporaryError("the issuer's keys cannot be had")

    async def _refresh(self, now: float) -> None:
        document = await self._document()
        try:
            read = jwt.PyJWKSet.from_dict(dict(document))
        except (jwt.PyJWTError, TypeError, AttributeError) as error:
            raise errors.TemporaryError("the issuer's keys cannot be read") from error
        # A shared secret among the keys is not a key that proves anything.
        self._keys = {key.key_id or "": key for key in read.keys if key.key_type != "oct"}
        self._fetched = now

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
        read = json.loads(path.read_bytes()[:_LARGEST_DOCUMENT])
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
