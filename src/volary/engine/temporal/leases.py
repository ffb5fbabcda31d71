"""How long an activity may write to its cluster, counted by itself.

The server begins a task again elsewhere once it has not heard of it for the heartbeat's timeout.
So an activity counts for itself: from before the last heartbeat that the server answered it has
four fifths of that time. The clock goes on while the process, or the machine, stands still.
"""

import asyncio
from collections.abc import Callable

from volary.model import errors

#: The rest is for what is still on its way.
_SHARE = 0.8


class Overtaken(errors.TemporaryError):
    """The task is not this activity's any more: somebody else carries it out, or nobody does."""


class Lease:
    """The permit of an activity's writes: valid while the server is heard."""

    def __init__(self, elapsed: Callable[[], float], timeout: float) -> None:
        """Make one that is not valid yet; `elapsed` never stands still, both are in seconds."""
        self.elapsed = elapsed
        self._good_for = timeout * _SHARE
        self._until = float("-inf")
        self._is_over = False
        self._changed = asyncio.Event()

    @property
    def is_valid(self) -> bool:
        """Whether a write may be sent at this moment."""
        return not self._is_over and self.elapsed() < self._until

    def extend(self, asked: float) -> None:
        """Go on: the server has answered a heartbeat that was sent at `asked`, or after it."""
        self._until = asked + self._good_for
        self._signal()

    def end(self) -> None:
        """Give up for good, also while there is time left."""
        self._is_over = True
        self._signal()

    async def wait(self) -> None:
        """Return when a write may be sent.

        Raises:
            Overtaken: It never may again.
        """
        while not self.is_valid:
            if self._is_over:
                raise Overtaken("the task is carried out by somebody else, or not at all")
            await self._changed.wait()

    def _signal(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
