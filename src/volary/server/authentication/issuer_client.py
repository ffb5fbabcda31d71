"""What this server asks the issuer itself at a login in the browser."""

import asyncio
import base64
import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib import parse

import aiohttp

from volary import secret_files
from volary.http_client import answers
from volary.model import errors, server_settings

_LOG = logging.getLogger(__name__)
_PATIENCE = aiohttp.ClientTimeout(total=10, connect=5)
_LARGEST = 256 * 1024
#: Seconds that addresses are believed, and between two looks for them.
_KEEP, _PAUSE = 600.0, 5.0


class RefusedError(Exception):
    """The issuer does not give a token for this code."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where an issuer's logins are."""

    authorization: str
    token: str
    #: Whether the client's secret goes into the body; else into a header.
    takes_secret_in_body: bool = False


class IssuerClient:
    """Talks to one issuer as its client."""

    def __init__(self, settings: server_settings.Oidc) -> None:
        self._settings = settings
        self._known: Endpoints | None = None
        self._fetched = self._asked = float("-inf")
        self._looking = asyncio.Lock()

    async def endpoints(self) -> Endpoints:
        """Return where logins are, from the issuer's discovery document.

        Raises:
            errors.TemporaryError: It cannot be had now.
        """
        async with self._looking:
            now = time.monotonic()
            if now - self._fetched > _KEEP and now - self._asked > _PAUSE:
                self._asked = now
                try:
                    self._known = await self._discover()
                    self._fetched = now
                except errors.TemporaryError as error:
                    _LOG.warning("%s: %s", self._settings.issuer, error)
            if self._known is None:
                raise errors.TemporaryError("the issuer of logins cannot be reached")
            return self._known

    async def redeem(self, code: str, verifier: str, redirect: str) -> str:
        """Return the ID token that the issuer gives for a code.

        Raises:
            RefusedError: It gives none.
            errors.TemporaryError: It cannot be asked now, or our secret cannot be read.
        """
        endpoints, settings = await self.endpoints(), self._settings
        body = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "code_verifier": verifier,
        }
        headers = {"accept": "application/json"}
        secret = self._secret()
        if secret and not endpoints.takes_secret_in_body:
            headers["authorization"] = _basic(settings.client_id, secret)
        else:
            body["client_id"] = settings.client_id
            body |= {"client_secret": secret} if secret else {}
        status, answer = await _ask("POST", endpoints.token, data=body, headers=headers)
        if status >= 500 or status == 429:
            raise errors.TemporaryError("the issuer of logins gives no token now")
        token = answer.get("id_token")
        if status != 200 or not isinstance(token, str):
            said = answer.get("error")
            _LOG.warning(
                "%s gives no token for a login: %s",
                settings.issuer,
                said[:80] if isinstance(said, str) and said.isprintable() else status,
            )
            raise RefusedError
        return token

    def _secret(self) -> str:
        if not self._settings.client_secret_file:
            return ""
        try:
            return secret_files.read(self._settings.client_secret_file)
        except errors.UserError as error:
            _LOG.error("%s", error)
            raise errors.TemporaryError("the client's secret cannot be read") from error

    async def _discover(self) -> Endpoints:
        issuer = self._settings.issuer
        status, document = await _ask(
            "GET", issuer.rstrip("/") + "/.well-known/openid-configuration"
        )
        if status != 200 or document.get("issuer") != issuer:
            raise errors.TemporaryError("the issuer's discovery document is not its own")
        scheme = parse.urlsplit(issuer).scheme
        found = [
            _address(document.get(f"{name}_endpoint"), scheme)
            for name in ("authorization", "token")
        ]
        methods = document.get("token_endpoint_auth_methods_supported")
        in_body = (
            isinstance(methods, list)
            and "client_secret_basic" not in methods
            and "client_secret_post" in methods
        )
        return Endpoints(found[0], found[1], takes_secret_in_body=in_body)


def _address(said: object, scheme: str) -> str:
    """Return an endpoint that is as safe as the issuer's own address.

    Raises:
        errors.TemporaryError: It is none.
    """
    try:
        parts = parse.urlsplit(said) if isinstance(said, str) else None
    except ValueError:
        parts = None
    if parts is None or not parts.hostname or parts.scheme not in ("https", scheme):
        raise errors.TemporaryError("the issuer's discovery document names no place for logins")
    return parts.geturl()


def _basic(client: str, secret: str) -> str:
    # Both are encoded as in a form first (RFC 6749, 2.3.1).
    pair = f"{parse.quote_plus(client)}:{parse.quote_plus(secret)}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


async def _ask(method: str, url: str, **more: Any) -> tuple[int, Mapping[str, Any]]:
    try:
        async with (
            aiohttp.ClientSession(timeout=_PATIENCE) as session,
            session.request(method, url, allow_redirects=False, **more) as answer,
        ):
            read = json.loads(await answers.read_whole(answer, _LARGEST))
    except (aiohttp.ClientError, TimeoutError, ValueError, RecursionError) as error:
        raise errors.TemporaryError("the issuer of logins cannot be asked") from error
    return answer.status, read if isinstance(read, dict) else {}
