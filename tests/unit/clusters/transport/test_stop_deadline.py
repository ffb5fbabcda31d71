"""A task that was told to stop does not wait for answers that do not come."""

import asyncio
from datetime import timedelta

import pytest

from volary.clusters.transport import stop_deadline


@pytest.mark.looptime
async def test_a_read_that_is_under_way_gets_a_moment_and_later_ones_no_more() -> None:
    loop = asyncio.get_running_loop()
    with stop_deadline.of_task() as hurried:
        loop.call_later(60, hurried.begin)
        with pytest.raises(TimeoutError):
            async with stop_deadline.limited(5):
                await asyncio.Event().wait()
        assert loop.time() == 65
        with pytest.raises(TimeoutError):
            async with stop_deadline.limited(5):
                await asyncio.Event().wait()
        assert loop.time() == 70


@pytest.mark.looptime
async def test_nothing_is_tried_again_once_told() -> None:
    loop = asyncio.get_running_loop()
    with stop_deadline.of_task() as hurried:
        assert await stop_deadline.sleep(timedelta(seconds=10))
        loop.call_later(3, hurried.begin)
        assert not await stop_deadline.sleep(timedelta(seconds=10))
        assert loop.time() == 13
        assert not await stop_deadline.sleep(timedelta(seconds=10))
        assert loop.time() == 13


@pytest.mark.looptime
async def test_who_is_no_task_of_a_run_waits_as_ever() -> None:
    loop = asyncio.get_running_loop()
    with stop_deadline.of_task() as other:
        other.begin()
    async with stop_deadline.limited(5):
        await asyncio.sleep(100)
    assert await stop_deadline.sleep(timedelta(seconds=10))
    assert loop.time() == 110
