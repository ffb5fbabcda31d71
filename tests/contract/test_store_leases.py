"""Leases of every store: one holder, who was overtaken can write nothing."""

import asyncio
from datetime import timedelta

import pytest

import store_fixtures as given
from volary.model.runs import run_records
from volary.store import fencing, records, stores

MINUTE = timedelta(minutes=1)
TASK = records.TaskKey("run-1", "1-K8S_SYNC", "us", 1)


async def test_one_holds_a_lease_and_the_other_stands_by(
    store: stores.Store, turned_clock: given.TurnedClock
) -> None:
    mine = await store.leases.acquire("drive", "me", MINUTE)

    assert mine is not None
    assert mine.expires == turned_clock.now() + MINUTE
    assert await store.leases.acquire("drive", "other", MINUTE) is None
    assert await store.leases.current("drive") == mine
    assert await store.leases.current("unknown") is None


async def test_a_renewed_lease_is_held_on(
    store: stores.Store, turned_clock: given.TurnedClock
) -> None:
    mine = await store.leases.acquire("drive", "me", MINUTE)
    assert mine is not None
    turned_clock.turn(seconds=59)
    renewed = await store.leases.renew(mine, MINUTE)
    turned_clock.turn(seconds=59)

    assert renewed.number == mine.number
    assert await store.leases.acquire("drive", "other", MINUTE) is None


async def test_an_expired_lease_is_taken_over_with_a_higher_number(
    store: stores.Store, turned_clock: given.TurnedClock
) -> None:
    mine = await store.leases.acquire("drive", "me", MINUTE)
    assert mine is not None
    turned_clock.turn(seconds=60)
    theirs = await store.leases.acquire("drive", "other", MINUTE)

    assert theirs is not None
    assert theirs.number == mine.number + 1
    with pytest.raises(fencing.LeaseLost, match="took over the lease drive"):
        await store.leases.renew(mine, MINUTE)
    await store.leases.release(mine)
    assert await store.leases.current("drive") == theirs


async def test_an_expired_lease_that_nobody_took_is_renewed(
    store: stores.Store, turned_clock: given.TurnedClock
) -> None:
    mine = await store.leases.acquire("drive", "me", MINUTE)
    assert mine is not None
    turned_clock.turn(hours=1)
    assert await store.leases.current("drive") is None

    assert (await store.leases.renew(mine, MINUTE)).number == mine.number


async def test_a_released_lease_is_free_at_once_and_its_number_grows_on(
    store: stores.Store,
) -> None:
    mine = await store.leases.acquire("drive", "me", MINUTE)
    assert mine is not None
    await store.leases.release(mine)
    assert await store.leases.current("drive") is None
    with pytest.raises(fencing.LeaseLost):
        await store.leases.renew(mine, MINUTE)
    theirs = await store.leases.acquire("drive", "other", MINUTE)

    assert theirs is not None
    assert theirs.number == mine.number + 1


async def test_an_earlier_life_of_the_same_owner_is_fenced_off(store: stores.Store) -> None:
    earlier = await store.leases.acquire("drive", "me", MINUTE)
    later = await store.leases.acquire("drive", "me", MINUTE)

    assert earlier is not None
    assert later is not None
    assert later.number == earlier.number + 1
    with pytest.raises(fencing.LeaseLost):
        await store.keep_transition(given.first(), fence=earlier.fence)


async def test_one_of_many_gets_a_new_lease(store: stores.Store) -> None:
    results = await asyncio.gather(
        *(store.leases.acquire("drive", f"process {number}", MINUTE) for number in range(8))
    )

    assert len([each for each in results if each]) == 1


async def test_who_was_overtaken_can_write_nothing(
    store: stores.Store, turned_clock: given.TurnedClock
) -> None:
    mine = await store.leases.acquire("drive", "me", MINUTE)
    assert mine is not None
    await store.keep_transition(given.first(), fence=mine.fence)
    await store.requests.ask(records.RequestRecord("r-1", "sync", "ana", given.at(0)))
    turned_clock.turn(minutes=2)
    assert await store.leases.acquire("drive", "other", MINUTE)
    stale, new = mine.fence, records.CommitRecord("shop", "new", given.at(0))
    writes = [
        store.keep_transition(run_records.Transition(given.head(), 1, given.at(1)), fence=stale),
        store.keep_transition(given.first("run-2"), fence=stale),
        store.logs.append([given.line("late")], fence=stale),
        store.findings.append([given.finding(1)], fence=stale),
        store.memories.save(TASK, {"looks": 1}, fence=stale),
        store.memories.keep("shop", "us", "analysis", {"started": 1}, fence=stale),
        store.applications.keep(records.ApplicationRecord("shop"), commits=[new], fence=stale),
        store.requests.answer("r-1", refusal="", fence=stale),
        store.prune(records.Retention(given.at(1e6), 0), fence=stale),
    ]

    results = await asyncio.gather(*writes, return_exceptions=True)
    run = await store.runs.load("run-1")

    assert [type(result) for result in results] == [fencing.LeaseLost] * len(writes)
    assert run is not None
    assert run.version == 1
    assert await store.runs.load("run-2") is None
    assert await store.logs.after("run-1", 0) == ()
    assert await store.findings.after("run-1", 0) == ()
    assert await store.memories.load(TASK) == {}
    assert await store.memories.recall("shop", "us", "analysis") == {}
    assert await store.applications.get("shop") is None
    assert await store.commits.get("shop", "new") is None
    assert len(await store.requests.unanswered()) == 1


async def test_a_lease_that_was_never_given_opens_nothing(store: stores.Store) -> None:
    with pytest.raises(fencing.LeaseLost):
        await store.keep_transition(given.first(), fence=run_records.Fence("drive", 1))


async def test_an_expired_lease_that_nobody_took_still_opens(
    store: stores.Store, turned_clock: given.TurnedClock
) -> None:
    """The number decides, not the clock: clocks jump."""
    mine = await store.leases.acquire("drive", "me", MINUTE)
    assert mine is not None
    turned_clock.turn(hours=1)

    assert (await store.keep_transition(given.first(), fence=mine.fence)).version == 1
