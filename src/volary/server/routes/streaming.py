"""Server-sent events of one run, of its logs, and of everything."""

from starlette import requests, responses

from volary.server import server_state
from volary.server.authorization import access, visibility
from volary.server.http import event_streams, paging
from volary.server.permissions import Permission
from volary.server.routes import response_schemas

router = response_schemas.router("streams")
#: The last event of a run's feed.
_LAST = "run-finished"
#: An event, and the application and the cluster that it is about; the cluster may be None.
_AppEvent = tuple[str, object, event_streams.StreamEvent]


@router.get("/runs/{run}/events/stream", responses=response_schemas.stream())
@access.needs(Permission.VIEW, access.Scope.RUN)
async def stream_run(
    request: requests.Request, run: str, after: paging.After = 0
) -> responses.Response:
    """Follow a run; the id of each event is its number, and the stream ends with the run."""
    service = server_state.of(request).service
    start = event_streams.start_of(request, after)
    run_view = await service.run(run)
    if run_view.summary.finished and run_view.last_event <= start:
        return responses.Response(status_code=204)

    async def fetch(at: int, limit: int) -> tuple[list[event_streams.StreamEvent], int]:
        events = await service.events(run, at, limit=limit)
        pieces = [
            event_streams.StreamEvent(
                event.number,
                event.event,
                {"number": event.number, **event.document},
                is_last=event.event == _LAST,
            )
            for event in events
        ]
        return pieces, events[-1].number if events else at

    fetch_once = event_streams.shared(request, ("run", run), fetch)
    return event_streams.respond(request, fetch_once, start)


@router.get("/events/stream", responses=response_schemas.stream())
@access.needs(Permission.VIEW, access.Scope.OWN)
async def stream_all(
    request: requests.Request,
    application: paging.Word = "",
    cluster: paging.Word = "",
    after: paging.After | None = None,
) -> responses.Response:
    """Follow every run, from now on or after a position; the id of each event is its position.

    `cluster`: only events of this one.
    """
    service = server_state.of(request).service
    start = event_streams.start_of(request, await service.position() if after is None else after)

    reads, asked = server_state.of(request).reads, {application} if application else None

    async def fetch(at: int, limit: int) -> tuple[list[_AppEvent], int]:
        events = await service.all_events(at, applications=asked, limit=limit)
        pieces = [
            (
                event.application,
                event.document.get("target"),
                event_streams.StreamEvent(event.position, event.event, event),
            )
            for event in events
        ]
        return pieces, events[-1].position if events else at

    async def fetch_visible(at: int, limit: int) -> tuple[list[event_streams.StreamEvent], int]:
        key = ("all", application, at, limit)
        events, last = await reads.read(key, lambda: fetch(at, limit))
        # Who they are may change while the stream lasts.
        seen = visibility.of(request, reads)
        # Narrowed after reading: viewers of different clusters share what is read.
        near = [(name, event) for name, target, event in events if not cluster or target == cluster]
        return [event for name, event in near if await seen.can_see(name)], last

    return event_streams.respond(request, fetch_visible, start)


@router.get("/runs/{run}/logs/stream", responses=response_schemas.stream())
@access.needs(Permission.VIEW, access.Scope.RUN)
async def stream_logs(
    request: requests.Request,
    run: str,
    stage: paging.Word = "",
    cluster: paging.Word = "",
    after: paging.After = 0,
) -> responses.Response:
    """Follow a run's logs; the id of each line is its position, an ``end`` event ends it."""
    service = server_state.of(request).service
    start = event_streams.start_of(request, after)
    await service.run_summary(run)

    async def fetch(at: int, limit: int) -> tuple[list[event_streams.StreamEvent], int]:
        # Asked before the lines: what a run that has ended said is all there then.
        ended = (await service.run_summary(run)).finished
        lines = await service.logs(run, stage=stage, target=cluster, after=at, limit=limit)
        pieces = [event_streams.StreamEvent(line.position, "line", line) for line in lines]
        at = lines[-1].position if lines else at
        if ended and len(lines) < limit:
            pieces.append(
                event_streams.StreamEvent(at, "end", {"reason": "the run has ended"}, is_last=True)
            )
        return pieces, at

    stream = ("logs", run, stage, cluster)
    return event_streams.respond(request, event_streams.shared(request, stream, fetch), start)
