"""An issuer of OpenID Connect on this machine: people log in there, and its codes are checked.

It behaves as a strict one does: a code is good once, for the client, the address and the verifier
that it was asked for with.
"""

import base64
import contextlib
import hashlib
import json
import secrets
import ssl
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib import parse

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec

CLIENT, SECRET = "volary-ui", "issued to volary"


@dataclass
class Issuer:
    """Who logs in there is decided by the test."""

    url: str = ""
    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )
    subject: str = "ana@example.org"
    groups: list[str] = field(default_factory=list)
    #: Claims that take the place of those it would write.
    claims: dict[str, Any] = field(default_factory=dict)
    #: What it says of a login instead of giving a code.
    error: str = ""
    #: It cannot be asked for tokens.
    is_down: bool = False
    #: What was asked for, by its code.
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    redeemed: int = 0
    #: Tokens are good for so long, seconds since the epoch.
    expires: float = field(default_factory=lambda: time.time() + 300)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        match request.path:
            case "/.well-known/openid-configuration":
                return web.json_response(
                    {
                        "issuer": self.url,
                        "jwks_uri": f"{self.url}/keys",
                        "authorization_endpoint": f"{self.url}/authorize?tenant=shop",
                        "token_endpoint": f"{self.url}/token",
                    }
                )
            case "/keys":
                made = jwt.algorithms.ECAlgorithm.to_jwk(self.key.public_key())
                return web.json_response({"keys": [{**json.loads(made), "kid": "one"}]})
            case "/authorize":
                return self._authorize(dict(request.query))
            case "/token" if not self.is_down:
                return self._token(
                    request.headers.get("authorization", ""), dict(await request.post())
                )
        return web.Response(status=503)

    def _authorize(self, asked: dict[str, str]) -> web.StreamResponse:
        sent = {"state": asked["state"], "iss": self.url}
        if self.error:
            sent["error"] = self.error
        else:
            sent["code"] = secrets.token_urlsafe(16)
            self.codes[sent["code"]] = asked
        raise web.HTTPFound(f"{asked['redirect_uri']}?{parse.urlencode(sent)}")

    def _token(self, client: str, sent: dict[str, Any]) -> web.StreamResponse:
        asked = self.codes.pop(str(sent.get("code")), None)
        pair = f"{parse.quote_plus(CLIENT)}:{parse.quote_plus(SECRET)}"
        challenge = base64.urlsafe_b64encode(
            hashlib.sha256(str(sent.get("code_verifier")).encode()).digest()
        ).rstrip(b"=")
        if client != f"Basic {base64.b64encode(pair.encode()).decode()}":
            return web.json_response({"error": "invalid_client"}, status=401)
        if (
            asked is None
            or asked["client_id"] != CLIENT
            or asked["redirect_uri"] != sent.get("redirect_uri")
            or asked["code_challenge_method"] != "S256"
            or asked["code_challenge"] != challenge.decode()
        ):
            return web.json_response({"error": "invalid_grant"}, status=400)
        self.redeemed += 1
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": self.subject,
            "groups": self.groups,
            "nonce": asked["nonce"],
            "exp": self.expires,
            **self.claims,
        }
        token = jwt.encode(claims, self.key, algorithm="ES256", headers={"kid": "one"})
        return web.json_response({"id_token": token, "access_token": "x", "token_type": "Bearer"})


@contextlib.asynccontextmanager
async def issuing(tls: ssl.SSLContext | None = None) -> AsyncIterator[Issuer]:
    """Have an issuer beside the block, with https where its certificate is given."""
    issuer = Issuer()
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", issuer.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        issuer.url = f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
        yield issuer
    finally:
        await runner.cleanup()
