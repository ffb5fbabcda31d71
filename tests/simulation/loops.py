"""An event loop of several processes: virtual time, and who goes on next is drawn by lot.

The order within a process is asyncio's own, which programs may rely on. Between processes there is
none, so whenever several can go on, a seeded lot decides. For that it looks into asyncio's own
queues, which no type stub knows and no public function shows: hence the ignored types.
"""

import asyncio
import contextvars
import heapq
import random
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

#: Who runs: where a task, or a callback, belongs to.
PLACE: contextvars.ContextVar[str] = contextvars.ContextVar("place", default="world")


#: Seconds that every wait takes at least.
_RESOLUTION = 1e-6
#: How often a task is cancelled at most, and for how many turns it is waited for each time.
_MOST_CANCELS, _STEPS_TO_END = 20, 10
_UNENDED: list["asyncio.Task[Any]"] = []


class StuckError(Exception):
    """Nothing can ever go on again, or something goes on without end."""


class Loop(asyncio.SelectorEventLoop):
    """Never waits, never uses a thread, and lets nothing of a killed place go on."""

    def __init__(self, seed: int, most_steps: int) -> None:
        self._time = 0.0
        super().__init__()
        self.lot = random.Random(seed)
        self._queues: dict[str, deque[asyncio.Handle]] = {}
        #: Nothing of these goes on.
        self._dead: set[str] = set()
        #: Until when others stand still.
        self._paused: dict[str, float] = {}
        #: How long the machine of a place has slept: its own clock stood still meanwhile.
        self._slept: dict[str, float] = {}
        #: All of them, for as long as the loop lives: one of a killed place must not be collected,
        #: for then its clean-up would run.
        self._every: list[asyncio.Task[Any]] = []
        #: Steps so far.
        self.steps = 0
        #: More than these it does not make.
        self.most_steps = most_steps

    @property
    def now(self) -> float:
        """The seconds since the beginning, for everybody: also while a machine sleeps."""
        return self._time

    def time(self) -> float:
        """Return the seconds that the machine of this place was awake since the beginning."""
        return self._time - self._slept.get(PLACE.get(), 0.0)

    def start(self, place: str, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Begin something at a place; all that comes of it belongs there, too."""
        context = contextvars.copy_context()
        context.run(PLACE.set, place)
        return self.create_task(work, context=context)

    def create_task(self, coro: Any, **named: Any) -> "asyncio.Task[Any]":  # type: ignore[override]
        """Make a task, and remember it."""
        task = super().create_task(coro, **named)
        self._every.append(task)
        return task

    def kill(self, place: str) -> None:
        """Let nothing of a place ever go on: no handler, no clean-up."""
        self._dead.add(place)

    def pause(self, place: str, seconds: float) -> None:
        """Let nothing of a place go on for some seconds."""
        until = max(self._paused.get(place, 0.0), self._time + seconds)
        self._paused[place] = until
        self.call_later(seconds, self._resume, place)

    def suspend(self, place: str, seconds: float) -> None:
        """Have the machine of a place sleep: what it waits for comes so much later."""
        self._slept[place] = self._slept.get(place, 0.0) + seconds
        scheduled = self._scheduled  # type: ignore[attr-defined]
        for handle in scheduled:
            if handle._context.get(PLACE, "world") == place:
                handle._when += seconds
        heapq.heapify(scheduled)
        self.pause(place, seconds)

    def _resume(self, place: str) -> None:
        if self._paused.get(place, self._time) <= self._time:
            self._paused.pop(place, None)

    async def end(self) -> bool:
        """Cancel everything, and let it go on, also what was killed; say whether all has ended.

        What does not end is kept for good: were it collected, its clean-up would run at any time.
        """
        self._dead.clear()
        self._paused.clear()
        mine = asyncio.current_task()
        for _ in range(_MOST_CANCELS):
            left = [task for task in self._every if task is not mine and not task.done()]
            if not left:
                return True
            for task in left:
                task.cancel()
            for _ in range(_STEPS_TO_END):
                await asyncio.sleep(0.1)
                if all(task.done() for task in left):
                    break
        _UNENDED.extend(left)
        return False

    # What the base class asks for.

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, **named: Any
    ) -> asyncio.TimerHandle:
        """Have it done then, and never in the very moment it is said.

        Else whoever waits for the rest of a rounded time would wait without end.
        """
        # The loop counts for everybody; who asks counts without the sleep of its machine.
        true_time = when + self._slept.get(PLACE.get(), 0.0)
        later = max(true_time, self._time + _RESOLUTION)
        return super().call_at(later, callback, *args, **named)

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> "asyncio.Future[Any]":
        """Carry it out at once: threads have no order."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 (raised where the future is awaited)
            future.set_exception(error)
        return future

    def _run_once(self) -> None:
        self._collect()
        ready = list(self._queues)
        if self._paused or self._dead:
            ready = [
                place for place in ready if place not in self._paused and place not in self._dead
            ]
        if not ready:
            self._advance()
            return
        place = ready[self.lot.randrange(len(ready))] if len(ready) > 1 else ready[0]
        queue = self._queues[place]
        handle = queue.popleft()
        if not queue:
            del self._queues[place]
        self.steps += 1
        if self.steps > self.most_steps:
            raise StuckError(f"{place} and others go on without end")
        if not handle._cancelled:
            handle._run()

    def _collect(self) -> None:
        """Sort what can go on by place."""
        ready = self._ready  # type: ignore[attr-defined]
        while ready:
            self._sort(ready.popleft())
        scheduled = self._scheduled  # type: ignore[attr-defined]
        while scheduled and (scheduled[0]._cancelled or scheduled[0]._when <= self._time):
            handle = heapq.heappop(scheduled)
            handle._scheduled = False
            if not handle._cancelled:
                self._sort(handle)

    def _sort(self, handle: asyncio.Handle) -> None:
        place = handle._context.get(PLACE, "world")  # type: ignore[attr-defined]
        queue = self._queues.get(place)
        if queue is None:
            queue = self._queues[place] = deque()
        queue.append(handle)

    def _advance(self) -> None:
        scheduled = self._scheduled  # type: ignore[attr-defined]
        if not scheduled:
            if self._stopping:  # type: ignore[attr-defined]
                return
            raise StuckError("nothing waits for anything that will happen")
        self._time = max(self._time, scheduled[0]._when)
