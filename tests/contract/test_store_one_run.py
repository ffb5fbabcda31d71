"""Under one lease an application has at most one unfinished run: the database sees to it."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

import store_fixtures as given
from volary.model.runs import run_records
from volary.model.statuses import RunStatus
from volary.store import factory, fencing, stores
from volary.store.sql.schema import tables

TTL = timedelta(minutes=1)


async def lead(store: stores.Store, name: str = "controller") -> run_records.Fence:
    lease = await store.leases.acquire(name, "one", TTL)
    assert lease is not None
    return lease.fence


async def test_a_second_run_does_not_begin_beside_one_that_has_not_ended(
    store: stores.Store,
) -> None:
    fence = await lead(store)
    await store.keep_transition(given.first("run-1"), fence=fence)

    with pytest.raises(fencing.RunUnfinished, match="run run-1 has not ended") as caught:
        await store.keep_transition(given.first("run-2"), fence=fence)

    assert caught.value.run_id == "run-1"
    assert await store.runs.unfinished() == ("run-1",)
    kept = await store.keep_transition(given.first("run-1"), fence=fence)
    assert kept == run_records.KeptTransition(1, 2), "the same step again gets the same answer"
    end = given.head("run-1", status=RunStatus.FAILED, finished=1)
    await store.keep_transition(run_records.Transition(end, 1, given.at(1)), fence=fence)
    await store.keep_transition(given.first("run-2"), fence=fence)
    assert await store.runs.unfinished() == ("run-2",)


async def test_of_two_that_come_at_once_one_begins(store: stores.Store) -> None:
    fence = await lead(store)
    results = await asyncio.gather(
        *(store.keep_transition(given.first(f"run-{n}"), fence=fence) for n in range(4)),
        return_exceptions=True,
    )

    assert sorted(type(result).__name__ for result in results) == [
        "KeptTransition",
        *["RunUnfinished"] * 3,
    ]
    assert len(await store.runs.unfinished()) == 1


async def test_other_applications_other_leases_and_refused_runs_do_not_count(
    store: stores.Store,
) -> None:
    """On other clusters `volary run` carries out another application of the same name."""
    server, laptop = await lead(store), await lead(store, "shop\nother clusters")
    await store.keep_transition(given.first("run-1"), fence=server)
    await store.keep_transition(given.first("run-2"), fence=laptop)
    elsewhere = given.first("run-3")
    head = replace(elsewhere.head, application="blog")
    await store.keep_transition(replace(elsewhere, head=head), fence=server)
    refused = given.head("run-4", status=RunStatus.FAILED, finished=0)
    await store.keep_transition(replace(given.first("run-4"), head=refused), fence=server)

    assert await store.runs.unfinished() == ("run-1", "run-2", "run-3")


async def test_the_database_refuses_what_nobody_looked_for(store_address: str) -> None:
    """The index stands by itself, were the question before it ever left out."""
    clock = given.TurnedClock()
    async with factory.open_store(store_address, clock=clock) as store:
        await store.keep_transition(given.first("run-1"), fence=await lead(store))
        copy = sa.insert(tables.runs).from_select(
            ["id", "application", "status", "created", "lease"],
            sa.select(
                sa.literal("run-2"),
                tables.runs.c.application,
                tables.runs.c.status,
                tables.runs.c.created,
                tables.runs.c.lease,
            ),
        )
        with pytest.raises(Exception, match=r"CONSTRAINT_UNIQUE|came first"):
            async with store._base.writing() as connection:  # type: ignore[attr-defined]
                await connection.execute(copy)
        assert await store.runs.unfinished() == ("run-1",)
