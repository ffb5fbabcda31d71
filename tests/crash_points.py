"""Lives that end wherever something in them is put aside: that is where a process may stop."""

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any


class Crash:
    """Counts how often anything in a life is put aside, and ends the life at one of those."""

    def __init__(self, at: int) -> None:
        self._left = at
        self.has_come = asyncio.Event()

    def factory(self, loop: asyncio.AbstractEventLoop, work: Any, **named: Any) -> Any:
        is_ours = asyncio.iscoroutine(work) and not self._is_transaction(work)
        return asyncio.Task(self._counted(work) if is_ours else work, loop=loop, **named)

    @staticmethod
    def _is_transaction(work: Any) -> bool:
        # It is kept whole or not at all, by the database.
        return "/store/" in work.cr_code.co_filename

    def _counted(self, work: Coroutine[Any, Any, Any]) -> Any:
        async def counted() -> Any:
            return await _Counted(work, self._passed)

        return counted()

    def _passed(self) -> None:
        self._left -= 1
        if self._left == 0:
            self.has_come.set()


class _Counted:
    def __init__(self, work: Coroutine[Any, Any, Any], passed: Any) -> None:
        self._work, self._passed = work, passed

    def __await__(self) -> Generator[Any, Any, Any]:
        steps, error = self._work.__await__(), None
        while True:
            try:
                wanted = steps.send(None) if error is None else steps.throw(error)
            except StopIteration as end:
                return end.value
            self._passed()
            error = None
            try:
                yield wanted
            except BaseException as thrown:  # noqa: BLE001 (handed on to the work)
                error = thrown
