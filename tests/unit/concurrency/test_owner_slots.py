"""Slots for many owners: none of them takes all."""

import asyncio

from volary.concurrency import owner_slots


async def test_one_owner_has_a_part_of_them_and_the_others_find_one_free() -> None:
    slots = owner_slots.OwnerSlots(3, 2)
    given = [await slots.take("a"), await slots.take("a")]
    async with asyncio.TaskGroup() as group:
        third = group.create_task(slots.take("a"))
        await asyncio.sleep(0)
        assert not third.done()

        async with slots.slot("b"):
            assert not third.done()

        given.pop()()
    third.result()()
    given.pop()()


async def test_who_leaves_while_waiting_takes_nothing_along() -> None:
    slots = owner_slots.OwnerSlots(1, 1)
    give_back = await slots.take("a")
    async with asyncio.TaskGroup() as group:
        for owner in ("a", "b"):
            waiting = group.create_task(slots.take(owner))
            await asyncio.sleep(0)
            waiting.cancel()
    give_back()

    for owner in ("a", "b"):
        async with slots.slot(owner):
            pass
