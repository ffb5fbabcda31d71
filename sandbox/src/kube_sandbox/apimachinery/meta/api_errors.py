"""Kubernetes-shaped errors: a `StatusError` carries the Status object the API answers with.

The constructors below say what kube-apiserver says, word for word, so that
clients which read messages (kubectl does) find what they expect.
"""

from collections.abc import Sequence
from typing import cast

from kube_sandbox import json

_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class StatusError(Exception):
    """A request was refused; `body` is the Status to answer with."""

    def __init__(
        self,
        code: int,
        message: str,
        *,
        reason: str | None = None,
        details: json.JsonObject | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.body = failure(code, message, reason=reason, details=details)

    @property
    def message(self) -> str:
        """What went wrong, for people."""
        return str(self.body["message"])

    @property
    def reason(self) -> str:
        """The machine-readable word: ``NotFound``, ``Conflict``, …; empty when there is none."""
        return str(self.body.get("reason", ""))

    @property
    def causes(self) -> Sequence[json.JsonObject]:
        """``details.causes``."""
        details = self.body.get("details") or {}
        return cast("Sequence[json.JsonObject]", details.get("causes") or ())


def failure(
    code: int,
    message: str,
    *,
    reason: str | None = None,
    details: json.JsonObject | None = None,
) -> json.JsonObject:
    """Build a Status of a failed request; without `reason` the usual one of the code."""
    body: json.JsonObject = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
    }
    word = _REASONS.get(code, "") if reason is None else reason
    if word:
        body["reason"] = word
    if details is not None:
        body["details"] = details
    body["code"] = code
    return body


def success(details: json.JsonObject) -> json.JsonObject:
    """Build the Status of a deletion that is done."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }


def details(group: str, kind: str, name: str = "", **more: object) -> json.JsonObject:
    """Build ``details``: which object it is about. `kind` is the plural for most errors."""
    found: json.JsonObject = {}
    if name:
        found["name"] = name
    if group:
        found["group"] = group
    if kind:
        found["kind"] = kind
    found.update(more)
    return found


def qualified(group: str, resource: str) -> str:
    """``deployments.apps``; only the plural in the core group."""
    return f"{resource}.{group}" if group else resource


def not_found(group: str, resource: str, name: str) -> StatusError:
    """No object of that name."""
    message = f'{qualified(group, resource)} "{name}" not found'
    return StatusError(404, message, details=details(group, resource, name))


def not_emulated(resource: str, reason: str) -> StatusError:
    """Refuse what a real server has and an emulated one cannot have; clients show the sentence."""
    return StatusError(404, f"{resource} is not emulated: {reason}")


def no_such_path() -> StatusError:
    """The server knows no resource at this path."""
    return StatusError(404, "the server could not find the requested resource", details={})


def already_exists(group: str, resource: str, name: str) -> StatusError:
    """An object of that name is there."""
    message = f'{qualified(group, resource)} "{name}" already exists'
    found = details(group, resource, name)
    return StatusError(409, message, reason="AlreadyExists", details=found)


def conflict(group: str, resource: str, name: str, why: str) -> StatusError:
    """The write was made from an older state, or a precondition does not hold."""
    message = f'Operation cannot be fulfilled on {qualified(group, resource)} "{name}": {why}'
    return StatusError(409, message, details=details(group, resource, name))


#: Why a write with an old resourceVersion is refused.
MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def forbidden(group: str, resource: str, name: str, why: str, **more: object) -> StatusError:
    """The request is understood and refused."""
    subject = f'{qualified(group, resource)} "{name}"' if name else qualified(group, resource)
    message = f"{subject} is forbidden: {why}" if subject else f"forbidden: {why}"
    return StatusError(403, message, details=details(group, resource, name, **more))


def bad_request(message: str) -> StatusError:
    """The request itself makes no sense."""
    return StatusError(400, message)


def invalid(
    group: str, kind: str, name: str, message: str, causes: Sequence[json.JsonObject]
) -> StatusError:
    """The object breaks rules of its kind; `message` is the whole sentence."""
    found = details(group, kind, name, causes=list(causes))
    return StatusError(422, message, details=found)


def expired(message: str) -> StatusError:
    """A resourceVersion or continue token is too old."""
    return StatusError(410, message)


def method_not_allowed(what: str = "") -> StatusError:
    """The path exists, the verb does not."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, f"{message}: {what}" if what else message, details={})
