"""No single error strands a run or an application: it is read again, and goes on."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

import breaking_store
import reconciler_fixtures as given
from volary.controller.status import application_statuses, run_admission
from volary.engine.runs import run_builder, state
from volary.engine.state_machine import events
from volary.model import errors, statuses
from volary.store import fencing, records
from volary.tenancy import membership

GONE = "there is no repository shop"


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
async def test_an_unknown_error_of_the_store_at_any_step_strands_nothing(
    done: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call in turn goes wrong, before or after it was carried out."""
    broken: list[str] = []
    for number in range(1, 100):
        nth = breaking_store.NthCall(number, done=done)
        async with given.leading(wrap=breaking_store.breaking(nth)) as world:
            monkeypatch.setattr(given.ready_runs, "take_up", world.script.take_up)
            await world.shop.submit(given.request())
            await world.until(lambda shop: shop.status in ("synced", "failed"))
            for _ in range(3):
                await asyncio.sleep(0)
            await world.until(lambda shop: not shop.document.get("under_way"))

            where = f"call {number}, {nth.seen[number - 1 : number]}"
            assert (await world.stored()).status == "synced", where
            assert (await world.stored()).running_commit == "c1", where
            runs = await world.store.runs.list(records.RunFilter())
            assert [run.head.id for run in runs.items] == ["r1"], where
            assert await world.store.runs.unfinished() == (), where
            # The application goes on with what comes next.
            await world.shop.submit(given.request("r2", "c2"))
            await world.until(lambda shop: shop.running_commit == "c2")
        if not nth.has_broken:
            break
        broken += nth.seen[number - 1 : number]

    assert {"keep_transition", "applications.keep"} <= set(broken)
    assert len(broken) >= 8


async def left_behind(
    world: given.World,
    *,
    touched: tuple[str, ...] = ("us",),
    running: str = "c0",
    said: str = "cannot go on",
) -> state.Run:
    """Keep a run whose commit is nowhere, as a process that ended left it at work on us."""
    spec = run_builder.RunSpec(
        "shop", "c1", run_builder.one_group(("us", "eu")), (given.SYNC,), running_commit=running
    )
    run = run_builder.new_run("r1", spec, given.AT)
    run = given.machine.advance(run, events.Start(given.AT)).run
    run = replace(
        run,
        clusters=tuple(replace(one, touched=one.name in touched) for one in run.clusters),
    )
    if not touched:
        run = run_builder.new_run("r1", spec, given.AT)
    await given.keep_run(world.store, run, given.Kind.RELEASE)
    status = application_statuses.ApplicationStatus(run="r1", under_way=True)
    document = application_statuses.to_document(status)
    record = records.ApplicationRecord("shop", "shop", "volary.yaml", document=document)
    await world.store.applications.keep(record, fence=None)
    await world.registry.load()
    await world.until(lambda shop: said in f"{shop.reason} {shop.document['waiting_reason']}")
    return run


