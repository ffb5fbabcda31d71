"""A repository that the settings call something else by now, or do not have any more."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

import command_world
import git_feed
import process_time
from controller_world import ANA, SPEED, Controlled, controlled
from volary.controller import refusals
from volary.controller.api import representations
from volary.model import server_settings
from volary.model.fleet import cluster_health
from volary.store import records

V1, V2 = "example/simple:v1", "example/simple:v2"
WATCHED = cluster_health.HealthRules(
    interval=timedelta(seconds=0.2),
    timeout=timedelta(seconds=1),
    failure_threshold=timedelta(seconds=0.2),
    success_threshold=timedelta(seconds=0.2),
)
GONE = "its repository infra is no longer in the settings"
LEFT = f"{GONE}; what runs stays as it is, and nothing is started for it"


@contextlib.asynccontextmanager
async def settled(
    world: command_world.World, name: str, directory: Path | None = None, **more: object
) -> AsyncIterator[Controlled]:
    """A life of the controller whose settings have one repository, under this name."""
    where = directory or world.directory
    feed = git_feed.Feed(where, name)
    async with controlled(
        world,
        store=f"sqlite:{world.directory.parent / 'volary.db'}",
        parts={"repositories": feed, "watch": feed.watch},
        repositories=(server_settings.Repository(name, str(where)),),
        **more,
    ) as given:
        given.feed = feed
        yield given


async def looked(given: Controlled) -> None:
    """Wait until the repository was looked at; what was seen is taken up after that."""
    while not given.feed.told:
        await given.service.changed(0.02)


def nothing_to_deploy(base: Path) -> Path:
    """Make another repository."""
    directory = base / "other"
    directory.mkdir()
    (directory / "README").write_text("Nothing to deploy.")
    command_world.commit(directory, "Begin")
    return directory


async def everything(given: Controlled) -> dict[str, str]:
    wanted = records.ApplicationFilter(with_removed=True)
    return {each.name: each.status for each in (await given.service.applications(wanted)).items}


async def test_a_renamed_repository_takes_its_applications_along(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", speed=SPEED) as world:
        async with settled(world, "infra") as given:
            before = await given.until_application(lambda each: each.status == "synced")
        async with settled(world, "platform") as given:
            after = await given.until_application(lambda each: each.repository == "platform")
            runs = await given.runs()
            second = given.push(V1, V2)
            await given.synced(second)
            noted = (await given.service.audit(records.AuditFilter())).items

            assert (after.repository, after.status, after.reason) == (
                "platform",
                "synced",
                before.reason,
            )
            assert (after.running_commit, after.run) == (before.running_commit, before.run)
            assert [each.id for each in runs] == [before.run]
            assert await everything(given) == {"simple": "synced"}
            assert [(each.action, each.by, each.document) for each in noted] == [
                (
                    "application.adopted",
                    "volary",
                    {"from": "infra", "repository": "platform", "path": after.path},
                )
            ]
            assert (await given.runs())[0].trigger == "deployment.yaml changed"
            assert world.images("us") == f"{V2} 2/2"
            # The rollback, too, to a commit of the repository as it was called before.
            back = await given.service.ask_application("rollback", "simple", ANA)
            ended = await given.ended(back.run)
            assert (ended.status, world.images("us")) == ("succeeded", f"{V1} 2/2")


async def test_what_has_lost_its_repository_says_so_and_is_left_as_it_is(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", speed=SPEED) as world:
        async with settled(world, "infra") as given:
            before = await given.until_application(lambda each: each.status == "synced")
        async with settled(world, "other", nothing_to_deploy(tmp_path)) as given:
            await looked(given)
            lost = await given.application()
            refused = []
            for kind in ("sync", "rollback"):
                with pytest.raises(refusals.Conflict) as caught:
                    await given.service.ask_application(kind, "simple", ANA)
                refused.append(caught.value.problems[0].message)
            runs, images = await given.runs(), world.images("us")
        async with settled(world, "infra") as given:
            again = await given.until_application(lambda each: each.status != "orphaned")

    assert (lost.status, lost.reason, lost.running_commit) == (
        "orphaned",
        LEFT,
        before.running_commit,
    )
    assert refused == [f"{GONE}, so nothing is started for it"] * 2
    assert ([each.id for each in runs], images) == ([before.run], f"{V1} 2/2")
    assert (again.status, again.reason) == (before.status, before.reason)


async def test_nothing_is_caught_up_for_what_has_lost_its_repository(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A cluster that missed the release and could have it by now waits for the repository."""
    async with command_world.world(tmp_path, "us", "eu", speed=SPEED) as world:
        other = nothing_to_deploy(tmp_path)
        async with settled(world, "other", other, cluster_health=WATCHED) as given:
            await given.service.fleet.ask("cordon", "eu", ANA, reason="upgrade")
        async with settled(world, "infra", cluster_health=WATCHED) as given:
            await given.until_application(lambda each: each.status == "synced")
        async with settled(world, "other", other, cluster_health=WATCHED) as given:
            await looked(given)
            await given.service.fleet.ask("uncordon", "eu", ANA, reason="done")
            for _ in range(5):
                await asyncio.sleep(WATCHED.interval.total_seconds())
            lost, runs = await given.application(), await given.runs()
            there = world.find("eu", "Deployment", "simple")
        async with settled(world, "infra", cluster_health=WATCHED) as given:
            async with asyncio.timeout(process_time.HANG):
                while len(await given.runs()) < 2:
                    await given.service.changed(0.1)
            caught_up = (await given.runs())[0]
            await given.ended(caught_up.id)

        assert (lost.status, len(runs), there) == ("orphaned", 1, None)
        assert "is not backfilled now" not in caplog.text, "it is not even looked at"
        assert caught_up.targets == ("eu",)
        assert world.images("eu") == f"{V1} 2/2"


