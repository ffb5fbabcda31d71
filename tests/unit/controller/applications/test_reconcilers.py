"""One application: a run at a time, a request behind it, and what is written down of both."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

import reconciler_fixtures as given
from volary.controller.status import application_statuses, cluster_releases
from volary.engine.runs import run_builder, state
from volary.model import backoffs, errors, statuses
from volary.placement.failover import move_plans, situations

PAUSE = state.Pause("ana", given.AT, "on television")
SHIFT = move_plans.MovePlan(place=("eu",), last=("us",))
MOVE = given.request("m1", "c1", kind=given.Kind.MOVE, shift=SHIFT)


@pytest.fixture
async def world() -> AsyncIterator[given.World]:
    async with given.leading() as made:
        yield made


async def test_a_request_becomes_a_run_of_its_kind_and_its_end_is_what_runs(
    world: given.World,
) -> None:
    await world.shop.submit(given.request())
    await world.until(lambda shop: shop.status == "synced")

    kept, run = await world.stored(), await world.store.runs.load("r1")
    assert run is not None
    assert (run.origin["kind"], run.head.status) == ("release", statuses.RunStatus.SUCCEEDED)
    assert (kept.running_commit, (await world.commits())["c1"][0]) == ("c1", "succeeded")
    status = await world.status()
    assert (status.run, status.under_way, status.run_request) == ("r1", False, None)
    assert world.shop.kind_under_way is None


async def test_what_has_to_be_mended_fails_the_commit_and_nothing_is_tried_again(
    world: given.World,
) -> None:
    world.script.troubles.append(errors.user_error("the file has errors"))

    await world.shop.submit(given.request())
    await world.until(lambda shop: shop.status == "failed")

    assert (await world.commits())["c1"] == ("failed", "the file has errors")
    assert (await world.status()).run_request is None
    run = await world.store.runs.load("r1")
    assert run is not None, "whoever waits for the commit waits for a run"
    assert (run.head.status, run.head.reason) == (statuses.RunStatus.FAILED, "the file has errors")
    assert (run.head.finished, run.stages) == (run.head.created, ())
    assert run.origin["reason"] == "c1 was pushed"
    assert (await world.status()).run == "r1"
    assert world.script.prepared == ["r1"]


async def test_what_a_process_refused_before_it_died_stays_refused(world: given.World) -> None:
    refused = run_builder.refused_run("r1", "shop", "c1", "", "it has errors", given.AT)
    await given.keep_run(world.store, refused, given.Kind.RELEASE)

    await world.shop.submit(given.request())
    await world.until(lambda shop: shop.status == "failed")

    assert (await world.stored()).reason == "it has errors"
    assert ((await world.status()).run, world.script.prepared) == ("r1", [])


async def test_what_may_work_later_says_so_and_is_tried_again(world: given.World) -> None:
    world.script.troubles += [errors.TemporaryError("eu does not answer")] * 2
    reasons: list[str] = []

    def holds(shop: object) -> bool:
        reasons.append(world.shop.record.reason)
        return world.shop.record.status == "synced"

    await world.shop.submit(given.request())
    await world.until(holds)

    assert world.script.prepared == ["r1"] * 3
    assert (await world.stored()).running_commit == "c1"
    assert (await world.status()).waiting_reason == ""


async def test_it_says_why_it_waits_and_when_it_is_tried_again() -> None:
    ten_minutes = timedelta(minutes=10)
    slow = given.inputs.Rules(backoff=backoffs.Backoff(ten_minutes, ten_minutes))
    async with given.leading(rules=slow) as world:
        world.script.troubles.append(errors.TemporaryError("eu does not answer"))
        await world.shop.submit(given.request())
        await world.until(lambda shop: "eu" in shop.reason)

        told = "eu does not answer; tried again within 600 s"
        assert (await world.stored()).reason == told
        assert (await world.status()).waiting_reason == told
        # A newer commit does not wait for the older one's delay.
        await world.shop.submit(given.request("r2", "c2"))
        await world.until(lambda shop: shop.status == "synced")
        assert (await world.stored()).running_commit == "c2"


async def test_an_older_request_gives_way_to_a_newer_one(world: given.World) -> None:
    world.script.stages.may_end.clear()
    await world.shop.submit(given.request())
    await world.until(lambda shop: shop.status == "running")

    await world.shop.submit(given.request("r2", "c2"))
    assert (await world.status()).waiting_reason == "run r1 has to end first"
    await world.shop.submit(given.request("r3", "c3"))
    assert (await world.commits())["c2"] == ("superseded", "superseded by c3 before it began")
    world.script.stages.may_end.set()
    await world.until(lambda shop: shop.running_commit == "c3")

    assert world.script.prepared == ["r1", "r3"]
    assert await world.store.runs.load("r2") is None


async def test_nothing_begins_while_the_application_is_paused(world: given.World) -> None:
    await world.shop.change({"pause": PAUSE})
    await world.shop.submit(given.request())
    await world.until(lambda shop: "paused by ana" in str(shop.document))
    assert world.script.prepared == []

    await world.shop.amend(lambda status: replace(status, pause=None))
    await world.until(lambda shop: shop.status == "synced")

    assert world.script.prepared == ["r1"]


async def test_a_move_goes_first_and_counts_until_its_end_is_written(world: given.World) -> None:
    world.script.stages.may_end.clear()
    await world.shop.change({"move": MOVE, "run_request": given.request("r2", "c2")})
    world.shop.work()
    await world.until(lambda shop: "m1" in str(shop.document.get("run")))

    assert world.shop.is_moving
    assert (await world.stored()).status == "", "how the last release stands stays said"
    world.script.stages.may_end.set()
    await world.until(lambda shop: shop.status == "synced")

    assert world.script.prepared == ["m1", "r2"]
    assert not world.shop.is_moving
    assert (await world.status()).move is None


async def test_going_back_is_before_a_move_and_is_not_held_up_by_a_pause(
    world: given.World,
) -> None:
    back = given.request("r2", "c0", kind=given.Kind.ROLLBACK_TO_COMMIT)
    placed = cluster_releases.ClusterReleases().with_placement(situations.PlacementState(("us",)))
    await world.shop.change({"pause": PAUSE, "move": MOVE, "releases": placed})

    await world.shop.submit(back)
    # It has a kind of its own: without the repository, it is refused, and the move is not.
    await world.until(lambda shop: shop.status == "failed")

    assert world.script.prepared == []
    assert (await world.commits())["c0"] == ("failed", "there is no repository ")
    assert (await world.status()).move == MOVE


async def test_a_cancelled_run_leaves_its_reason(world: given.World) -> None:
    world.script.stages.may_end.clear()
    await world.shop.submit(given.request())
    await world.script.stages.begun.wait()

    assert await world.shop.request("another", _cancel()) == (
        "the run is being taken up again; try in a moment"
    )
    assert await world.shop.request("r1", _cancel()) == ""
    world.script.stages.may_end.set()
    await world.until(lambda shop: shop.status == "cancelled")

    assert (await world.stored()).running_commit == ""
    assert (await world.commits())["c1"][0] == "cancelled"


def _cancel() -> given.events.Cancel:
    return given.events.Cancel(given.Clock().now(), "ana", reason="not today")


async def test_a_bug_stops_one_request_and_not_the_process(world: given.World) -> None:
    """It may have been bad luck, so it is tried again; but not for ever."""
    world.script.troubles += [ZeroDivisionError("a bug")] * 3

    await world.shop.submit(given.request())
    await world.until(lambda shop: shop.status == "failed")
    assert (await world.stored()).reason == (
        "c1 is in quarantine: internal error (ZeroDivisionError), see the log; it was tried 3 times"
        "\nhint: push a commit that mends it, or `volary sync shop` tries once more"
    )
    assert (await world.status()).run_request is None, "nor does the next process try it"

    world.script.troubles.append(ZeroDivisionError("bad luck"))
    await world.shop.submit(given.request("r2", "c2"))
    await world.until(lambda shop: shop.status == "synced")


async def test_forgetting_waits_for_the_run(world: given.World) -> None:
    world.script.stages.may_end.clear()
    await world.shop.submit(given.request())
    await world.script.stages.begun.wait()
    assert await world.shop.forget("ana", "") == "run r1 has to end first; cancel it"

    world.script.stages.may_end.set()
    await world.until(lambda shop: shop.status == "synced")
    assert await world.shop.forget("ana", "") == ""
    assert await world.store.applications.get("shop") is None
    await world.shop.change(status=application_statuses.StatusWord.BROKEN.value)
    await asyncio.sleep(0)
    assert await world.store.applications.get("shop") is None


async def test_a_commit_that_was_overtaken_while_it_was_planned_does_not_begin(
    world: given.World,
) -> None:
    world.script.may_plan.clear()
    await world.shop.submit(given.request())
    await world.script.planning.wait()

    await world.shop.submit(given.request("r2", "c2"))
    world.script.may_plan.set()
    await world.until(lambda shop: shop.running_commit == "c2")

    assert await world.store.runs.load("r1") is None
    assert (await world.commits())["c1"] == ("superseded", "superseded by c2 before it began")
    assert world.script.prepared == ["r1", "r2"]


async def test_a_pause_while_it_is_planned_holds_it(world: given.World) -> None:
    world.script.may_plan.clear()
    await world.shop.submit(given.request())
    await world.script.planning.wait()

    await world.shop.change({"pause": PAUSE})
    world.script.may_plan.set()
    await world.until(lambda shop: "paused by ana" in str(shop.document.get("waiting_reason", "")))

    assert await world.store.runs.load("r1") is None
    assert (await world.status()).next_request == given.request()
