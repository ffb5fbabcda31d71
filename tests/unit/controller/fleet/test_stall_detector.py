"""A process that stood still, or whose clock was changed, says so once."""

import asyncio

import pytest

from fixed_clock import FixedClock
from volary.controller.fleet import health_probe
from volary.controller.system_clock import SystemClock


@pytest.mark.looptime
async def test_an_awake_process_has_no_doubt() -> None:
    clock = FixedClock()
    watch = health_probe.StallDetector(clock)
    watch.doubt()
    await asyncio.sleep(10)
    clock.forward(seconds=10)

    assert watch.doubt() == ""


@pytest.mark.looptime
@pytest.mark.parametrize("jump", [-3600, 30])
async def test_a_clock_that_was_changed_is_told_once(jump: int) -> None:
    clock = FixedClock()
    watch = health_probe.StallDetector(clock)
    watch.doubt()
    await asyncio.sleep(1)
    clock.forward(seconds=1 + jump)

    assert watch.doubt() == f"the clock was changed by {jump:+.1f} s"
    assert watch.doubt() == ""


async def test_a_loop_that_stood_still_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop's own time, a little of it: only a loop that is blocked shows what it is about."""
    monkeypatch.setattr(health_probe, "_TICK", 0.01)
    monkeypatch.setattr(health_probe, "_LATE", 0.05)
    watch = health_probe.StallDetector(SystemClock())
    async with asyncio.TaskGroup() as group:
        beating = group.create_task(watch.keep_watching())
        await asyncio.sleep(0.02)
        loop = asyncio.get_running_loop()
        begin = loop.time()
        while loop.time() < begin + 0.1:
            pass
        await asyncio.sleep(0.02)
        beating.cancel()

    assert watch.doubt().startswith("the event loop stalled for 0.")
    assert watch.doubt() == ""
