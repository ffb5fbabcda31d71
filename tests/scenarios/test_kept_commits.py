"""A run keeps the commits it needs, whatever happens to the branch they came from."""

import contextlib
import shutil
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

import command_world
import git_hosting
import waiting_world
from controller_world import ANA, SPEED, Controlled
from volary.controller import refusals
from volary.gitops import watcher
from volary.model import server_settings
from volary.sources.git import mirrors
from waiting_world import V1, V2, V3

SOON = timedelta(seconds=0.1)


@contextlib.asynccontextmanager
async def mirrored(world: command_world.World) -> AsyncIterator[Controlled]:
    """A life of the controller that reads the repository through its mirror."""
    base = world.directory.parent
    spec = server_settings.Repository("shop", str(world.directory), interval=SOON)
    settings = server_settings.Settings(
        fleet=world.fleet, data_directory=str(base), repositories=(spec,)
    )
    async with mirrors.open_mirrors(base / "mirrors") as opened:
        looking = watcher.Watcher(settings, opened, pace=watcher.PollIntervals(SOON, SOON))
        parts = {
            "repositories": watcher.WatchedRepositories(settings, opened),
            "watch": looking.watch,
        }
        async with waiting_world.life(world, parts=parts, repositories=(spec,)) as given:
            yield given


def git(path: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
    return git_hosting.run("git", *identity, *arguments, cwd=path)


def rewrite_history(world: command_world.World) -> str:
    """Leave one commit, of the files as they are; returns it."""
    path = world.directory
    branch = git(path, "branch", "--show-current")
    git(path, "checkout", "-q", "--orphan", "rewritten")
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", "All anew")
    git(path, "branch", "-q", "-M", branch)
    return git(path, "rev-parse", "HEAD")


def amend(world: command_world.World) -> str:
    """Put the files as they are in the place of the newest commit; returns what is there now."""
    git(world.directory, "commit", "-q", "--amend", "-a", "-m", "Anew")
    return git(world.directory, "rev-parse", "HEAD")


def collect_garbage(path: Path) -> None:
    git(path, "reflog", "expire", "--expire=now", "--all")
    git(path, "gc", "-q", "--prune=now")


async def test_a_run_whose_commit_is_gone_says_so_and_gives_way_once_it_is_cancelled(
    tmp_path: Path,
) -> None:
    async with command_world.world(tmp_path, "us", "eu", speed=SPEED) as world:
        first = waiting_world.describe(world)
        async with mirrored(world) as given:
            await given.synced(first)
            waiting = await given.asks(given.push(V1, V2))
        world.edit("deployment.yaml", V2, V3, message="")
        rewritten = amend(world)
        collect_garbage(world.directory)
        shutil.rmtree(tmp_path / "mirrors")

        async with mirrored(world) as given:
            await given.until_application(lambda each: "cannot go on" in each.reason)
            with pytest.raises(refusals.Conflict, match=f"run {waiting} cannot go on: "):
                await given.ask_run("approve", waiting, ANA)
            await given.ask_run("cancel", waiting, ANA)
            ended = (await given.service.run(waiting)).summary
            newer = await given.asks(rewritten)
            await given.ask_run("approve", newer, ANA)
            await given.synced(rewritten)

        assert ended.status == "cancelled"
        assert ended.reason.startswith("cancelled by ana: it could not go on: ")
        assert {name: world.images(name) for name in ("us", "eu")} == {
            "us": f"{V3} 2/2",
            "eu": f"{V3} 2/2",
        }


async def test_a_run_and_the_way_back_outlive_a_rewritten_history(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", "eu", speed=SPEED) as world:
        first = waiting_world.describe(world)
        async with mirrored(world) as given:
            await given.synced(first)
            waiting = await given.asks(given.push(V1, V2))

        world.edit("deployment.yaml", V2, V3, message="")
        rewritten = rewrite_history(world)
        collect_garbage(world.directory)
        async with mirrored(world) as given:
            await given.until_application(lambda each: each.waiting is not None)
        [mirror] = (tmp_path / "mirrors").glob("*.git")
        collect_garbage(mirror)

        async with mirrored(world) as given:
            await given.ask_run("approve", waiting, ANA)
            ended = await given.ended(waiting)
            newer = await given.asks(rewritten)
            await given.ask_run("reject", newer, ANA)
            cancelled = await given.ended(newer)
            after = {name: world.images(name) for name in ("us", "eu")}
            # What ran before is there to go back to, too, although no branch leads there.
            back = await given.service.ask_application("rollback", "simple", ANA)
            undone = await given.ended(back.run)

        assert (ended.status, cancelled.status) == ("succeeded", "rolled_back")
        assert after == {"us": f"{V2} 2/2", "eu": f"{V2} 2/2"}
        assert undone.status == "succeeded"
        assert {name: world.images(name) for name in ("us", "eu")} == {
            "us": f"{V1} 2/2",
            "eu": f"{V1} 2/2",
        }
