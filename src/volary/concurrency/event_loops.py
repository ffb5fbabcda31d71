"""The event loop of a process: uvloop's, which is written in C, where it is installed."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


def run(work: Coroutine[object, object, T]) -> T:
    """Carry `work` out on a new loop, and close the loop."""
    try:
        import uvloop  # an extra
    except ImportError:
        return asyncio.run(work)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)
