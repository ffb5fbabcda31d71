"""What many viewers read at a moment is read from the store once, for all of them.

A moment ends when something was stored, or after half a second: another process may have stored
something then. What was read in one is not looked at in the next, so nobody is shown what was
before a change that woke them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import TypeVar

from volary.concurrency import single_flight
from volary.model import errors

T = TypeVar("T")
#: Seconds that a moment lasts at most.
LONGEST = 0.5


class SharedReads:
    """The reads of this moment.

    Args:
        changes: Counts what was stored.
    """

    def __init__(self, changes: Callable[[], int]) -> None:
        self._changes = changes
        self._moment: tuple[int, int] | None = None
        self._flight = single_flight.SingleFlight()

    async def read(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """Return what `work` returns for whoever asks for `key` first at this moment.

        Raises:
            errors.TemporaryError: As `work` does; also to those who asked meanwhile.
        """
        moment = (self._changes(), int(asyncio.get_running_loop().time() / LONGEST))
        if moment != self._moment:
            self._moment, self._flight = moment, single_flight.SingleFlight()

        async def attempt() -> T | errors.TemporaryError:
            try:
                return await work()
            except errors.TemporaryError as error:
                return error

        shared = await self._flight.do(key, "", attempt, is_kept=lambda _: True)
        assert shared is not None
        if isinstance(shared.value, errors.TemporaryError):
            raise shared.value
        return shared.value
