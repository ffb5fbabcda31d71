"""Doing the same with many objects at once, where one failure must not stop the others.

A task group would cancel its other tasks in mid-write. Here a failure is a value.
How many requests run at once is the client's business.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from volary.model import errors

Item = TypeVar("Item")
Result = TypeVar("Result")


async def run_all(
    items: Sequence[Item], act: Callable[[Item], Awaitable[Result]]
) -> list[Result | errors.VolaryError]:
    """Do `act` with every item at once; return results or errors in the order of `items`."""

    async def attempt(item: Item) -> Result | errors.VolaryError:
        try:
            return await act(item)
        except errors.VolaryError as error:
            return error

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(attempt(item)) for item in items]
    return [task.result() for task in tasks]
