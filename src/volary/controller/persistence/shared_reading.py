"""Something that many look at, read for all of them at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from volary.concurrency import single_flight
from volary.controller.persistence import change_signal

T = TypeVar("T")
_KEY = "reading"
#: A reading begins at the earliest when the one before has been over for so many times as long
#: as it took: looking takes a fifth of a processor at most, however many look.
_PAUSE_FACTOR = 4.0


@dataclass(frozen=True, slots=True)
class _Read(Generic[T]):
    value: T
    #: What the signal had counted when it began.
    count: int
    #: When it began and ended; seconds of the loop.
    began: float
    ended: float


@dataclass(slots=True)
class SharedReading(Generic[T]):
    """Reads once for all who ask until something has changed.

    Whoever asks gets what was read after everything that was signalled before they asked; what
    is not signalled, since another process stored it, is seen after `lifetime` seconds.
    """

    read: Callable[[], Awaitable[T]]
    signal: change_signal.ChangeSignal
    #: How old what was read may be, in seconds, though nothing was signalled.
    lifetime: Callable[[], float]
    _last: _Read[T] | None = field(default=None, init=False)
    _flight: single_flight.SingleFlight = field(
        default_factory=single_flight.SingleFlight, init=False
    )

    async def get(self) -> T:
        """Return what was read; raises what reading raises."""
        needed, now = self.signal.count, asyncio.get_running_loop().time()
        while True:
            last = self._last
            if last is not None and last.count >= needed and now - last.began < self.lifetime():
                return last.value
            done = await self._flight.do(_KEY, "", self._read)
            if done is not None and done.value.count >= needed:
                return done.value.value

    async def _read(self) -> _Read[T]:
        loop = asyncio.get_running_loop()
        if (last := self._last) is not None:
            earliest = last.ended + _PAUSE_FACTOR * (last.ended - last.began)
            await asyncio.sleep(max(0.0, earliest - loop.time()))
        count, began = self.signal.count, loop.time()
        value = await self.read()
        self._last = _Read(value, count, began, loop.time())
        return self._last
