"""The time of tests: it stands still while the machine works for others.

A limit of two seconds says something about the program under test only when the program gets
two seconds. On a machine that runs other programs as well it may get a tenth of that, and the
wall clock does not tell. The loop here counts what its thread worked (its processor time) and
what it waited for (never more than it asked to wait), so that a limit in a test means the same
on any machine. Clusters, controllers and clients of a test share one loop and so one time.

Other processes are not part of it. What waits for them has limits that only a hang reaches:
`HANG`.
"""

import asyncio
import math
import selectors
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

#: Seconds that nothing takes, however busy the machine is: a limit of what must happen.
HANG = 300.0
#: A wait is cut into pieces as long as this; of each no more is counted, however late the
#: machine lets the process go on.
_LONGEST_WAIT = 0.02
#: What the thread works within this counts as done when it is over.
_RESOLUTION = 0.0005


class Loop(asyncio.SelectorEventLoop):
    """An event loop in the time of its own process."""

    def __init__(self) -> None:
        super().__init__()
        self._waited = 0.0
        #: The wall clock when the loop was made; `now` goes on from it.
        self.made = datetime.fromtimestamp(time.time(), UTC)
        self._selector: selectors.BaseSelector
        self._select = self._selector.select
        self._selector.select = self._wait  # type: ignore[method-assign]
        self._began = time.thread_time()
        #: What the thread had worked when it was looked at last, and when that was.
        self._worked, self._looked = 0.0, -math.inf

    def time(self) -> float:
        """Return the seconds that the loop's thread has worked or waited."""
        now = time.monotonic()
        # The clock of the thread costs ten times as much to read: asked once in a while.
        if now - self._looked >= _RESOLUTION:
            self._looked, self._worked = now, time.thread_time() - self._began
        return self._worked + self._waited

    def _wait(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return self._select(timeout)
        ready: list[tuple[selectors.SelectorKey, int]] = []
        while not ready and (timeout is None or timeout > 0):
            piece = _LONGEST_WAIT if timeout is None else min(timeout, _LONGEST_WAIT)
            begin = time.monotonic()
            ready = self._select(piece)
            passed = min(time.monotonic() - begin, piece) if ready else piece
            self._waited += passed
            timeout = None if timeout is None else timeout - passed
        return ready


def now() -> datetime:
    """Return the date by the running loop's time, so that dates and limits agree."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        loop = None
    if isinstance(loop, Loop):
        return loop.made + timedelta(seconds=loop.time())
    # A process of its own, without tests in it.
    return datetime.fromtimestamp(time.time(), UTC)


async def until(holds: Callable[[], object], *, every: float = 0.01) -> None:
    """Wait for something that no event tells of."""
    async with asyncio.timeout(HANG):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(every)
