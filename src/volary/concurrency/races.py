"""Waiting for whichever of two things comes first."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")
S = TypeVar("S")


async def first(
    one: Awaitable[T], other: Awaitable[S], *, timeout: float | None = None
) -> tuple[asyncio.Task[T], asyncio.Task[S]]:
    """Wait until one of them has ended, or for `timeout` seconds; break off what has not.

    Returns:
        Both as tasks that are done: what was broken off is cancelled.

    Raises:
        ExceptionGroup: of what one of them raised.
    """
    async with asyncio.TaskGroup() as group:
        tasks = group.create_task(_result(one)), group.create_task(_result(other))
        await asyncio.wait(tasks, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
    return tasks


async def _result(awaited: Awaitable[T]) -> T:
    return await awaited
