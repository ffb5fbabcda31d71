"""The loop of the tests: limits count what a process got of the machine."""

import asyncio
import os
import time

import process_time


async def test_what_the_machine_does_for_others_is_not_counted() -> None:
    """A callback that does not run for a while is as good as a process that does not."""
    loop = asyncio.get_running_loop()
    begin, real = loop.time(), time.monotonic()

    async with asyncio.timeout(0.2):
        await asyncio.sleep(0)
        time.sleep(0.3)  # noqa: ASYNC251 - on purpose
        await asyncio.sleep(0)

    assert time.monotonic() - real >= 0.3
    assert loop.time() - begin < 0.2


async def test_a_process_that_was_stopped_has_not_waited() -> None:
    loop = asyncio.get_running_loop()
    begin, real = loop.time(), time.monotonic()
    script = f"kill -STOP {os.getpid()}; sleep 1; kill -CONT {os.getpid()}"

    process = await asyncio.create_subprocess_exec("sh", "-c", script)
    await process.wait()

    counted, passed = loop.time() - begin, time.monotonic() - real
    # The sleep is a second, and of the stop one wait at most was counted.
    assert passed - counted >= 0.9


async def test_work_and_waiting_are_counted() -> None:
    loop = asyncio.get_running_loop()
    begin = loop.time()

    await asyncio.sleep(0.1)
    assert loop.time() - begin >= 0.099
    slept, worked = loop.time(), time.thread_time()
    while time.thread_time() < worked + 0.1:
        pass

    assert loop.time() - slept >= 0.1


async def test_a_wait_is_never_shorter_than_it_was_meant() -> None:
    for seconds in (0.001, 0.019, 0.02, 0.05):
        begin = time.monotonic()
        await asyncio.sleep(seconds)
        assert time.monotonic() - begin >= seconds * 0.9


async def test_dates_and_limits_agree() -> None:
    loop = asyncio.get_running_loop()
    begin, date = loop.time(), process_time.now()

    time.sleep(0.1)  # noqa: ASYNC251 - on purpose
    await asyncio.sleep(0.05)

    told = (process_time.now() - date).total_seconds()
    assert abs(told - (loop.time() - begin)) < 0.04
