"""What a Kubernetes API answered instead of success, translated once.

    VolaryError
    ├── PermanentError
    │   └── RequestError            an answer of the API server that another try cannot mend
    │       ├── Unauthorized        401
    │       ├── Forbidden           403, with verb and resource
    │       ├── NotFound            404
    │       ├── AlreadyExists       409 AlreadyExists
    │       ├── Conflict            409: another resourceVersion or uid than asked for
    │       │   └── ApplyConflict   409 of a server-side apply: who owns which field
    │       ├── Invalid             422 (and some 500), with its causes
    │       ├── Refused             never sent: the rule of the client does not permit it
    │       ├── VersionedCreation   500 of old servers: no version may be said of what is created
    │       ├── Expired             410: the resourceVersion or page is too old
    │       └── TooLarge            an answer beyond our bound
    └── TemporaryError
        ├── TooManyRequests         429, with the delay that was asked for
        ├── ServerError             5xx
        └── Unreachable             no answer at all: refused, timed out, no such host, TLS

Messages are short and hold no request bodies, so no secret can be in them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from volary.manifests import objects
from volary.model import errors, json

_LONGEST_MESSAGE = 600
_LONGEST_END = 200
#: How API servers say, with code 500 and no reason, that an applied object does not fit its
#: schema: `kube-apiserver` 1.36 for unknown fields and duplicate keys of list entries.
_MISFIT = re.compile(r"failed to create typed patch object")
#: Likewise, that an apply may not say a version where it creates: before 1.24 of Services.
_VERSIONED_CREATION = "resourceVersion should not be set on objects to be created"
_MISFIT_CAUSE = re.compile(r"(?P<field>\.[^\s:]+): (?P<message>[^\n]+)")
_MANAGER = re.compile(r'conflict with "(?P<manager>[^"]*)"')


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause in a Status."""

    #: ``FieldManagerConflict``, ``FieldValueInvalid``, …
    reason: str
    #: Path of the field, such as ``.spec.replicas``; empty when none is named.
    field: str
    message: str

    @property
    def manager(self) -> str:
        """The other field manager of an apply conflict; empty otherwise."""
        match = _MANAGER.search(self.message)
        return match["manager"] if match else ""

    @property
    def operation(self) -> str:
        """How the other field manager came to the field: ``Apply`` or ``Update``."""
        # API servers name the version of updates alone.
        return "Update" if " using " in self.message else "Apply"


