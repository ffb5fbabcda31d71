"""All applications: what was left behind, and what a repository's new state means."""

import asyncio
from dataclasses import replace

import pytest

import breaking_store
import reconciler_fixtures as given
from store_fixtures import (  # noqa: F401 (fixtures are found by name)
    database_address,
    migrated_database,
    migrated_file,
    postgres,
)
from volary.controller.applications import registry
from volary.controller.status import application_statuses
from volary.engine.runs import run_builder, state
from volary.gitops import repository_state
from volary.model import errors, statuses
from volary.placement.failover import move_plans
from volary.store import records

BROKEN = errors.Problem("volary.yaml:3: a typo")


def seen(*names: str, path: str = "volary.yaml") -> repository_state.RepositoryState:
    """Return a repository with files that have errors, so that nothing begins."""
    found = tuple(
        repository_state.DiscoveredApplication(
            name, "shop", f"{name}/{path}", "c1", None, (BROKEN,)
        )
        for name in names
    )
    return repository_state.RepositoryState("shop", "main", None, found)


def is_broken(application: records.ApplicationRecord) -> bool:
    return application.status == "broken"


async def left(
    world: given.World, run: state.Run, kind: given.run_requests.KindName, **columns: object
) -> None:
    """Keep a run and its application as a process that ended left them."""
    await given.keep_run(world.store, run, kind)
    status = application_statuses.ApplicationStatus(run=run.id, under_way=True)
    record = records.ApplicationRecord(
        "shop",
        document=application_statuses.to_document(status),
        **columns,  # type: ignore[arg-type]
    )
    await world.store.applications.keep(record, fence=None)


def ended(status: statuses.RunStatus, *stages: given.pipelines.Stage) -> state.Run:
    made = run_builder.RunSpec("shop", "c1", run_builder.one_group(("us",)), stages)
    return replace(run_builder.new_run("r1", made, given.AT), status=status, finished=given.AT)


async def test_a_run_whose_end_was_not_written_down_is_concluded() -> None:
    async with given.leading() as world:
        await left(world, ended(statuses.RunStatus.SUCCEEDED, given.SYNC), given.Kind.RELEASE)

        await world.registry.load()
        await world.until(lambda shop: shop.status == "synced")

        kept = await world.stored()
        assert (kept.status, kept.running_commit) == ("synced", "c1")
        assert not (await world.status()).under_way


async def test_what_its_end_means_is_said_by_the_kind_kept_with_it() -> None:
    """Not by its stages: a release may have those of a move."""
    stages = move_plans.stages(move_plans.MovePlan(place=("us",)))
    for kind, running in ((given.Kind.MOVE, ""), (given.Kind.RELEASE, "c1")):
        async with given.leading() as world:
            await left(world, ended(statuses.RunStatus.SUCCEEDED, *stages), kind)

            await world.registry.load()
            await world.until(lambda shop: not shop.document.get("under_way"))

            assert (await world.stored()).running_commit == running


async def test_a_run_that_has_not_ended_is_taken_up_and_says_what_keeps_it_from_going_on() -> None:
    async with given.leading() as world:
        run = run_builder.new_run(
            "r1",
            run_builder.RunSpec("shop", "c1", run_builder.one_group(("us",)), (given.SYNC,)),
            given.AT,
        )
        await left(world, run, given.Kind.MOVE)

        await world.registry.load()
        assert world.shop.is_moving, "what is left behind counts"
        await world.until(lambda shop: "cannot go on" in shop.reason)

        assert "there is no repository shop" in (await world.stored()).reason
        await world.shop.submit(given.request("r2", "c2"))
        assert (await world.status()).waiting_reason == "run r1 has to end first"


async def test_a_file_that_goes_away_leaves_what_runs() -> None:
    async with given.leading() as world:
        await world.registry.load()
        await world.registry.notice(seen("shop"))
        await world.until(is_broken)
        assert "a typo" in (await world.stored()).reason

        await world.registry.notice(replace(seen(), problem="the host is down"))
        await world.registry.notice(replace(seen("blog"), name="blogs"))
        await world.until(is_broken, "blog")
        assert (await world.stored()).removed is None, "it may only not have been read"
        await world.registry.notice(seen())

        await world.until(lambda shop: shop.status == "removed")
        assert (await world.stored()).removed is not None


async def test_who_had_a_name_keeps_it() -> None:
    async with given.leading() as world:
        await world.registry.load()
        await world.registry.notice(seen("shop"))
        other = seen("shop", path="another.yaml")
        await world.registry.notice(replace(other, name="copy"))
        await world.until(is_broken, "shop.copy-shop")

        names = sorted(each.name for each in world.registry.all())
        assert names == ["shop", "shop.copy-shop"]
        assert (await world.stored()).path == "shop/volary.yaml"


async def test_only_what_is_gone_is_forgotten() -> None:
    async with given.leading() as world:
        await world.registry.load()
        await world.registry.notice(seen("shop"))
        await world.until(is_broken)
        refusal = await world.registry.forget(world.shop, "ana", "")
        assert refusal.startswith("its file is there, shop/volary.yaml of shop")

        await world.registry.notice(seen())
        await world.until(lambda shop: shop.removed is not None)
        assert await world.registry.forget(world.shop, "ana", "") == ""
        assert world.registry.reconciler("shop") is None
        assert await world.store.applications.get("shop") is None


