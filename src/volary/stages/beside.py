"""Something that goes on beside a stage's own work, and ends with it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

from volary.model import errors


@asynccontextmanager
async def beside(background: Coroutine[object, object, None]) -> AsyncIterator[None]:
    """Carry `background` out while the body lasts, and break it off after it.

    What the body raises leaves as it is: a task group alone would wrap it.
    """
    failure: errors.VolaryError | None = None
    async with asyncio.TaskGroup() as group:
        task = group.create_task(background)
        try:
            yield
        except errors.VolaryError as error:
            failure = error
        finally:
            task.cancel()
    if failure is not None:
        raise failure
