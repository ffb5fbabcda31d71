"""Few plan at once, and one that hangs holds up nobody for long."""

import asyncio
from datetime import timedelta

from volary.concurrency import work_threads
from volary.controller.leadership import planner_slots


async def test_no_more_than_its_width_work_at_once() -> None:
    slots = planner_slots.PlannerSlots(2, held=timedelta(hours=1))
    inside, most = 0, 0

    async def work() -> None:
        nonlocal inside, most
        async with slots.slot():
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    async with asyncio.TaskGroup() as group:
        for _ in range(10):
            group.create_task(work())

    assert most == 2


async def test_those_that_hang_hold_up_nobody() -> None:
    slots = planner_slots.PlannerSlots(2, held=timedelta(milliseconds=1))
    never, done = asyncio.Event(), asyncio.Event()

    async def hang() -> None:
        async with slots.slot():
            await never.wait()

    async def work() -> None:
        async with slots.slot():
            done.set()

    async with asyncio.TaskGroup() as group:
        hung = [group.create_task(hang()) for _ in range(5)]
        group.create_task(work())
        await done.wait()
        assert not any(task.done() for task in hung)
        never.set()
    # What was passed on is not given back once more.
    assert slots._free._value == 2


async def test_of_those_that_hang_not_all_are_let_in() -> None:
    slots = planner_slots.PlannerSlots(1, held=timedelta(milliseconds=1))
    never, inside = asyncio.Event(), asyncio.Semaphore(0)

    async def hang(owner: str) -> None:
        work_threads.claim(owner)
        async with slots.slot():
            inside.release()
            await never.wait()

    async with asyncio.TaskGroup() as group:
        for number in range(9):
            group.create_task(hang(f"owner-{number % 3}"))
        for _ in range(8):
            await inside.acquire()
        await asyncio.sleep(0.02)
        assert inside.locked(), "the ninth waits"
        never.set()
        await inside.acquire()


async def test_who_is_cancelled_gives_its_slot_back() -> None:
    slots = planner_slots.PlannerSlots(1, held=timedelta(hours=1))
    inside = asyncio.Event()

    async def hang() -> None:
        async with slots.slot():
            inside.set()
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(hang())
        await inside.wait()
        task.cancel()
    async with slots.slot():
        pass


async def test_however_much_of_one_owner_hangs_or_waits_others_go_before_the_rest_of_it() -> None:
    slots = planner_slots.PlannerSlots(1, held=timedelta(milliseconds=1))
    never, begun = asyncio.Event(), 0

    async def hang() -> None:
        nonlocal begun
        work_threads.claim("team-a")
        async with slots.slot():
            begun += 1
            await never.wait()

    async def work() -> None:
        work_threads.claim("team-b")
        async with slots.slot():
            pass

    async with asyncio.TaskGroup() as group:
        for _ in range(1000):
            group.create_task(hang())
        await asyncio.sleep(0)
        await group.create_task(work())
        assert begun <= 4
        never.set()