async def test_adopting_needs_an_application_that_has_lost_its_repository() -> None:
    async with given.leading() as world:
        await world.registry.load()
        await world.registry.notice(seen("shop"))
        await world.until(is_broken)
        told = await world.registry.adopt(world.shop, "other", "ana")
        assert told == "its repository shop is in the settings"

        world.leader.dependencies.addresses = {"other": "https://git.example/other"}
        told = await world.registry.adopt(world.shop, "nowhere", "ana")
        assert told == "there is no repository nowhere in the settings"
        told = await world.registry.adopt(world.shop, "other", "ana")
        assert told == "other has no application called shop, as it was seen last"
        found = seen("shop").applications
        await world.registry.notice(
            replace(seen(), name="other", applications=(replace(found[0], repository="other"),))
        )
        assert await world.registry.adopt(world.shop, "other", "ana") == ""
        assert (await world.stored()).repository == "other"


async def test_who_has_lost_its_repository_is_orphaned_and_how_it_stood_before_is_kept() -> None:
    async with given.leading() as world:
        world.leader.dependencies.addresses = {"other": "https://git.example/other"}
        record = records.ApplicationRecord(
            "shop", "shop", "volary.yaml", status="failed", reason="eu was flooded"
        )
        await world.store.applications.keep(record, fence=None)
        before = application_statuses.StatusBeforeOrphaned("failed", "eu was flooded")

        for _ in ("at first", "and when the next process takes it up"):
            await registry.ApplicationRegistry(world.leader, {}).load()

            kept = await world.stored()
            assert kept.status == "orphaned"
            assert kept.reason.endswith("what runs stays as it is, and nothing is started for it")
            assert (await world.status()).before_orphaned == before


async def test_a_slow_application_holds_up_no_other_of_its_repository(
    database_address: str,  # noqa: F811
) -> None:
    """Not even the next look at the repository, and then it goes on with the newest."""
    slow, may_go_on = asyncio.Event(), asyncio.Event()

    async def hangs(name: str, arguments: tuple[object, ...]) -> None:
        if name == "applications.keep" and getattr(arguments[0], "name", "") == "slow":
            slow.set()
            await may_go_on.wait()

    async with given.leading(database_address, wrap=breaking_store.hanging(hangs)) as world:
        await world.registry.load()
        for commit in ("c1", "c2", "c3"):
            state = seen("slow", "shop")
            found = tuple(replace(one, commit=commit) for one in state.applications)
            await world.registry.notice(replace(state, applications=found))
            await world.until(lambda shop, head=commit: shop.document.get("head") == head)
        assert slow.is_set()
        assert await world.store.applications.get("slow") is None

        may_go_on.set()
        await world.registry.notice(seen("shop"))

        # Its file went away while it hung.
        await world.until(lambda slow: slow.status == "removed", "slow")
        kept = await world.store.applications.get("slow")
        assert kept is not None
        assert kept.document["head"] in ("c1", "c3"), "c2 was never looked at"


async def test_what_an_unknown_error_kept_from_being_decided_is_decided_later() -> None:
    left = ["applications.keep"]

    def breaks(name: str, done: bool) -> bool:
        return not done and name in left and (left.remove(name) or True)

    async with given.leading(wrap=breaking_store.breaking(breaks)) as world:
        await world.registry.load()
        await world.registry.notice(seen("shop"))

        await world.until(is_broken)
        assert left == []


async def test_an_application_that_cannot_be_read_is_left_alone_and_harms_no_other() -> None:
    async with given.leading() as world:
        record = records.ApplicationRecord("shop", "shop", "shop/volary.yaml", document={"run": 7})
        await world.store.applications.keep(record, fence=None)
        await left(world, ended(statuses.RunStatus.SUCCEEDED, given.SYNC), given.Kind.RELEASE)
        await world.store.applications.keep(record, fence=None)

        await world.registry.load()
        await world.registry.notice(seen("shop", "blog"))

        await world.until(is_broken, "blog")
        assert (await world.stored()).document == {"run": 7}


async def test_what_cannot_be_made_of_a_repository_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with given.leading() as world:
        await world.registry.load()
        with monkeypatch.context() as patched:
            patched.setattr(registry.application_identity, "names_of_seen", lambda *_: 1 / 0)
            with pytest.raises(errors.TemporaryError, match="internal error"):
                await world.registry.notice(seen("shop"))

        await world.registry.notice(seen("shop"))
        await world.until(is_broken)


async def test_very_many_new_applications_let_others_have_their_turn() -> None:
    names, turns = [f"app-{number}" for number in range(1_000)], list[int]()

    async def others() -> None:
        while True:
            turns.append(len(turns))
            await asyncio.sleep(0)

    async with given.leading() as world, asyncio.TaskGroup() as group:
        await world.registry.load()
        waiting = group.create_task(others())
        await asyncio.sleep(0)
        await world.registry.notice(seen(*names))
        waiting.cancel()
        known = {reconciler.name for reconciler in world.registry.all()}

    assert known == set(names)
    assert len(turns) >= 1_000 // 50


async def test_what_is_seen_while_an_earlier_look_is_taken_comes_after_it() -> None:
    names = [f"app-{number}" for number in range(200)]
    async with given.leading() as world:
        await world.registry.load()
        async with asyncio.TaskGroup() as group:
            group.create_task(world.registry.notice(seen(*names)))
            await asyncio.sleep(0)
            group.create_task(world.registry.notice(seen("app-0")))

        await world.until(lambda application: application.status == "removed", "app-199")
        await world.until(is_broken, "app-0")
