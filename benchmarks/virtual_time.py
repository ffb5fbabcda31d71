"""An event loop in which nobody waits: when nothing can go on, the time is what comes next."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Skipping(selectors.SelectSelector):
    """Waits for nothing; the time that was to be waited has passed at once."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        """Return what is ready.

        Raises:
            RuntimeError: Nothing is, and nothing will be.
        """
        if timeout is None:
            raise RuntimeError("everything waits, and nothing will happen")
        self.now += max(timeout, 0.0)
        return super().select(0)


class Loop(asyncio.SelectorEventLoop):
    """Its seconds are those of whoever sleeps."""

    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        """Return the seconds since the beginning."""
        return self._skipping.now


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Do something to its end, however much later that is."""
    with asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(work)
