"""Watches: a stream of changes, one JSON object per line."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from aiohttp import web

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors, parameters
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.endpoints import encoding, negotiation, routes
from kube_sandbox.apiserver.registry import listing
from kube_sandbox.apiserver.storage import cluster_state, selection, storage

#: Seconds; a client that does not ask gets this long (kube-apiserver: 30 to 60 minutes).
_LIFETIME = 1800.0
#: Seconds between bookmarks.
_BOOKMARKS = 30.0
#: A watcher further behind is cut off: it reads too slowly.
_BACKLOG = 10_000
_INITIAL_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class Wish:
    """What a watch shall show."""

    kind: kinds.Kind
    namespace: str
    matches: selection.Predicate
    #: From which resourceVersion; None: from now, after all there is.
    revision: int | None
    #: Send what there is first.
    initial: bool
    #: Say when the initial objects end.
    initial_end: bool
    bookmarks: bool
    lifetime: float
    form: negotiation.Form
    include: str = ""


def read_wish(route: routes.Route, request: web.Request, form: negotiation.Form) -> Wish:
    """Read a watch's query.

    Raises:
        api_errors.StatusError: 400 or 422.
    """
    query = request.query
    fields = query.get("fieldSelector", "")
    if route.name:
        own = f"metadata.name={route.name}"
        fields = f"{fields},{own}" if fields else own
    version = query.get("resourceVersion", "")
    given, asked = "sendInitialEvents" in query, parameters.flag(query, "sendInitialEvents")
    match = query.get("resourceVersionMatch", "")
    if asked is not (match == "NotOlderThan"):
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        if not asked:
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        raise _forbidden(why)
    anew = version in ("", "0")
    bookmarks = parameters.flag(query, "allowWatchBookmarks")
    initial = asked or (not given and anew)
    return Wish(
        kind=route.kind,
        namespace=route.namespace,
        matches=listing.matcher(route.kind, query.get("labelSelector", ""), fields),
        revision=None if anew or initial else listing.parse_version(version),
        initial=initial,
        initial_end=asked and bookmarks,
        bookmarks=bookmarks,
        lifetime=_lifetime(query.get("timeoutSeconds", "")),
        form=form,
        include=query.get("includeObject", ""),
    )


def _forbidden(why: str) -> api_errors.StatusError:
    cause = {
        "reason": "FieldValueForbidden",
        "message": f"Forbidden: {why}",
        "field": "resourceVersionMatch",
    }
    message = f'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: {why}'
    return api_errors.invalid("meta.k8s.io", "ListOptions", "", message, [cause])


def _lifetime(text: str) -> float:
    return float(text) if text.isdecimal() and int(text) > 0 else _LIFETIME


class Stream:
    """One watch: turns changes into lines."""

    def __init__(self, state: cluster_state.ClusterState, wish: Wish) -> None:
        self._state = state
        self._wish = wish
        self._changes: asyncio.Queue[storage.Change | None] = asyncio.Queue(_BACKLOG)
        self._columns_sent = False
        #: Up to where the client has seen everything.
        self._seen = 0
        self._overrun = False

    def follow(self) -> Callable[[], None]:
        """Collect changes from now on; returns how to stop that."""
        return self._state.storage.subscribe(self._collect)

    def _collect(self, change: storage.Change) -> None:
        if change.bucket != self._wish.kind.bucket:
            return
        try:
            self._changes.put_nowait(change)
        except asyncio.QueueFull:
            self._overrun = True

    def end(self) -> None:
        """Let the stream end after what was collected."""
        self._overrun = True
        if self._changes.empty():
            self._changes.put_nowait(None)

    def start(self) -> Iterator[bytes]:
        """Yield what the client has to know before changes flow."""
        wish, store = self._wish, self._state.storage
        self._seen = store.revision
        if wish.initial:
            for each in store.list(wish.kind.bucket, wish.namespace):
                if wish.matches(each.body):
                    yield self._line(storage.Event.ADDED, each)
            if wish.initial_end:
                yield self._bookmark({_INITIAL_END: "true"})
        elif wish.revision is not None:
            yield from self._replayed(wish.revision)

    def _replayed(self, revision: int) -> Iterator[bytes]:
        store = self._state.storage
        if revision > store.revision:
            yield self._error(listing.too_large(revision, store.revision))
            self.end()
            return
        try:
            changes = store.since(self._wish.kind.bucket, revision)
        except storage.ExpiredError as problem:
            yield self._error(api_errors.expired(str(problem)))
            self.end()
            return
        for each in changes:
            yield from self._told(each)

    async def next(self, deadline: float) -> bytes | None:
        """Return the lines of what happened since, a bookmark when nothing did; None: the end."""
        loop = asyncio.get_running_loop()
        while True:
            wait = min(deadline - loop.time(), _BOOKMARKS)
            if wait <= 0 or (self._overrun and self._changes.empty()):
                return None
            try:
                async with asyncio.timeout(wait):
                    change = await self._changes.get()
            except TimeoutError:
                if self._wish.bookmarks:
                    self._seen = max(self._seen, self._state.storage.revision)
                    return self._bookmark({})
                continue
            lines = self._drained(change)
            if lines:
                return lines

    def _drained(self, change: storage.Change | None) -> bytes:
        """Tell a change and all that wait behind it."""
        lines: list[bytes] = []
        while True:
            if change is not None:
                lines.extend(self._told(change))
                self._seen = change.revision
            if self._changes.empty():
                return b"".join(lines)
            change = self._changes.get_nowait()

    def _told(self, change: storage.Change) -> Iterator[bytes]:
        """Tell a change as the selection sees it: objects enter and leave it."""
        wish = self._wish
        if wish.namespace and change.item.key[0] != wish.namespace:
            return
        previous = change.previous
        was = previous is not None and wish.matches(previous.body)
        deleted = change.event is storage.Event.DELETED
        now = not deleted and wish.matches(change.item.body)
        if now:
            event = storage.Event.MODIFIED if was else storage.Event.ADDED
            yield self._line(event, change.item)
        elif was and previous is not None:
            # As it was when it was last seen, at the revision at which it left.
            left = storage.Item(
                change.item.key,
                change.revision,
                storage.stamped(previous.body, change.revision),
            )
            left.retire()
            yield self._line(storage.Event.DELETED, change.item if deleted else left)

    def _line(self, event: storage.Event, item: storage.Item) -> bytes:
        return b'{"type":"%s","object":%s}\n' % (event.value.encode(), self._object(item))

    def _object(self, item: storage.Item) -> bytes:
        wish = self._wish
        if wish.form.partial:
            return encoding.encode(encoding.partial(item.body))
        if wish.form.shape is negotiation.Shape.TABLE:
            return self._table([item.body], {"resourceVersion": str(item.revision)})
        return encoding.item(wish.kind, item)

    def _table(self, objects: list[json.JsonObject], metadata: json.JsonObject) -> bytes:
        told = encoding.as_table(
            self._wish.kind,
            objects,
            now=self._state.time.now(),
            include=self._wish.include,
            metadata=metadata,
            with_columns=not self._columns_sent,
        )
        self._columns_sent = True
        return encoding.encode(told)

    def _bookmark(self, annotations: dict[str, str]) -> bytes:
        metadata: json.JsonObject = {"resourceVersion": str(self._seen)}
        if annotations:
            metadata["annotations"] = annotations
        kind = self._wish.kind
        if self._wish.form.shape is negotiation.Shape.TABLE:
            text = self._table([], metadata)
        else:
            told = {"kind": kind.name, "apiVersion": kind.api_version, "metadata": metadata}
            shown = encoding.partial(told) if self._wish.form.partial else told
            text = encoding.encode(shown)
        return b'{"type":"BOOKMARK","object":%s}\n' % text

    def _error(self, problem: api_errors.StatusError) -> bytes:
        return b'{"type":"ERROR","object":%s}\n' % encoding.encode(problem.body)


async def serve(
    request: web.Request, state: cluster_state.ClusterState, wish: Wish, open_streams: set[Stream]
) -> web.StreamResponse:
    """Answer a watch until it ends, the client leaves or the server stops."""
    stream = Stream(state, wish)
    response = web.StreamResponse(headers={"Cache-Control": "no-cache, private"})
    response.content_type = "application/json"
    if wish.kind.deprecation:
        response.headers["Warning"] = encoding.warning(wish.kind.deprecation)
    response.enable_chunked_encoding()
    deadline = asyncio.get_running_loop().time() + wish.lifetime
    stop = stream.follow()
    open_streams.add(stream)
    try:
        first = b"".join(stream.start())
        await response.prepare(request)
        if first:
            await response.write(first)
        while (lines := await stream.next(deadline)) is not None:
            await response.write(lines)
        await response.write_eof()
    except ConnectionError:
        pass  # the client has left, which is how watches usually end
    finally:
        stop()
        open_streams.discard(stream)
    return response
