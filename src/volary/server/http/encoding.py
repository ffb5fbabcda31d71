"""Views as JSON bytes: camelCase keys, times in RFC 3339; lists are written without detours."""

import dataclasses
import hashlib
import types
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
from starlette import requests, responses

from volary.controller.api import placement_service, representations, status_representations


@dataclasses.dataclass(frozen=True, slots=True)
class PlacedTaskView:
    """A task and where it belongs."""

    #: Id of its stage.
    stage: str
    task: representations.TaskView


#: Views that answers are made of; their schemas are those of the OpenAPI document.
SHOWN: tuple[type, ...] = (
    representations.ApplicationView,
    status_representations.ApplicationStatusView,
    representations.RunSummaryView,
    representations.RunView,
    representations.EventView,
    representations.LogView,
    representations.FindingView,
    representations.ClusterView,
    representations.CommitView,
    representations.AskedView,
    representations.PlanView,
    representations.AuditView,
    representations.StageView,
    representations.TaskView,
    PlacedTaskView,
    representations.ApprovalView,
    representations.WantedApprovalView,
    placement_service.PlacementView,
    placement_service.RebalanceView,
)
_structs: dict[type, type[msgspec.Struct]] = {}
_encoder = msgspec.json.Encoder()


def name_of(view: type) -> str:
    """Return the name a view has in the OpenAPI document."""
    return view.__name__.removesuffix("View")


def struct_of(view: type) -> type[msgspec.Struct]:
    """Return the twin of a view that msgspec writes with camelCase keys."""
    if view not in _structs:
        hints = get_type_hints(view)
        members = [
            (view_field.name, _twin(hints[view_field.name]))
            for view_field in dataclasses.fields(view)
        ]
        _structs[view] = msgspec.defstruct(name_of(view), members, rename="camel", frozen=True)
    return _structs[view]


def _twin(annotation: Any) -> Any:
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        return struct_of(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        return tuple.__class_getitem__(tuple(_twin(argument) for argument in arguments))
    if origin in (types.UnionType, Union):
        return Union[tuple(_twin(argument) for argument in arguments)]  # noqa: UP007 - made at run time
    return annotation


def to_struct(view: object) -> object:
    """Return what JSON is written of a view."""
    return msgspec.convert(view, struct_of(type(view)), from_attributes=True)


def encode(body: object) -> bytes:
    """Return JSON bytes of structs and plain values."""
    return _encoder.encode(body)


def one(request: requests.Request, view: object, *, status: int = 200) -> responses.Response:
    """Answer with one view."""
    return answer(request, encode(to_struct(view)), status=status)


def accepted(request: requests.Request, view: object) -> responses.Response:
    """Answer that a request was accepted, with what is known of it now."""
    return one(request, view, status=202)


def many(
    request: requests.Request, items: tuple[object, ...], cursor: str = ""
) -> responses.Response:
    """Answer with a page: ``items``, and ``cursor`` of the next one (empty: the last)."""
    return answer(request, encode({"items": [to_struct(item) for item in items], "cursor": cursor}))


def answer(request: requests.Request, body: bytes, *, status: int = 200) -> responses.Response:
    """Answer with JSON bytes; a reader who has them already gets 304."""
    if request.method not in ("GET", "HEAD"):
        return responses.Response(body, status, media_type="application/json")
    tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    if _etag_matches(request.headers.get("if-none-match", ""), tag):
        return responses.Response(status_code=304, headers=headers)
    return responses.Response(body, status, headers, media_type="application/json")


def _etag_matches(given: str, tag: str) -> bool:
    tags = (listed_tag.strip().removeprefix("W/") for listed_tag in given.split(","))
    return any(listed_tag in (tag, "*") for listed_tag in tags)
