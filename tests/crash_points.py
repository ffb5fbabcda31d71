"""Lives that end wherever something in them is put aside: that is where a process may stop."""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any


class Crash:
    """Counts how often anything in a life is put aside, and ends the life at one of those."""

    def __init__(self, at: int) -> None:
        self._left = at
        self.has_come = asyncio.Event()

    def factory(self, loop: asyncio.AbstractEventLoop, work: Any, **named: Any) -> Any:
        is_ours = asyncio.iscoroutine(work) and not self._is_transaction(work)
        return asyncio.Task(_Counted(work, self._passed) if is_ours else work, loop=loop, **named)

    @staticmethod
    def _is_transaction(work: Any) -> bool:
        # It is kept whole or not at all, by the database.
        return "/store/" in work.cr_code.co_filename

    def _passed(self) -> None:
        self._left -= 1
        if self._left == 0:
            self.has_come.set()


class _Counted(Coroutine[Any, Any, Any]):
    """The work itself, and not something around it: it may be cancelled before its first step."""

    def __init__(self, work: Coroutine[Any, Any, Any], passed: Callable[[], None]) -> None:
        self._work, self._passed = work, passed

    def send(self, value: Any) -> Any:
        wanted = self._work.send(value)
        self._passed()
        return wanted

    def throw(self, *thrown: Any) -> Any:
        wanted = self._work.throw(*thrown)
        self._passed()
        return wanted

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._work.__await__()
