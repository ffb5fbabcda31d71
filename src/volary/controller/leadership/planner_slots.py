"""How many look into repositories and clusters at once, so that planning does not overload us.

A slot is for work. Whoever has held one for a while waits for somebody else (a host, a cluster,
a program that hangs), so the slot goes to the next one; the work itself goes on. So applications
that hang hold up the others for a moment only, unless very many do, of several owners: one owner
has half of the slots at most, however much of it waits.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from volary.concurrency import owner_slots, work_threads

#: After which time a slot is passed on.
_HELD = timedelta(seconds=5)
#: As many times as work at once may be there, with those that are slow.
_MOST = 8


class PlannerSlots:
    """Lets `width` in at once, and one more for each that is slow, up to a limit.

    Args:
        width: How many work at once.
        held: How long one counts as working.
    """

    def __init__(self, width: int, *, held: timedelta = _HELD) -> None:
        most = width * _MOST
        self._all = owner_slots.OwnerSlots(most, most // 2)
        self._free = asyncio.Semaphore(width)
        self._held = held
        self._alone = asyncio.Lock()

    @asynccontextmanager
    async def alone(self, *, is_needed: bool) -> AsyncIterator[None]:
        """Be the only one of those that need that, for the length of the block."""
        if not is_needed:
            yield
            return
        async with self._alone:
            yield

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot and have it for the length of the block, as far as it is not slow."""
        async with self._all.slot(work_threads.current_owner()):
            await self._free.acquire()
            is_passed_on = False

            def pass_on() -> None:
                nonlocal is_passed_on
                is_passed_on = True
                self._free.release()

            timer = asyncio.get_running_loop().call_later(self._held.total_seconds(), pass_on)
            try:
                yield
            finally:
                timer.cancel()
                if not is_passed_on:
                    self._free.release()
