"""What the tasks of one run share: a rendezvous for each stage, and work that is done once for
all.

Present at a rendezvous is who is being carried out in this moment: a cluster that has ended,
waits for its turn or belongs to a later wave is waited for by nobody. What somebody said before
leaving stays said. Nothing here is durable: after a restart the tasks run again, and say from
their state what they had said.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

#: Topics kept; older ones are dropped, so that a stage of weeks stays small.
_MOST_TOPICS = 200


class Rendezvous:
    """The tasks of one stage that are carried out together."""

    def __init__(self) -> None:
        self._present: dict[str, None] = {}
        self._said: OrderedDict[str, dict[str, object]] = OrderedDict()
        self._changed = asyncio.Event()

    @property
    def members(self) -> tuple[str, ...]:
        """Who is present, in order of arrival; the first one may speak for all."""
        return tuple(self._present)

    def join(self, target: str) -> None:
        """Be present; a second call changes nothing."""
        if target in self._present:
            return
        for said in self._said.values():
            said.pop(target, None)
        self._present[target] = None

    def leave(self, target: str) -> None:
        """Be waited for no more; done for every task that ends, however it does."""
        if target in self._present:
            del self._present[target]
            self._tell()

    def post(self, target: str, topic: str, value: object) -> None:
        """Say something about a topic; a second value takes the place of the first."""
        self._said.setdefault(topic, {})[target] = value
        self._said.move_to_end(topic)
        while len(self._said) > _MOST_TOPICS:
            self._said.popitem(last=False)
        self._tell()

    def said(self, topic: str) -> Mapping[str, object]:
        """Return what was said about a topic so far, by target."""
        return dict(self._said.get(topic, {}))

    async def gather(self, target: str, topic: str) -> Mapping[str, object]:
        """Wait until all who are present have spoken, and return what was said, by target.

        `target`, who asks, is not waited for. The answer holds what those said who have left
        since. It does not end by itself: whoever asks limits the time, and heeds the stop flag.
        """
        # Those that were started in the same moment shall have had their first turn.
        await asyncio.sleep(0)
        while self._silent(target, topic):
            # A new one each time: whoever tells wakes all who wait now, and nobody later.
            await self._changed.wait()
        return self.said(topic)

    def _silent(self, target: str, topic: str) -> bool:
        said = self._said.get(topic, {})
        return any(
            other_target != target and other_target not in said for other_target in self._present
        )

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SharedResult(Generic[T]):
    """What was done, and for whom it was done by somebody else."""

    value: T
    #: The cluster whose task did it.
    by: str


class SingleFlight:
    """Shared by the tasks of a run in one process.

    Who comes first does it; who comes meanwhile or later gets the result. When the one that
    does it is broken off or raises, the next one that waits does it.
    """

    def __init__(self) -> None:
        self._known: dict[str, asyncio.Future[SharedResult[object] | None]] = {}

    async def do(
        self,
        key: str,
        target: str,
        work: Callable[[], Awaitable[T]],
        *,
        is_kept: Callable[[T], bool],
        stop: Callable[[], Awaitable[None]],
    ) -> SharedResult[T] | None:
        """Have `work` done once for `key`.

        Args:
            key: What it is.
            target: Who comes.
            work: Does it; what it raises is raised to the one that does it only.
            is_kept: Says whether a value stays for those that come after it is known; those
                that wait get it in any case.
            stop: Returns when this one waits no longer.

        Returns:
            The result; None when this one stopped waiting.
        """
        while True:
            running = self._known.get(key)
            if running is None:
                return await self._do(key, target, work, is_kept)
            if not await _either(running, stop):
                return None
            shared_result = None if running.cancelled() else running.result()
            if shared_result is not None:
                return shared_result  # type: ignore[return-value] # of the same key, so the same work

    def forget(self, key: str) -> None:
        """Know nothing of a key any more, unless it is just being done."""
        known = self._known.get(key)
        if known is not None and known.done():
            del self._known[key]

    async def _do(
        self, key: str, target: str, work: Callable[[], Awaitable[T]], is_kept: Callable[[T], bool]
    ) -> SharedResult[T]:
        future: asyncio.Future[SharedResult[object] | None] = (
            asyncio.get_running_loop().create_future()
        )
        self._known[key] = future
        result: SharedResult[T] | None = None
        try:
            result = SharedResult(await work(), target)
        finally:
            if result is None or not is_kept(result.value):
                del self._known[key]
            future.set_result(result)  # type: ignore[arg-type] # as above
        return result


async def _either(
    future: "asyncio.Future[SharedResult[object] | None]", stop: Callable[[], Awaitable[None]]
) -> bool:
    """Wait for a future or for a wish to stop; say whether it was the future."""

    async def stopping() -> None:
        await stop()

    async with asyncio.TaskGroup() as group:
        asked = group.create_task(stopping())
        await asyncio.wait((future, asked), return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
    return future.done()
