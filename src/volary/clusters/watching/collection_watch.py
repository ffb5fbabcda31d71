"""Watching several collections at once until a question is answered.

Listeners put what they hear into plain dictionaries; after each change the question is
asked again. A watch waits out failures that may pass, for ever; so when nothing has been
heard for a while the cluster is asked for its version, and when it stays silent the
wait ends as unreachable instead of at a deadline hours away. A wait that ends undecided asks too.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TypeVar

from volary.clusters.api import api_errors, discovery
from volary.clusters.client import clients, watches
from volary.manifests import objects
from volary.model import errors, json

#: Seconds after which the question is asked again without a change: for limits that pass.
_TICK = 1.0
#: Seconds of silence after which the cluster is asked whether it is there.
_SILENCE = 20.0
#: Seconds without any answer after which it counts as unreachable.
_UNREACHABLE_AFTER = 60.0
#: Seconds of silence after which a wait that ends without a decision asks whether it is there.
_DOUBTED_AFTER = 0.5
#: Seconds that it has to say so.
_LAST_WORD = 5.0

#: From where a watch begins with everything that is there.
_ALL = "0"

Key = TypeVar("Key")
#: Takes an object by name as it is now; None when it is gone.
Handler = Callable[[str, json.JsonObject | None], None]


@dataclass(frozen=True, slots=True)
class Source:
    """One collection to listen to."""

    resource: discovery.Resource
    namespace: str
    keep: Handler
    label_selector: str = ""
    field_selector: str = ""
    #: Only explains what the others show: listened to when they alone do not decide, and without
    #: it when the cluster does not let us.
    optional: bool = False
    #: All there is of it, as it was written just now: it is not listed, only followed.
    written: json.JsonObject | None = None
    #: Where it is kept how its watch stands; None: nobody wants to know.
    standing: watches.Standing | None = None


class End(StrEnum):
    """Why listening ended."""

    DECIDED = "decided"
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"


async def watch_until(
    client: clients.Client,
    sources: Sequence[Source],
    decide: Callable[[], bool],
    *,
    timeout: timedelta,
    stop: Callable[[], Awaitable[None]],
    by_time: bool = True,
) -> End:
    """Listen to `sources` until `decide` says that it is decided, `stop` returns or time is up.

    `decide` is first asked when every source that is not optional has been listed once. When that
    decides it already, nothing is watched: a watch costs a connection of its own. After that it is
    asked at each change, and with `by_time` every second, for answers that depend on limits that
    pass.

    Raises:
        VolaryError: when a source cannot be watched, or the cluster is not there any more.
    """
    room = _Listeners(sum(not source.optional for source in sources))
    # A task group would wrap what its body raises, so errors leave it as values.
    async with asyncio.TaskGroup() as group:
        stopper = group.create_task(_returned(stop))
        tasks = [group.create_task(room.listen(client, source)) for source in sources]
        tasks.append(group.create_task(room.look_after(client)))
        stopper.add_done_callback(lambda _: room.changed.set())
        try:
            tick = _TICK if by_time else timeout.total_seconds()
            ended = await room.wait(decide, timeout, stopper, tick)
        finally:
            for task in (stopper, *tasks):
                task.cancel()
    if ended in (End.TIMED_OUT, End.STOPPED):
        ended = await room.doubt(client) or ended
    if isinstance(ended, errors.VolaryError):
        raise ended
    return ended


async def _returned(stop: Callable[[], Awaitable[None]]) -> None:
    await stop()


class _Listeners:
    """Where the listeners of one wait report to."""

    def __init__(self, sources: int) -> None:
        self.changed = asyncio.Event()
        #: The first lists alone did not decide it.
        self._goes_on = asyncio.Event()
        self._unlisted = sources
        self._error: errors.VolaryError | None = None
        self._heard = asyncio.get_running_loop().time()

    async def wait(
        self,
        decide: Callable[[], bool],
        timeout: timedelta,
        stopper: "asyncio.Task[None]",
        tick: float,
    ) -> End | errors.VolaryError:
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout.total_seconds()
        while True:
            self.changed.clear()
            if self._error is not None:
                return self._error
            if not self._unlisted and decide():
                return End.DECIDED
            if not self._unlisted:
                self._goes_on.set()
            if stopper.done():
                return End.STOPPED
            remaining = until - loop.time()
            if remaining <= 0:
                return End.TIMED_OUT
            try:
                async with asyncio.timeout(min(remaining, tick)):
                    await self.changed.wait()
            except TimeoutError:
                continue

    async def listen(self, client: clients.Client, source: Source) -> None:
        """Keep what one source yields; its first list counts it as heard."""
        known: set[str] = set()
        listed = False
        if source.optional:
            await self._goes_on.wait()
        if source.written is not None:
            everything = clients.WatchEvent(clients.WatchKind.RELISTED, {}, (source.written,))
            _handle(everything, source.keep, known)
            listed = True
            self._unlisted -= 1
            self.changed.set()
            await self._goes_on.wait()
        try:
            events = client.watch(
                source.resource,
                namespace=source.namespace,
                label_selector=source.label_selector,
                field_selector=source.field_selector,
                # One request instead of two: all there is comes as changes.
                resource_version=_ALL if source.optional else _place(source.written),
                standing=source.standing,
            )
            async with aclosing(events):
                async for event in events:
                    _handle(event, source.keep, known)
                    if not listed and not source.optional:
                        listed = True
                        self._unlisted -= 1
                    self._heard = asyncio.get_running_loop().time()
                    self.changed.set()
                    await self._goes_on.wait()
        except errors.VolaryError as error:
            if not source.optional:
                self._error = error
                self.changed.set()

    async def doubt(self, client: clients.Client) -> errors.VolaryError | None:
        """Return why the cluster is not there, when it has said nothing lately.

        A limit that is shorter than it takes to notice must not make a failure of a silence.
        """
        loop = asyncio.get_running_loop()
        if loop.time() - max(self._heard, client.answered) < _DOUBTED_AFTER:
            return None
        trouble: Exception
        try:
            async with asyncio.timeout(_LAST_WORD):
                await client.version()
        except TimeoutError:
            trouble = errors.TemporaryError(f"no answer within {_LAST_WORD:g} s")
        except errors.TemporaryError as error:
            trouble = error
        except errors.VolaryError:
            # It answered, if only to refuse.
            return None
        else:
            return None
        return api_errors.Unreachable(f"cluster {client.name} stopped answering: {trouble}")

    async def look_after(self, client: clients.Client) -> None:
        """Notice a cluster that is not there any more."""
        loop = asyncio.get_running_loop()
        while True:
            silent = loop.time() - self._heard
            await asyncio.sleep(max(_SILENCE - silent, _TICK))
            # Others ask the same cluster: one that answers them is there.
            self._heard = max(self._heard, client.answered)
            if loop.time() - self._heard < _SILENCE:
                continue
            try:
                await client.version()
                self._heard = loop.time()
            except errors.TemporaryError as error:
                if loop.time() - self._heard >= _UNREACHABLE_AFTER:
                    self._error = api_errors.Unreachable(
                        f"cluster {client.name} stopped answering: {error}"
                    )
                    self.changed.set()
                    return
            except errors.VolaryError:
                # It answered, if only to refuse; the watches know better.
                self._heard = loop.time()


def store(kept: dict[Key, json.JsonObject], key_of: Callable[[str], Key]) -> Handler:
    """Return a handler that keeps every object in `kept`, by what its name becomes."""

    def keep(name: str, body: json.JsonObject | None) -> None:
        if body is None:
            kept.pop(key_of(name), None)
        else:
            kept[key_of(name)] = body

    return keep


def store_by_name(kept: dict[str, json.JsonObject]) -> Handler:
    """Return a handler that keeps every object in `kept` by its name."""
    return store(kept, str)


def _place(written: json.JsonObject | None) -> str:
    """Return from where an object is followed; empty: it has to be listed."""
    return objects.text(written, "metadata", "resourceVersion") if written else ""


def _handle(event: clients.WatchEvent, keep: Handler, known: set[str]) -> None:
    match event.kind:
        case watches.WatchKind.RELISTED:
            present = {objects.text(body, "metadata", "name"): body for body in event.items}
            for name in known - present.keys():
                keep(name, None)
            for name, body in present.items():
                keep(name, body)
            known.clear()
            known.update(present)
        case watches.WatchKind.DELETED:
            name = objects.text(event.body, "metadata", "name")
            keep(name, None)
        case watches.WatchKind.ADDED | watches.WatchKind.MODIFIED:
            name = objects.text(event.body, "metadata", "name")
            known.add(name)
            keep(name, event.body)
