"""Live state: what an application has in its clusters as a tree, one object whole, and logs."""

from starlette import requests, responses

from volary.controller.api import live_representations
from volary.model import errors
from volary.server.authorization import access
from volary.server.http import paging
from volary.server.permissions import Permission
from volary.server.routes import response_schemas

router = response_schemas.router("livestate")


@router.get(
    "/applications/{application}/tree",
    responses=response_schemas.one(live_representations.LiveTree),
)
@access.needs(Permission.VIEW, access.Scope.APPLICATION)
async def get_tree(
    request: requests.Request, application: str, cluster: paging.Word = ""
) -> responses.Response:
    """Show what an application has in its clusters, or in one: objects and pods."""
    raise errors.TemporaryError("this is not served yet")


@router.get("/applications/{application}/tree/stream", responses=response_schemas.stream())
@access.needs(Permission.VIEW, access.Scope.APPLICATION)
async def stream_tree(
    request: requests.Request, application: str, cluster: paging.Word = "", after: paging.After = 0
) -> responses.Response:
    """Follow the tree: a ``tree`` event with all of it, then a ``change`` for each difference."""
    raise errors.TemporaryError("this is not served yet")


@router.get(
    "/applications/{application}/clusters/{cluster}/object",
    responses=response_schemas.one(live_representations.LiveObject),
)
@access.needs(Permission.VIEW, access.Scope.APPLICATION)
async def get_object(
    request: requests.Request,
    application: str,
    cluster: str,
    kind: paging.Word,
    name: paging.Word,
    group: paging.Word = "",
    namespace: paging.Word = "",
) -> responses.Response:
    """Show one object whole: as it is, as Git says, what differs and who did it."""
    raise errors.TemporaryError("this is not served yet")


@router.get(
    "/applications/{application}/clusters/{cluster}/logs/stream",
    responses=response_schemas.stream(),
)
@access.needs(Permission.VIEW, access.Scope.APPLICATION)
async def stream_pod_logs(
    request: requests.Request,
    application: str,
    cluster: str,
    namespace: paging.Word,
    pod: paging.Word,
    container: paging.Word = "",
    tail: int = 200,
    previous: bool = False,
) -> responses.Response:
    """Follow the log of a container, from its last lines on; a ``line`` event for each."""
    raise errors.TemporaryError("this is not served yet")
