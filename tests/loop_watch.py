"""Sees when somebody holds the event loop: what is on the loop has to be short.

Counted is the processor time that the loop's thread takes between two beats of a task of its own,
so that a machine that works for others does not count. A second thread looks at what the loop's
thread is doing while it is silent, and so says who it was.
"""

import asyncio
import contextlib
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from types import FrameType

import pytest

#: Seconds of processor time that nothing on the loop may take: health checks have to be answered
#: within a second. What a repository can make somebody do takes many seconds; what belongs on the
#: loop takes a tenth of this, so that a processor that others slow down does not decide.
BOUND = 1.0
#: Seconds between two beats, and between two looks at a loop that is silent.
_BEAT, _LOOK = 0.005, 0.02
#: Silence from which on it is looked at what the loop does.
_SUSPICIOUS = BOUND / 10
#: Frames that are told of who held it.
_FRAMES = 6


@dataclass
class LoopWatch:
    """How long the loop was held, at most, and by whom."""

    #: Seconds of processor time.
    longest: float = 0.0
    #: What the loop's thread was doing while it was silent, by how often it was seen.
    samples: Counter[str] = field(default_factory=Counter)
    beats: int = 0
    _beaten: float = 0.0

    def check(self, bound: float = BOUND) -> None:
        """Fail when the loop was held longer than `bound`."""
        told = "\n".join(f"{count} × {place}" for place, count in self.samples.most_common(3))
        assert self.longest <= bound, f"the loop was held for {self.longest:.2f} s:\n{told}"

    def begin(self) -> None:
        """Forget what was seen before."""
        self._beaten, self.longest = time.thread_time(), 0.0
        self.samples.clear()

    def beat(self) -> None:
        """Note that the loop has got round to it; called in its thread."""
        now = time.thread_time()
        self.longest = max(self.longest, now - self._beaten)
        self._beaten = now
        self.beats += 1

    def look(self, spent: float, frame: FrameType | None) -> None:
        """Note what the loop's thread is doing, which has taken `spent` seconds so far."""
        if spent - self._beaten >= _SUSPICIOUS and frame is not None:
            stack = traceback.extract_stack(frame)[-_FRAMES:]
            self.samples[
                " < ".join(f"{each.name} ({each.lineno})" for each in reversed(stack))
            ] += 1


@contextlib.asynccontextmanager
async def watching() -> AsyncIterator[LoopWatch]:
    """Watch the running loop during the block."""
    watch, ended = LoopWatch(), threading.Event()
    loop_thread = threading.get_ident()
    clock = time.pthread_getcpuclockid(loop_thread)

    def keep_looking() -> None:
        while not ended.wait(_LOOK):
            watch.look(time.clock_gettime(clock), sys._current_frames().get(loop_thread))

    async def keep_beating() -> None:
        while True:
            watch.beat()
            await asyncio.sleep(_BEAT)

    looking = threading.Thread(target=keep_looking, name="loop watch", daemon=True)
    watch.begin()
    looking.start()
    async with asyncio.TaskGroup() as group:
        beating = group.create_task(keep_beating(), name="loop watch")
        try:
            yield watch
        finally:
            beating.cancel()
            ended.set()
    await asyncio.to_thread(looking.join)


@pytest.fixture
async def loop_watch() -> AsyncIterator[LoopWatch]:
    """Fail when the loop was held too long during the test; `begin` leaves out what was before."""
    async with watching() as watch:
        yield watch
    watch.check()
