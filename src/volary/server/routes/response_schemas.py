"""What answers look like in the OpenAPI document."""

from typing import Any

from fastapi import APIRouter
from starlette import responses

from volary.controller.api import representations
from volary.server.authorization import guard

PREFIX = "/api/v1"
_PROBLEM = {
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
}
_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"description": "Something in the request has to change", **_PROBLEM},
    401: {"description": "Credentials are needed", **_PROBLEM},
    403: {"description": "Not allowed", **_PROBLEM},
    404: {"description": "Not found, or not visible to you", **_PROBLEM},
    413: {"description": "The body is too large", **_PROBLEM},
    422: {"description": "The request is not of this shape", **_PROBLEM},
    429: {"description": "Too many failed logins", **_PROBLEM},
    503: {"description": "Not now; try again", **_PROBLEM},
}


def router(tag: str, prefix: str = PREFIX) -> APIRouter:
    """Return a router of guarded routes."""
    return APIRouter(
        prefix=prefix,
        tags=[tag],
        route_class=guard.GuardedRoute,
        default_response_class=responses.Response,
        responses=_REFUSALS,
    )


def _json(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _reference(representation: type[representations.Representation]) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{representation.__name__}"}


def one(
    representation: type[representations.Representation], description: str = "As it is now"
) -> dict[int | str, dict[str, Any]]:
    """Describe an answer of one representation."""
    return {
        200: _json(_reference(representation), description),
        304: {"description": "Not modified"},
    }


def many(representation: type[representations.Representation]) -> dict[int | str, dict[str, Any]]:
    """Describe a page of representations."""
    schema = {
        "type": "object",
        "required": ["items", "cursor"],
        "properties": {
            "items": {"type": "array", "items": _reference(representation)},
            "cursor": {"type": "string", "description": "Of the next page; empty: the last."},
        },
    }
    return {200: _json(schema, "A page"), 304: {"description": "Not modified"}}


def accepted(
    representation: type[representations.Representation],
) -> dict[int | str, dict[str, Any]]:
    """Describe the answer to a request that was accepted."""
    return {
        202: _json(_reference(representation), "Accepted"),
        409: {"description": "Not possible as things are", **_PROBLEM},
    }


def stream() -> dict[int | str, dict[str, Any]]:
    """Describe an event stream."""
    text = {"text/event-stream": {"schema": {"type": "string"}}}
    return {
        200: {"description": "Server-sent events; resumable by Last-Event-ID", "content": text},
        204: {"description": "There is nothing more to come"},
    }
