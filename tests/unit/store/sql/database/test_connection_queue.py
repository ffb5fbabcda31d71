"""Who may use the database next."""

import asyncio
from datetime import timedelta
from pathlib import Path

import store_fixtures as given
from volary.store import factory, records
from volary.store.sql.database import connection_queue


async def test_as_many_as_there_is_room_for_and_the_urgent_first() -> None:
    room, order = connection_queue.ConnectionQueue(2), []
    busiest = inside = 0

    async def use(name: str, *, urgent: bool = False) -> None:
        nonlocal busiest, inside
        async with room.turn(urgent=urgent):
            inside += 1
            busiest = max(busiest, inside)
            order.append(name)
            await asyncio.sleep(0)
            inside -= 1

    async with asyncio.TaskGroup() as group:
        for name in "abcdef":
            group.create_task(use(name))
        await asyncio.sleep(0)
        group.create_task(use("lease", urgent=True))

    assert busiest == 2
    assert order[:2] == ["a", "b"]
    assert order.index("lease") < order.index("e")
    assert [each for each in order if each != "lease"] == list("abcdef")


async def test_whoever_leaves_the_queue_passes_the_turn_on() -> None:
    room = connection_queue.ConnectionQueue(1)

    async def use() -> None:
        async with room.turn():
            await asyncio.sleep(0.001)

    for delay in (0, 0.0005, 0.001, 0.002):
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(use()) for _ in range(5)]
            await asyncio.sleep(delay)
            tasks[1].cancel()
            tasks[0].cancel()
    async with asyncio.timeout(1):
        await use()


async def test_a_lease_is_renewed_however_many_writes_wait(database_address: str) -> None:
    """A thousand applications that change at once do not cost the process its lease."""
    limits = records.Limits(busy=timedelta(seconds=20))
    clock = given.TurnedClock()
    async with factory.open_store(database_address, clock=clock, limits=limits) as store:
        lease = await store.leases.acquire("controller", "us", timedelta(seconds=10))
        assert lease is not None
        async with asyncio.TaskGroup() as group:
            writes = [
                group.create_task(
                    store.memories.keep("shop", f"cluster-{number}", "x", {}, fence=lease.fence)
                )
                for number in range(200)
            ]
            await asyncio.sleep(0.01)
            await store.leases.renew(lease, timedelta(seconds=10))
            done = sum(each.done() for each in writes)

    # In its turn it would have been after all of them.
    assert done < 150


async def test_changes_of_many_applications_share_transactions(tmp_path: Path) -> None:
    """Each gets its own version, whatever the others are; the same again is no change."""
    async with factory.open_store(
        f"sqlite:{tmp_path}/volary.db", clock=given.TurnedClock()
    ) as store:
        known = [records.ApplicationRecord(f"app-{n}", labels={"n": str(n)}) for n in range(250)]
        for expected in (1, 1):
            versions = await asyncio.gather(
                *(store.applications.keep(each, fence=None) for each in known)
            )
            assert set(versions) == {expected}
        wanted = records.ApplicationFilter(labels={"n": "7"})
        assert [each.name for each in (await store.applications.list(wanted)).items] == ["app-7"]