async def test_a_run_goes_on_once_it_is_known_which_projects_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Until then nobody knows what it may do, and nothing is wrong with it."""
    async with given.leading() as world:
        monkeypatch.setattr(given.ready_runs, "take_up", world.script.take_up)
        world.leader.dependencies.projects = lambda: membership.Projects(unknown="Git is away")
        await left_behind(world, said="it is not known which projects there are: Git is away")
        assert not world.script.stages.begun.is_set()

        world.leader.dependencies.projects = membership.Projects
        await world.registry.review()

        await world.until(lambda shop: shop.status == "synced")


def cancel(**options: bool) -> events.Cancel:
    return events.Cancel(given.Clock().now(), "ana", **options)


async def test_what_cannot_go_on_says_so_to_who_approves_it_and_how_it_ends() -> None:
    async with given.leading() as world:
        await left_behind(world)

        told = await world.shop.request("r1", events.Approve(given.Clock().now(), "ana"))

        assert told.startswith(f"run r1 cannot go on: {GONE}")
        assert "\nhint: `volary cancel r1` ends it" in told
        assert "`volary abandon`" in told


async def test_a_run_whose_commit_is_gone_is_abandoned_and_says_what_stays_behind() -> None:
    async with given.leading() as world:
        await left_behind(world)

        assert await world.shop.abandon("r1", "ana", "the repository was rewritten") == ""

        run = await world.store.runs.load("r1")
        assert run is not None
        assert run.head.status is statuses.RunStatus.CANCELLED
        assert run.head.reason.startswith("cancelled by ana: the repository was rewritten; ")
        assert "us" in run.head.reason
        assert "stay" in run.head.reason
        assert not (await world.status()).under_way
        assert world.shop.unfinished_run == ""
        await world.shop.submit(given.request("r2", "c2"))
        await world.until(lambda shop: shop.running_commit == "c2")


async def test_a_run_whose_commit_is_gone_is_cancelled_and_what_ran_before_comes_back() -> None:
    async with given.leading() as world:
        world.leader.kinds[given.Kind.ROLLBACK_TO_COMMIT] = given.Release(world.script)  # type: ignore[index]
        await left_behind(world, touched=("us", "eu"))

        assert await world.shop.request("r1", cancel(rollback=True)) == ""

        run = await world.store.runs.load("r1")
        assert run is not None
        assert run.head.status is statuses.RunStatus.CANCELLED
        assert f"it could not go on: {GONE}; run new brings back c0" in run.head.reason
        await world.until(lambda shop: shop.running_commit == "c0")
        assert world.script.prepared == ["new"]


async def test_a_cancel_that_was_refused_brings_nothing_back() -> None:
    async with given.leading() as world:
        run = await left_behind(world, touched=("us", "eu"))
        asked = records.RequestRecord("q1", "cancel", "ana", given.AT, "shop", run.id)
        await world.store.requests.ask(asked)
        await world.store.requests.answer("q1", refusal="not now", fence=None)

        with pytest.raises(fencing.RequestAnswered, match="q1"):
            await world.shop.request("r1", replace(cancel(rollback=True), id="q1"))

        assert (await world.status()).run_request is None
        assert await world.store.runs.unfinished() == ("r1",)


async def test_a_cancel_that_keeps_everything_begins_nothing() -> None:
    async with given.leading() as world:
        await left_behind(world)

        assert await world.shop.request("r1", cancel(rollback=False)) == ""

        assert (await world.status()).run_request is None
        assert (await world.stored()).status == "cancelled"


async def test_a_run_whose_commit_is_gone_can_be_forgotten_once_it_is_cancelled() -> None:
    async with given.leading() as world:
        await left_behind(world, touched=())
        assert await world.shop.forget("ana", "") == "run r1 has to end first; cancel it"

        assert await world.shop.request("r1", cancel()) == ""
        assert await world.shop.forget("ana", "") == ""

        assert await world.store.applications.get("shop") is None
        assert await world.store.runs.unfinished() == ()


async def test_a_damaged_run_is_abandoned_by_what_its_columns_say() -> None:
    async with given.leading() as world:
        run = await left_behind(world)
        stored = await world.store.runs.load(run.id)
        assert stored is not None
        damaged = given.run_records.Transition(
            stored.head, stored.version, given.AT, document={"schema": 1}
        )
        await world.store.keep_transition(damaged, fence=None)

        assert await world.shop.abandon("r1", "ana", "") == ""
        await world.until(lambda shop: not shop.document.get("under_way"))

        kept = await world.store.runs.summary("r1")
        assert kept is not None
        assert kept.head.finished is not None
        assert "what is stored of run r1 is damaged; what it did on us and eu stays there" in (
            kept.head.reason
        )
        await world.shop.submit(given.request("r2", "c2"))
        await world.until(lambda shop: shop.running_commit == "c2")


async def test_what_may_work_later_is_cancelled_as_it_is_stored() -> None:
    """And does what a cancel takes as soon as it goes on."""

    class Away(given.NoRepositories):
        async def repository(self, name: str) -> given.repositories.Repository:
            raise errors.TemporaryError("the host is down")

    async with given.leading(sources=Away()) as world:
        await left_behind(world)

        assert await world.shop.request("r1", cancel(rollback=True)) == ""

        run = await world.store.runs.load("r1")
        assert run is not None
        assert run.head.finished is None
        assert "cancelled by ana" in run.head.reason


async def test_a_bug_in_what_a_person_asks_for_leaves_the_run_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with given.leading() as world:
        world.script.stages.may_end.clear()
        await world.shop.submit(given.request())
        await world.script.stages.begun.wait()
        broken: Callable[..., object] = lambda *_: 1 / 0  # noqa: E731
        monkeypatch.setitem(given.machine._RECORDS, events.PauseAsked, (broken, "paused"))  # type: ignore[arg-type]

        told = await world.shop.request("r1", events.PauseAsked(given.Clock().now(), "ana"))
        assert told == "internal error (ZeroDivisionError), see the log; nothing was changed"

        world.script.stages.may_end.set()
        await world.until(lambda shop: shop.status == "synced")


async def test_a_bug_in_what_a_newer_commit_means_for_a_run_leaves_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with given.leading() as world:
        world.script.stages.may_end.clear()
        await world.shop.submit(given.request())
        await world.script.stages.begun.wait()
        monkeypatch.setattr(run_admission, "why_cancel", lambda *_: 1 / 0)

        await world.shop.submit(given.request("r2", "c2"))
        world.script.stages.may_end.set()
        await world.until(lambda shop: shop.running_commit == "c2")

        ended = await world.store.runs.summary("r1")
        assert ended is not None
        assert ended.head.status is statuses.RunStatus.SUCCEEDED


async def test_who_asks_while_a_run_is_interrupted_is_answered_by_the_one_that_goes_on() -> None:
    broken = {"keep_transition"}

    def breaks(name: str, done: bool) -> bool:
        return armed and not done and name in broken and (broken.discard(name) or True)

    armed = False
    async with given.leading(wrap=breaking_store.breaking(breaks)) as world:
        world.script.stages.may_end.clear()
        await world.shop.submit(given.request())
        await world.script.stages.begun.wait()
        await world.until(lambda shop: shop.status == "running")
        armed = True

        told = await world.shop.request("r1", cancel())

        # Its repository is not there, so the interrupted run cannot go on: the cancel ends it.
        assert told == ""
        assert not broken
        await world.until(lambda shop: shop.status == "cancelled")
        assert await world.store.runs.unfinished() == ()


async def test_a_run_that_nobody_knew_of_goes_on_before_another_begins() -> None:
    async with given.leading() as world:
        spec = run_builder.RunSpec("shop", "c1", run_builder.one_group(("us",)), (given.SYNC,))
        run = run_builder.new_run("lost", spec, given.AT)
        await given.keep_run(world.store, run, given.Kind.RELEASE, fence=world.leader.fence)

        await world.shop.submit(given.request("r2", "c2"))
        await world.until(lambda shop: "run lost cannot go on" in shop.reason)
        assert await world.store.runs.load("r2") is None
        with pytest.raises(fencing.RunUnfinished):
            await given.keep_run(
                world.store, replace(run, id="r3"), given.Kind.RELEASE, fence=world.leader.fence
            )

        assert await world.shop.abandon("lost", "ana", "") == ""
        await world.until(lambda shop: shop.running_commit == "c2")
