"""What is carried out in the background ends with what it accompanies."""

import asyncio

import pytest

from volary.concurrency import background_tasks
from volary.stages.runtime import execution


async def test_what_goes_on_beside_the_body_ends_with_it() -> None:
    ended = []

    async def background() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async with background_tasks.in_background(background()):
        await asyncio.sleep(0)

    assert ended == [True]


async def test_a_background_that_fails_breaks_the_body_off() -> None:
    async def background() -> None:
        raise execution.StageFailedError("canary is gone")

    with pytest.raises(execution.StageFailedError, match="canary is gone"):
        async with background_tasks.in_background(background()):
            await asyncio.Event().wait()


async def test_a_body_that_fails_says_why_itself() -> None:
    with pytest.raises(execution.StageFailedError, match="too late"):
        async with background_tasks.in_background(asyncio.sleep(0)):
            raise execution.StageFailedError("too late")


async def test_a_mistake_of_ours_is_not_hidden() -> None:
    async def background() -> None:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup):
        async with background_tasks.in_background(background()):
            await asyncio.Event().wait()
