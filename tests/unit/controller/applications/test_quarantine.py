"""What fails by a limit, or takes processes along, again and again is not tried any more."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import reconciler_fixtures as given
from volary.controller.status import application_statuses
from volary.gitops import triggers
from volary.model import work_limits
from volary.store import records

_SLOW = work_limits.TookTooLongError("rendering shop", timedelta(seconds=60))
_TOO_LONG = (
    "c1 is in quarantine: rendering shop took more than 60 s of processor time and is not waited"
    " for"
)
_DIED = "c1 is in quarantine: the process ended while it was being planned; it was tried 20 times"
_HINT = "hint: push a commit that mends it, or `volary sync shop` tries once more"


def attempt(failures: int, **more: object) -> application_statuses.PlanningAttempt:
    """Return an attempt to plan the request r1 as a process that ended in it left it."""
    made = application_statuses.PlanningAttempt("r1", "c1", failures, under_way=True)
    return replace(made, **more)  # type: ignore[arg-type]


async def left(world: given.World, known: application_statuses.PlanningAttempt) -> None:
    """Keep an application with a request, whose planning ended with its process."""
    status = application_statuses.ApplicationStatus(run_request=given.request(), attempt=known)
    document = application_statuses.to_document(status)
    await world.store.applications.keep(
        records.ApplicationRecord("shop", status="waiting", document=document), fence=None
    )
    await world.registry.load()


async def test_what_takes_too_long_twice_is_refused_with_its_reason() -> None:
    async with given.leading() as world:
        world.script.troubles += [_SLOW, _SLOW]
        await world.shop.submit(given.request())
        await world.until(lambda shop: shop.status == "failed")

        assert world.script.prepared == ["r1", "r1"]
        kept = await world.stored()
        assert kept.reason.startswith(_TOO_LONG)
        assert kept.reason.endswith(_HINT)
        assert (await world.status()).run_request is None


async def test_the_first_time_it_waits_and_says_why(tmp_path: Path) -> None:
    """Another machine, or another hour, may be enough for it."""
    async with given.leading() as world:
        world.script.troubles.append(_SLOW)
        await world.shop.submit(given.request())
        await world.until(lambda shop: shop.status == "synced")

        assert world.script.prepared == ["r1", "r1"]
        assert (await world.status()).attempt is None


async def test_a_new_commit_and_a_person_let_it_go() -> None:
    async with given.leading() as world:
        world.script.troubles += [_SLOW, _SLOW]
        await world.shop.submit(given.request())
        await world.until(lambda shop: shop.status == "failed")

        await world.shop.submit(given.request("r2", "c1", trigger=triggers.Kind.COMMAND, by="ana"))
        await world.until(lambda shop: shop.status == "synced")
        assert world.script.prepared == ["r1", "r1", "r2"]

        world.script.troubles += [_SLOW, _SLOW]
        await world.shop.submit(given.request("r3", "c2"))
        await world.until(lambda shop: shop.status == "failed")
        await world.shop.submit(given.request("r4", "c3"))
        await world.until(lambda shop: shop.running_commit == "c3")
        assert world.script.prepared[3:] == ["r3", "r3", "r4"]


async def test_the_same_commit_without_a_person_stays_in_quarantine(tmp_path: Path) -> None:
    address = f"sqlite:{tmp_path}/volary.db"
    async with given.leading(address) as world:
        world.script.troubles += [_SLOW, _SLOW]
        await world.shop.submit(given.request())
        await world.until(lambda shop: shop.status == "failed")

    async with given.leading(address) as world:
        await world.registry.load()
        await world.shop.submit(given.request("r2", "c1"))
        await world.until(lambda shop: "r2" in str(shop.document) and shop.status == "failed")

        assert world.script.prepared == []
        assert (await world.stored()).reason.startswith(_TOO_LONG)


async def test_whose_planning_ended_twenty_processes_is_not_planned_again() -> None:
    async with given.leading() as world:
        await left(world, attempt(19, most=20, reason="the process ended"))
        await world.until(lambda shop: shop.status == "failed")

        assert world.script.prepared == []
        assert (await world.stored()).reason.startswith(_DIED)


@pytest.mark.parametrize("before", [0, 18])
async def test_whose_planning_ended_fewer_processes_is_planned_once_more(before: int) -> None:
    """They may have been killed for another reason."""
    async with given.leading() as world:
        await left(world, attempt(before, most=20, reason="the process ended"))
        await world.until(lambda shop: shop.status == "synced")

        assert world.script.prepared == ["r1"]


async def test_a_process_that_stops_blames_nobody(tmp_path: Path) -> None:
    address = f"sqlite:{tmp_path}/volary.db"
    async with given.leading(address) as world:
        world.script.may_plan.clear()
        await world.shop.submit(given.request())
        await world.script.planning.wait()
        known = (await world.status()).attempt
        assert known is not None
        assert known.under_way

    async with given.leading(address) as world:
        kept = await world.status()
        assert kept.attempt is None
        assert kept.run_request is not None


async def test_those_that_may_have_ended_a_process_are_planned_one_by_one() -> None:
    """Else both would be blamed for what one of them does."""
    async with given.leading() as world:
        world.script.may_plan.clear()
        for name in ("cart", "shop"):
            request = given.request(f"r-{name}")
            known = attempt(0, request=request.id)
            status = application_statuses.ApplicationStatus(run_request=request, attempt=known)
            document = application_statuses.to_document(status)
            record = records.ApplicationRecord(name, status="waiting", document=document)
            await world.store.applications.keep(record, fence=None)
        await world.registry.load()
        await world.script.planning.wait()
        await asyncio.sleep(0.1)
        assert len(world.script.prepared) == 1

        world.script.may_plan.set()
        for name in ("cart", "shop"):
            await world.until(lambda each: each.status == "synced", name)
        assert sorted(world.script.prepared) == ["r-cart", "r-shop"]


@pytest.mark.parametrize("failures", [1, 2])
async def test_a_bug_counts_as_before(failures: int) -> None:
    async with given.leading() as world:
        world.script.troubles += [ZeroDivisionError("a bug")] * failures
        await world.shop.submit(given.request())
        await world.until(lambda shop: shop.status == "synced")

        assert world.script.prepared == ["r1"] * (failures + 1)
