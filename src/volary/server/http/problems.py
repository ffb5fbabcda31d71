"""Refusals as `application/problem+json` (RFC 9457): what, why, and a hint what to do.

Nothing of a request's body is ever repeated: it may hold a secret that was put there by
mistake.
"""

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from fastapi import exceptions
from starlette import exceptions as starlette_exceptions
from starlette import requests, responses

from volary.controller import refusals
from volary.model import errors
from volary.server.authentication import logins
from volary.server.authorization import guard

_LOG = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"
#: Seconds after which a caller may try again.
_LATER = "2"


def problem(
    status: int,
    detail: str,
    *,
    hint: str = "",
    headers: Mapping[str, str] | None = None,
    problems: Sequence[Mapping[str, str]] = (),
) -> responses.Response:
    """Build the answer."""
    body: dict[str, object] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    if hint:
        body["hint"] = hint
    if problems:
        body["problems"] = list(problems)
    return responses.Response(
        msgspec.json.encode(body),
        status,
        {**(headers or {}), "cache-control": "no-store"},
        media_type=MEDIA_TYPE,
    )


async def refused(_: requests.Request, error: Exception) -> responses.Response:
    """Answer what Volary raised on purpose."""
    match error:
        case refusals.NotFound():
            return _of_user(HTTPStatus.NOT_FOUND, error)
        case refusals.Conflict():
            return _of_user(HTTPStatus.CONFLICT, error)
        case errors.UserError():
            return _of_user(HTTPStatus.BAD_REQUEST, error)
        case errors.TemporaryError():
            return problem(503, str(error), hint="try again", headers={"retry-after": _LATER})
        case _:
            _LOG.error("a request could not be answered: %s", error)
            return problem(500, "this cannot be answered", hint="the server's log says more")


def _of_user(status: HTTPStatus, error: errors.UserError) -> responses.Response:
    problems = [
        {"message": problem.message, "where": str(problem.where), "hint": problem.hint}
        for problem in error.problems
    ]
    first = error.problems[0] if error.problems else None
    return problem(
        status,
        first.message if first else status.phrase,
        hint=first.hint if first else "",
        problems=problems if len(problems) > 1 else (),
    )


async def unauthorized(_: requests.Request, error: Exception) -> responses.Response:
    """Answer whoever is not let in."""
    match error:
        case logins.TooManyError():
            seconds = str(max(1, int(error.wait.total_seconds()) + 1))
            return problem(429, str(error), hint="wait", headers={"retry-after": seconds})
        case guard.CrossSiteError():
            hint = "load the page again; programs send Authorization: Bearer TOKEN, and no cookie"
            return problem(403, str(error), hint=hint)
        case guard.ForbiddenError():
            return problem(403, str(error), hint="ask an administrator for the role")
        case _:
            return problem(
                401,
                str(error),
                hint="volary login URL; other programs send Authorization: Bearer TOKEN",
                headers={"www-authenticate": 'Bearer realm="volary"'},
            )


async def malformed(_: requests.Request, error: Exception) -> responses.Response:
    """Answer a request of the wrong shape: where and why, not with what."""
    assert isinstance(error, exceptions.RequestValidationError)
    problems = [{"where": _place(fault), "message": str(fault["msg"])} for fault in error.errors()]
    return problem(422, "the request is not of the documented shape", problems=problems)


def _place(fault: Mapping[str, Any]) -> str:
    """Return where it is; the name of a field that does not exist is the request's own word."""
    known = fault["loc"][:-1] if fault["type"] == "extra_forbidden" else fault["loc"]
    return ".".join(str(part) for part in known)


async def too_deep(_: requests.Request, __: Exception) -> responses.Response:
    """Answer JSON that is nested without end."""
    return problem(400, "the body is nested too deeply")


async def http(_: requests.Request, error: Exception) -> responses.Response:
    """Answer what the framework refuses: no such path, no such method, broken JSON."""
    assert isinstance(error, starlette_exceptions.HTTPException)
    detail = {404: "there is nothing at this path", 405: "this path has no such method"}
    return problem(
        error.status_code,
        detail.get(error.status_code, HTTPStatus(error.status_code).phrase),
        headers=error.headers,
    )


async def internal_error(_: requests.Request, __: Exception) -> responses.Response:
    """Answer a bug without a word about it; the log has it."""
    return problem(500, "this cannot be answered", hint="the server's log says more")
