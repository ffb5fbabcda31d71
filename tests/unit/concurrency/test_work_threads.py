"""Work in threads: the loop goes on, nobody takes all of them, and not for ever."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

import loop_watch as loop_watches
import process_time
from volary.concurrency import work_threads
from volary.model import work_limits


def busy(seconds: float) -> float:
    """Take that much processor time, and return it."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(1000))
    return seconds


@pytest.fixture
async def gate() -> AsyncIterator[threading.Event]:
    """What work waits for; opened at the end, so that no thread is left behind."""
    opened = threading.Event()
    yield opened
    opened.set()


async def test_the_loop_is_not_held_by_what_threads_do() -> None:
    async with loop_watches.watching() as watch:
        seconds = 1.1 * loop_watches.BOUND
        assert await work_threads.run("it", busy, seconds) == seconds
    watch.check()
    assert watch.beats > 10


async def test_the_watch_sees_who_holds_the_loop() -> None:
    async with loop_watches.watching() as watch:
        await asyncio.sleep(0.01)
        busy(1.1 * loop_watches.BOUND)
        await asyncio.sleep(0.01)

    with pytest.raises(AssertionError, match=r"the loop was held for 1\.\d\d s:\s+\d+ × .*busy"):
        watch.check()


async def test_what_is_raised_comes_out_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        await work_threads.run("it", lambda: 1 // 0)


async def test_one_owner_leaves_room_for_others(gate: threading.Event) -> None:
    begun = []

    def hold(name: str) -> None:
        begun.append(name)
        assert gate.wait(process_time.HANG)

    async with asyncio.TaskGroup() as group:
        with work_threads.on_behalf_of("greedy"):
            for number in range(10):
                group.create_task(work_threads.run("it", hold, f"greedy {number}"))
        await process_time.until(lambda: len(begun) == work_threads.OF_ONE_OWNER)
        with work_threads.on_behalf_of("modest"):
            assert await work_threads.run("it", busy, 0.01) == 0.01
        assert begun == [f"greedy {number}" for number in range(work_threads.OF_ONE_OWNER)]
        gate.set()
    assert len(begun) == 10


async def test_those_that_wait_are_served_in_their_order(gate: threading.Event) -> None:
    threads = work_threads.WorkThreads(at_once=1, of_one_owner=1)
    served: list[str] = []
    async with asyncio.TaskGroup() as group:
        group.create_task(threads.run("first", "it", lambda: gate.wait(process_time.HANG)))
        for name in ("a", "a", "a", "b"):
            group.create_task(threads.run(name, "it", lambda name=name: served.append(name)))
        await asyncio.sleep(0.05)
        gate.set()
    # Each owner stands in the line once.
    assert served == ["a", "b", "a", "a"]


async def test_who_takes_too_long_is_told_so_and_keeps_its_place(gate: threading.Event) -> None:
    threads = work_threads.WorkThreads(
        at_once=2, of_one_owner=1, longest=timedelta(milliseconds=50)
    )

    def hang() -> None:
        while not gate.is_set():
            busy(0.01)

    with pytest.raises(work_limits.TookTooLongError) as told:
        await threads.run("greedy", "rendering shop", hang)
    assert str(told.value).startswith("rendering shop took more than 0.05 s of processor time")

    waiting = asyncio.create_task(threads.run("greedy", "it", lambda: "done"))  # noqa: TID251
    assert await threads.run("modest", "it", lambda: "done") == "done"
    assert not waiting.done()
    gate.set()
    assert await waiting == "done"


async def test_time_in_which_nothing_is_worked_does_not_count(gate: threading.Event) -> None:
    """A machine that works for others makes nobody late."""
    threads = work_threads.WorkThreads(longest=timedelta(milliseconds=20))
    asyncio.get_running_loop().call_later(0.2, gate.set)

    assert await threads.run("shop", "it", lambda: gate.wait(process_time.HANG))


async def test_who_is_broken_off_keeps_its_place_until_the_thread_ends(
    gate: threading.Event,
) -> None:
    threads = work_threads.WorkThreads(at_once=1, of_one_owner=1)
    begun = threading.Event()

    def hold() -> None:
        begun.set()
        assert gate.wait(process_time.HANG)

    leaving = asyncio.create_task(threads.run("shop", "it", hold))  # noqa: TID251
    await process_time.until(begun.is_set)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    next_one = asyncio.create_task(threads.run("shop", "it", lambda: "done"))  # noqa: TID251
    await asyncio.sleep(0.05)
    assert not next_one.done()
    gate.set()
    assert await next_one == "done"
