"""A task that lasts no longer than what it accompanies."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

from volary.model import errors


@asynccontextmanager
async def in_background(background: Coroutine[object, object, None]) -> AsyncIterator[None]:
    """Carry `background` out while the body lasts, and break it off after it.

    When the background fails, the body is broken off. What either of them raises leaves as it
    is: a task group alone would wrap it.
    """
    failure: errors.VolaryError | None = None
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(background)
            try:
                yield
            except errors.VolaryError as error:
                failure = error
            finally:
                task.cancel()
    except BaseExceptionGroup as several:
        known = (
            exception
            for exception in several.exceptions
            if isinstance(exception, errors.VolaryError)
        )
        failure = failure or next(known, None)
        if failure is None:
            raise
    if failure is not None:
        raise failure
