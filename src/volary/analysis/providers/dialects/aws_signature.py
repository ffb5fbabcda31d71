"""AWS Signature, version 4: how a request proves who sends it. Pure."""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib import parse

_ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class Keys:
    """Who signs."""

    access: str
    secret: str
    #: Of keys that are valid for a while only.
    session_token: str = ""


@dataclass(frozen=True, slots=True)
class Signed:
    """What is signed."""

    method: str
    #: The part of the address after the host, decoded.
    path: str
    parameters: Sequence[tuple[str, str]]
    #: All of them are signed; `host` is among them.
    headers: Mapping[str, str]
    body: bytes


def headers(
    signed: Signed, keys: Keys, *, region: str, service: str, now: datetime
) -> dict[str, str]:
    """Return the headers to be sent: those that were given, and the signature's own.

    `region` is such as `eu-central-1`, `service` such as `monitoring`, `now` is in UTC.
    """
    moment = now.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    sent = {**signed.headers, "X-Amz-Date": moment}
    if keys.session_token:
        sent["X-Amz-Security-Token"] = keys.session_token
    lower = {name.lower(): " ".join(value.split()) for name, value in sent.items()}
    names = ";".join(sorted(lower))
    canonical = "\n".join(
        (
            signed.method,
            parse.quote(signed.path or "/", safe="/-_.~"),
            _query(signed.parameters),
            *(f"{name}:{lower[name]}" for name in sorted(lower)),
            "",
            names,
            hashlib.sha256(signed.body).hexdigest(),
        )
    )
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    text = "\n".join((_ALGORITHM, moment, scope, digest))
    key = f"AWS4{keys.secret}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    proof = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    credential = f"Credential={keys.access}/{scope}"
    sent["Authorization"] = f"{_ALGORITHM} {credential}, SignedHeaders={names}, Signature={proof}"
    return sent


def _query(parameters: Sequence[tuple[str, str]]) -> str:
    quoted = sorted(
        (parse.quote(name, safe="-_.~"), parse.quote(value, safe="-_.~"))
        for name, value in parameters
    )
    return "&".join(f"{name}={value}" for name, value in quoted)
