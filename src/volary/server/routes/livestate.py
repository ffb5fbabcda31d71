"""Live state: what an application has in its clusters as a tree, one object whole, and logs."""

from typing import Annotated

import fastapi
from starlette import requests, responses

from volary.controller.api import live_representations, live_service, pod_logs
from volary.model.objects import manifest
from volary.server import server_state
from volary.server.authorization import access
from volary.server.http import encoding, event_streams, paging
from volary.server.permissions import Permission
from volary.server.routes import response_schemas

router = response_schemas.router("livestate")
Tail = Annotated[int, fastapi.Query(ge=0, le=5000, description="Lines from its end to begin with.")]


def _live(request: requests.Request) -> live_service.LiveService:
    return server_state.of(request).service.live


@router.get(
    "/applications/{application}/tree",
    responses=response_schemas.one(live_representations.LiveTree),
)
@access.needs(Permission.VIEW, access.Scope.APPLICATION)
async def get_tree(
    request: requests.Request, application: str, cluster: paging.Word = ""
) -> responses.Response:
    """Show what an application has in its clusters, or in one: objects and pods."""
    return encoding.one(request, await _live(request).tree(application, cluster))


@router.get("/applications/{application}/tree/stream", responses=response_schemas.stream())
@access.needs(Permission.VIEW, access.Scope.APPLICATION)
async def stream_tree(
    request: requests.Request, application: str, cluster: paging.Word = "", after: paging.After = 0
) -> responses.Response:
    """Follow the tree: a ``tree`` event with all of it, then a ``change`` for each difference.

    The id of each is the version up to which the reader knows everything. One that has been away
    for too long, or comes from another process, gets a ``tree`` again.
    """
    live = _live(request)
    start = event_streams.start_of(request, after)
    if not start:
        await live.tree(application, cluster)

    async def fetch(at: int, limit: int) -> tuple[list[event_streams.StreamEvent], int]:
        changed = await live.changes(application, at, cluster)
        if isinstance(changed, live_representations.LiveTree):
            event = event_streams.StreamEvent(changed.version, "tree", changed)
            return [event], changed.version
        pieces = [event_streams.StreamEvent(change.version, "change", change) for change in changed]
        return pieces, pieces[-1].id if pieces else at

    return event_streams.respond(request, event_streams.Source(fetch, live.live.changed), start)


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
    key = manifest.ResourceKey(group, kind, namespace, name)
    return encoding.one(request, await _live(request).object(application, cluster, key))


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
    tail: Tail = 200,
    previous: bool = False,
    after: paging.After = 0,
) -> responses.Response:
    """Follow the log of a container, from its last lines on; a ``line`` event for each.

    The id of each line is its position; an ``end`` event says why there are no more. With `after`
    it goes on behind that line.
    """
    start = event_streams.start_of(request, after)
    wanted = pod_logs.Wanted(namespace, pod, container, tail, previous, start)
    log = await _live(request).log(application, cluster, wanted)

    async def fetch(at: int, limit: int) -> tuple[list[event_streams.StreamEvent], int]:
        pieces = []
        for piece in log.take(limit):
            if isinstance(piece, pod_logs.PodLogEnd):
                pieces.append(event_streams.StreamEvent(at, "end", piece, is_last=True))
            else:
                at = piece.position
                pieces.append(event_streams.StreamEvent(at, "line", piece))
        return pieces, at

    return event_streams.respond(
        request, event_streams.Source(fetch, log.changed, log.close), start
    )
