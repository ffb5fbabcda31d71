"""Doing the same with many clusters or objects at once, with the results in order.

How many requests to one cluster run at once is its client's business.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from volary.model import errors

#: How many begin before the loop gets round to anything else.
_BEGUN_TOGETHER = 100

Item = TypeVar("Item")
Result = TypeVar("Result")


async def run_all(
    items: Iterable[Item], act: Callable[[Item], Awaitable[Result]], *, at_once: int = 0
) -> list[Result]:
    """Do `act` with every item and return the results in the order of `items`.

    `at_once` bounds how many are under way; 0: all of them.

    Raises:
        ExceptionGroup: One of them failed; the others were cancelled.
    """
    gate = asyncio.Semaphore(at_once) if at_once else contextlib.nullcontext()

    async def gated(item: Item) -> Result:
        async with gate:
            return await act(item)

    tasks: list[asyncio.Task[Result]] = []
    async with asyncio.TaskGroup() as group:
        for number, item in enumerate(items, 1):
            tasks.append(group.create_task(gated(item)))
            if number % _BEGUN_TOGETHER == 0:
                # Else all of thousands would take their first step before anything else goes on.
                await asyncio.sleep(0)
    return [task.result() for task in tasks]


async def attempt_all(
    items: Iterable[Item], act: Callable[[Item], Awaitable[Result]]
) -> list[Result | errors.VolaryError]:
    """Do `act` with every item at once; return results or errors in the order of `items`.

    A failure is a value here: else the others would be cancelled in mid-write.
    """

    async def attempt(item: Item) -> Result | errors.VolaryError:
        try:
            return await act(item)
        except errors.VolaryError as error:
            return error

    return await run_all(items, attempt)
