"""Work on somebody's behalf, off the event loop: in threads, so many at once, and not for ever.

What a repository holds decides how long it takes to read, render, match and compare, so none of
that is done in the loop: a repository that takes long holds up itself. Everything counts for its
*owner*, the repository that it is for. An owner has a part of the threads only, whoever asks on its
behalf, so that the others always find one free; those that wait are served in their order.

How much work there can be is bounded by what is counted (objects, characters, levels, steps: see
`model.work_limits`). The time limit comes last, for what nobody has thought of. A thread cannot be
broken off: one that is over its time is not waited for any longer, and its place is taken until
it ends.

Threads take turns with the loop; they are few, so that it gets its turn soon.
"""

import asyncio
import contextlib
import contextvars
import time
import weakref
from collections.abc import Callable, Iterator, Sized
from concurrent import futures
from dataclasses import dataclass, field
from datetime import timedelta
from threading import get_ident
from typing import ParamSpec, TypeVar

from volary.concurrency import owner_slots
from volary.model import work_limits

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

#: At the same time, of everybody, and of one owner.
AT_ONCE, OF_ONE_OWNER = 4, 2

#: So many things are worked on in the loop: some milliseconds, as long as a thread takes to begin
#: while others work.
FEW = 100
#: Given to `run_many` in place of what is worked on: a single one may take a while.
EVERY: Sized = range(FEW + 1)

_OWNER: contextvars.ContextVar[str] = contextvars.ContextVar("owner of work", default="")


@contextlib.contextmanager
def on_behalf_of(owner: str) -> Iterator[None]:
    """Have what is done in the block, and by tasks begun in it, count for an owner."""
    token = _OWNER.set(owner)
    try:
        yield
    finally:
        _OWNER.reset(token)


def current_owner() -> str:
    """Return whom what this task does counts for; empty: nobody in particular."""
    return _OWNER.get()


def claim(owner: str) -> None:
    """Have all that this task does from now on count for an owner."""
    _OWNER.set(owner)


async def run(
    what: str,
    work: Callable[Parameters, Result],
    /,
    *args: Parameters.args,
    **kwargs: Parameters.kwargs,
) -> Result:
    """Return what `work` comes to, done in a thread on behalf of the owner.

    Args:
        what: What it is, to say what took too long: ``rendering shop/volary.yaml``.
        work: Blocks; touches nothing of the loop.
        args: Given to it.
        kwargs: Likewise.

    Raises:
        work_limits.TookTooLongError: It took more processor time than anything may.
    """
    return await _of_loop().run(_OWNER.get(), what, lambda: work(*args, **kwargs))


async def run_many(
    many: Sized,
    what: str,
    work: Callable[Parameters, Result],
    /,
    *args: Parameters.args,
    **kwargs: Parameters.kwargs,
) -> Result:
    """Return what `work` on `many` things comes to: of a few of them here and now, else as `run`.

    For work that takes little for each, such as labelling objects: a thread is worth it only
    where there are many.

    Raises:
        work_limits.TookTooLongError: It took more processor time than anything may.
    """
    if len(many) <= FEW:
        return work(*args, **kwargs)
    return await run(what, work, *args, **kwargs)


@dataclass(slots=True)
class _Progress:
    """How a piece of work is getting on."""

    #: Of the thread that does it, as long as it does.
    clock: int | None = None
    began: float = 0.0

    def spent(self) -> float:
        """Return the seconds of processor time that it has taken."""
        clock = self.clock
        if clock is None or not self.began:
            return 0.0
        try:
            return time.clock_gettime(clock) - self.began
        except OSError:
            return 0.0  # its thread has ended by now


@dataclass(slots=True)
class WorkThreads:
    """The threads of one event loop.

    Args:
        at_once: How many work at the same time.
        of_one_owner: How many of them for one owner.
        longest: Processor time that a piece of work may take.
    """

    at_once: int = AT_ONCE
    of_one_owner: int = OF_ONE_OWNER
    longest: timedelta = work_limits.LONGEST_WORK
    _threads: futures.ThreadPoolExecutor = field(init=False)
    _slots: owner_slots.OwnerSlots = field(init=False)

    def __post_init__(self) -> None:
        self._threads = futures.ThreadPoolExecutor(self.at_once, thread_name_prefix="work")
        self._slots = owner_slots.OwnerSlots(self.at_once, self.of_one_owner)

    async def run(self, owner: str, what: str, work: Callable[[], Result]) -> Result:
        """Return what some work comes to, see `run` of the module."""
        give_back = await self._slots.take(owner)
        loop = asyncio.get_running_loop()
        progress = _Progress()
        # Whoever waits may leave: the place is free once the thread is.
        doing = loop.run_in_executor(
            self._threads, _in_thread, contextvars.copy_context(), progress, work
        )

        doing.add_done_callback(lambda _: give_back())
        await self._wait(doing, progress, what)
        return doing.result()

    async def _wait(self, doing: asyncio.Future[Result], progress: _Progress, what: str) -> None:
        """Wait for the end of it; a wait that is broken off leaves it to itself."""
        longest = left = self.longest.total_seconds()
        while not doing.done():
            try:
                await asyncio.wait({doing}, timeout=left)
            except asyncio.CancelledError:
                doing.add_done_callback(_look_at_outcome)
                raise
            left = longest - progress.spent()
            if left <= 0 and not doing.done():
                doing.add_done_callback(_look_at_outcome)
                raise work_limits.TookTooLongError(what, self.longest)


def _clock_of_this_thread() -> int:
    """Return the clock of its processor time; where others cannot read that, one of all time."""
    of_thread: Callable[[int], int] | None = getattr(time, "pthread_getcpuclockid", None)
    return of_thread(get_ident()) if of_thread is not None else time.CLOCK_MONOTONIC


def _in_thread(
    context: contextvars.Context, progress: _Progress, work: Callable[[], Result]
) -> Result:
    progress.clock = _clock_of_this_thread()
    progress.began = time.clock_gettime(progress.clock)
    try:
        return context.run(work)
    finally:
        progress.clock = None


def _look_at_outcome(doing: asyncio.Future[Result]) -> None:
    """Take note of how it ended: nobody else does, and the loop would complain."""
    if not doing.cancelled():
        doing.exception()


_THREADS: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, WorkThreads] = (
    weakref.WeakKeyDictionary()
)


def install(threads: WorkThreads) -> None:
    """Have the running loop work with these threads from now on, such as with a shorter limit."""
    _THREADS[asyncio.get_running_loop()] = threads


def _of_loop() -> WorkThreads:
    loop = asyncio.get_running_loop()
    if loop not in _THREADS:
        _THREADS[loop] = WorkThreads()
    return _THREADS[loop]
