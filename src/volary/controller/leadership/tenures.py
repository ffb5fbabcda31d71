"""How long this process may act by its lease, counted by itself.

The store says who holds a lease, and may be silent; its time is another machine's. So a holder
counts for itself: from before it asked for the lease it has the lease's time, less a margin for
what is still on its way. The clock goes on while the process, or the machine, stands still.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta

from volary.store import fencing

#: Seconds that only go forward, and never stand still.
Elapsed = Callable[[], float]


class Tenure:
    """From winning a lease to losing it; the permit of every write to a cluster."""

    def __init__(self, elapsed: Elapsed) -> None:
        self.elapsed = elapsed
        self._until: float | None = None
        self._changed = asyncio.Event()

    @property
    def left(self) -> float:
        """The seconds that are left of it; less than nothing where they are over."""
        return float("-inf") if self._until is None else self._until - self.elapsed()

    @property
    def is_valid(self) -> bool:
        """Whether this process may act now."""
        return self.left > 0

    def extend(self, asked: float, by: timedelta) -> None:
        """Go on for that long from when the lease was `asked` for."""
        self._until = asked + by.total_seconds()
        self._signal()

    def end(self) -> None:
        """Give up, also while there is time left."""
        self._until = None
        self._signal()

    async def wait(self) -> None:
        """Return when this process may act: at once, or once its lease is renewed.

        Raises:
            fencing.LeaseLost: It holds none.
        """
        while not self.is_valid:
            if self._until is None:
                raise fencing.LeaseLost("this process holds no lease, so it writes to no cluster")
            await self._changed.wait()

    def _signal(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