@pytest.mark.parametrize("word", ["adopt", "forget"])
async def test_a_person_says_whether_an_application_elsewhere_is_the_same(
    tmp_path: Path, word: str
) -> None:
    """The name and the address are others: it may be a fork, or somebody else's application."""
    async with command_world.world(tmp_path, "us", speed=SPEED) as world:
        async with settled(world, "infra") as given:
            before = await given.until_application(lambda each: each.status == "synced")
        shutil.copytree(world.directory, tmp_path / "moved")
        async with settled(world, "platform", tmp_path / "moved") as given:
            while len(await everything(given)) < 2:
                await given.service.changed(0.02)
            lost, known = await given.application(), await everything(given)
            stand_in = f"simple@platform/{lost.path}"
            told = (await given.service.application(stand_in)).reason
            if word == "adopt":
                await given.service.ask_application(
                    "adopt", "simple", ANA, repository="platform", reason="we have moved house"
                )
            else:
                asked = await given.service.forget_application(
                    "simple", ANA, reason="this is another one"
                )
                assert "what runs in the clusters stays" in asked.reason
            after = await given.synced(before.running_commit)
            runs = [each.id for each in await given.runs()]
            kept = await everything(given)
            noted = (await given.service.audit(records.AuditFilter(by="ana"))).items
            with pytest.raises(refusals.Conflict) as caught:
                await given.service.forget_application("simple", ANA, reason="once more")

    assert lost.status == "orphaned"
    assert known == {"simple": "orphaned", stand_in: "broken"}
    assert f"simple is the name of another application, and {GONE}" in told
    assert "`volary application adopt`" in told
    assert after.repository == "platform"
    assert kept == {"simple": "synced"}
    assert runs[-1] == before.run
    assert len(runs) == (1 if word == "adopt" else 2)
    assert noted[0].action == f"application.{word}"
    assert caught.value.problems[0].message == (
        f"its file is there, {after.path} of platform: delete it first"
    )


async def test_a_run_under_way_goes_on_in_the_renamed_repository(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", speed=SPEED) as world:
        async with settled(world, "infra") as given:
            await given.until_application(lambda each: each.status == "synced")
            second = given.push(V1, V2)
            running = await given.until_application(lambda each: each.status == "running")
            await given.ask_run("pause", running.run, ANA)
        async with settled(world, "platform") as given:
            await given.until_application(lambda each: each.repository == "platform")
            # What was under way when it was paused comes to its end before.
            await given.until_run(running.run, _rests)
            await given.ask_run("resume", running.run, ANA)
            await given.synced(second)

            assert [each.status for each in await given.runs()] == ["succeeded"] * 2
            assert world.images("us") == f"{V2} 2/2"


@pytest.mark.parametrize("word", ["abandon", "forget"])
async def test_a_run_that_nobody_can_carry_out_can_only_be_abandoned(
    tmp_path: Path, word: str
) -> None:
    """Or it ends with its application."""
    async with command_world.world(tmp_path, "us", speed=SPEED) as world:
        async with settled(world, "infra") as given:
            await given.until_application(lambda each: each.status == "synced")
            given.push(V1, V2)
            running = await given.until_application(lambda each: each.status == "running")
            await given.ask_run("pause", running.run, ANA)
            paused = world.images("us")
        async with settled(world, "other", nothing_to_deploy(tmp_path)) as given:
            await looked(given)
            refused = []
            for kind in ("resume", "cancel"):
                with pytest.raises(refusals.Conflict) as caught:
                    await given.ask_run(kind, running.run, ANA)
                refused.append(caught.value.problems[0].message)
            if word == "abandon":
                await given.service.ask_run(word, running.run, ANA, reason="the team is gone")
            else:
                await given.service.forget_application("simple", ANA, reason="the team is gone")
            ended = (await given.service.run(running.run)).summary
            left, after = await everything(given), world.images("us")

    assert refused == [f"{GONE}, so nobody can carry it out"] * 2
    assert (ended.status, ended.reason) == (
        "cancelled",
        "cancelled by ana: the team is gone; us stays as it is",
    )
    assert after == paused
    assert left == ({"simple": "orphaned"} if word == "abandon" else {})


def _rests(run: representations.Run) -> bool:
    return all(task.status != "running" for stage in run.stages for task in stage.tasks)
