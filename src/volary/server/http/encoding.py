"""Representations as JSON bytes, and the answers that carry them."""

import hashlib
from collections.abc import Sequence

import msgspec
from starlette import requests, responses

from volary.controller.api import representations

_encoder = msgspec.json.Encoder()


def encode(body: object) -> bytes:
    """Return JSON bytes of structs and plain values."""
    return _encoder.encode(body)


def one(
    request: requests.Request, representation: representations.Representation, *, status: int = 200
) -> responses.Response:
    """Answer with one representation."""
    return answer(request, encode(representation), status=status)


def many(
    request: requests.Request, items: Sequence[representations.Representation], cursor: str = ""
) -> responses.Response:
    """Answer with a page: ``items``, and ``cursor`` of the next one (empty: the last)."""
    return answer(request, encode({"items": items, "cursor": cursor}))


def secret(
    request: requests.Request, representation: representations.Representation
) -> responses.Response:
    """Answer with one that holds a secret, which nobody on the way keeps."""
    answered = one(request, representation)
    answered.headers["cache-control"] = "no-store"
    return answered


def answer(request: requests.Request, body: bytes, *, status: int = 200) -> responses.Response:
    """Answer with JSON bytes; a reader who has them already gets 304."""
    if request.method not in ("GET", "HEAD"):
        return responses.Response(body, status, media_type="application/json")
    tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    known = request.headers.get("if-none-match", "").split(",")
    if any(known_tag.strip().removeprefix("W/") in (tag, "*") for known_tag in known):
        return responses.Response(status_code=304, headers=headers)
    return responses.Response(body, status, headers, media_type="application/json")