class RequestError(errors.PermanentError):
    """The API server refused a request; `status` is the HTTP code."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        reason: str = "",
        causes: tuple[Cause, ...] = (),
    ) -> None:
        super().__init__(_short(message))
        self.status = status
        self.reason = reason
        self.causes = causes


class Unauthorized(RequestError):  # noqa: N818 - the API's own word
    """The credentials were not accepted."""


class CredentialsMissing(errors.UserError):
    """There are no credentials at the moment: the program that prints them failed."""


class MayNotImpersonate(errors.UserError):
    """The owner of the credentials may not act as whom requests are sent."""


class Forbidden(RequestError):  # noqa: N818
    """The user may not do this; the message names verb and resource."""


class NotFound(RequestError):  # noqa: N818
    """The object, or the resource type, does not exist."""

    @property
    def is_certain(self) -> bool:
        """Whether a Kubernetes API said so, about an object of a kind that it serves.

        A 404 of a proxy, or of a kind that is no longer served, is no evidence that an
        object is gone (nothing is deleted on absence of evidence).
        """
        return self.reason == "NotFound"


class AlreadyExists(RequestError):  # noqa: N818
    """An object of this name exists."""


class Conflict(RequestError):  # noqa: N818
    """The object has changed since it was read, or is another one of the same name."""


class ApplyConflict(Conflict):
    """Other field managers own fields that were applied; `causes` say which and who."""


class Invalid(RequestError):  # noqa: N818
    """The object is not valid; `causes` name the fields."""


class Refused(RequestError):  # noqa: N818
    """Whoever it would be written for may not write it; nothing was sent."""


class VersionedCreation(RequestError):  # noqa: N818
    """There is no such object, and the server creates none by an apply that says a version."""


class Expired(RequestError):  # noqa: N818
    """The resourceVersion or the page is no longer available."""


class TooLarge(RequestError):  # noqa: N818
    """The answer is larger than we read."""


class TooManyRequests(errors.TemporaryError):
    """The API server asks for patience."""

    status = 429


class ServerError(errors.TemporaryError):
    """The API server failed; `status` is the HTTP code."""

    def __init__(self, message: str, *, status: int, delay: timedelta | None = None) -> None:
        super().__init__(_short(message), delay=delay)
        self.status = status


class UnreachableReason(StrEnum):
    """Sorts of no answer."""

    REFUSED = "refused"
    TIMEOUT = "timeout"
    #: The host name cannot be resolved.
    NAME = "name"
    #: The server's certificate is not trusted, or is not for this host.
    UNTRUSTED = "untrusted"
    TLS = "tls"
    PROXY = "proxy"
    BROKEN = "broken"
    #: It is reached through its agent, and that is not connected.
    NO_AGENT = "no_agent"
    CIRCUIT_OPEN = "circuit_open"


class Unreachable(errors.TemporaryError):
    """No answer came; `sent` tells whether the request may have arrived."""

    def __init__(
        self,
        message: str,
        *,
        reason: UnreachableReason = UnreachableReason.BROKEN,
        sent: bool = True,
        delay: timedelta | None = None,
    ) -> None:
        super().__init__(_short(message), delay=delay)
        self.reason = reason
        self.sent = sent


class CircuitOpen(Unreachable):
    """The request was not sent: the cluster is left alone; `delay` says for how long."""


_BY_REASON: Mapping[str, type[RequestError]] = {
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "Expired": Expired,
    "Forbidden": Forbidden,
    "Gone": Expired,
    "Invalid": Invalid,
    "NotFound": NotFound,
    "Unauthorized": Unauthorized,
}
_BY_STATUS: Mapping[int, type[RequestError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    413: TooLarge,
    422: Invalid,
}
_TOO_MANY_REQUESTS = 429
_FAILURE = 400
_SERVER_ERROR = 500


def translate(
    status: int, body: json.JsonObject, *, what: str, delay: timedelta | None = None
) -> errors.VolaryError:
    """Return the error for an answer of `status` ≥ 300.

    `body` is a Kubernetes Status, or empty when the answer was none; `what` names verb
    and resource, ``patch deployments.apps shop/web``.
    """
    message = str(body.get("message") or f"{what}: {_bare(status)}")
    if status == _TOO_MANY_REQUESTS:
        return TooManyRequests(_short(message), delay=delay)
    if status >= _SERVER_ERROR:
        if _MISFIT.match(message):
            return Invalid(message, status=status, causes=_misfits(message))
        if _VERSIONED_CREATION in message:
            return VersionedCreation(message, status=status)
        return ServerError(message, status=status, delay=delay)
    reason = str(body.get("reason") or "")
    causes = _causes(body)
    kind = _BY_REASON.get(reason) or _BY_STATUS.get(status, RequestError)
    if kind is Conflict and any(cause.reason == "FieldManagerConflict" for cause in causes):
        kind = ApplyConflict
    if kind in (Unauthorized, Forbidden) and what not in message:
        message = f"{what}: {message}"
    return kind(message, status=status, reason=reason, causes=causes)


def _causes(body: json.JsonObject) -> tuple[Cause, ...]:
    return tuple(
        Cause(
            str(cause.get("reason") or ""),
            str(cause.get("field") or ""),
            _short(str(cause.get("message") or "")),
        )
        # All of them: each field decides whether it may be taken. Who words them bounds that.
        for cause in objects.mappings(body, "details", "causes")
    )


def _misfits(message: str) -> tuple[Cause, ...]:
    matches = _MISFIT_CAUSE.finditer(message[:_LONGEST_MESSAGE])
    return tuple(
        Cause("FieldValueInvalid", match["field"].removeprefix("."), match["message"])
        for match in matches
    )


def _bare(status: int) -> str:
    """Say what an answer without a Kubernetes Status means."""
    if status < _FAILURE:
        return f"the server redirects (HTTP {status}); is its URL right?"
    known = {401: "the credentials were not accepted", 404: "the server does not serve this"}
    return f"{known[status]} (HTTP {status})" if status in known else f"HTTP {status}"


def _short(message: str) -> str:
    """Keep the beginning and the end: a quoted value stands before what is wrong with it."""
    if len(message) <= _LONGEST_MESSAGE:
        return message
    return f"{message[: _LONGEST_MESSAGE - _LONGEST_END - 1]}…{message[-_LONGEST_END:]}"
