"""Webhooks of Git hosts: who may speak is checked before anything is parsed.

A webhook only brings the next poll of a repository forward, so a replay is harmless, and a
body of another shape than expected means "look at the repository that was configured
for this hook", never a crash.
"""

import hashlib
import hmac
import json as text
from collections.abc import Mapping
from dataclasses import dataclass

from volary.model import server_settings

#: Larger bodies are refused unread.
LARGEST_BODY = 256 * 1024
_BRANCH = "refs/heads/"

Provider = server_settings.WebhookProvider


@dataclass(frozen=True, slots=True)
class PushEvent:
    """A repository may have changed."""

    #: Empty: any.
    branch: str = ""
    #: Empty: unknown.
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Rejection:
    """The request is not believed, or too large."""

    #: HTTP status: 401, 413.
    status: int
    reason: str


def read(
    provider: Provider, headers: Mapping[str, str], body: bytes, secret: str
) -> PushEvent | Rejection:
    """Check who speaks, then read what they say; `headers` by lower-case name."""
    if len(body) > LARGEST_BODY:
        return Rejection(413, f"the body is larger than {LARGEST_BODY // 1024} KiB")
    if not secret or not is_genuine(provider, headers, body, secret):
        return Rejection(401, "the signature or token is not right")
    return _push_event(provider, body)


def is_genuine(provider: Provider, headers: Mapping[str, str], body: bytes, secret: str) -> bool:
    """Compare the signature or token in constant time."""
    if provider is Provider.GITLAB:
        given = headers.get("x-gitlab-token", "")
        return hmac.compare_digest(given.encode(), secret.encode())
    wanted = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    name = {
        Provider.GITHUB: "x-hub-signature-256",
        Provider.GITEA: "x-gitea-signature",
        Provider.BITBUCKET: "x-hub-signature",
    }[provider]
    given = headers.get(name, "").strip().removeprefix("sha256=")
    return hmac.compare_digest(given.encode(), wanted.encode())


def _push_event(provider: Provider, body: bytes) -> PushEvent:
    try:
        payload = text.loads(body)
    except (ValueError, RecursionError):
        return PushEvent()
    if not isinstance(payload, dict):
        return PushEvent()
    if provider is Provider.BITBUCKET:
        return _bitbucket(payload)
    reference = payload.get("ref")
    commit = payload.get("after")
    branch = ""
    if isinstance(reference, str) and reference.startswith(_BRANCH):
        branch = reference.removeprefix(_BRANCH)
    return PushEvent(_word(branch), _word(commit))


def _bitbucket(payload: Mapping[str, object]) -> PushEvent:
    push = payload.get("push")
    changes = push.get("changes") if isinstance(push, dict) else None
    # Several branches in one push: any may have changed.
    if not isinstance(changes, list) or len(changes) != 1 or not isinstance(changes[0], dict):
        return PushEvent()
    new = changes[0].get("new")
    if not isinstance(new, dict):
        return PushEvent()
    name, target = new.get("name"), new.get("target")
    commit = target.get("hash") if isinstance(target, dict) else ""
    return PushEvent(_word(name), _word(commit))


def _word(value: object) -> str:
    """Return a text that can be compared and shown; empty: it is none, so nothing is known."""
    return value if isinstance(value, str) and value.isprintable() else ""
