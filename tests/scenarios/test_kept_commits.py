"""A run keeps the commits it needs, whatever happens to the branch they came from."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

import command_world
import git_hosting
import process_time
from controller_world import ANA, SPEED, Controlled, controlled
from volary.controller import refusals
from volary.gitops import watcher
from volary.model import server_settings
from volary.sources.git import mirrors

V1, V2, V3 = (f"example/simple:v{number}" for number in (1, 2, 3))
APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {kind: Service, name: simple}
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 1}}
    - {name: WAIT_APPROVAL, with: {approvers: [ana]}}
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
"""
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
        store = f"sqlite:{base / 'volary.db'}"
        async with controlled(world, store=store, parts=parts, repositories=(spec,)) as given:
            yield given


async def asks(given: Controlled, commit: str) -> str:
    """Wait until the run of a commit asks for approval, and return it."""
    summary = None
    async with asyncio.timeout(process_time.HANG):
        while summary is None or (summary.commit, summary.status) != (commit, "waiting"):
            await asyncio.sleep(0.02)
            summary = next(iter(await given.runs()), None)
    return summary.id


def rewrite_history(world: command_world.World) -> str:
    """Leave one commit, of the files as they are; returns it."""

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
        git_hosting.run("git", *identity, *arguments, cwd=world.directory)

    branch = git_hosting.run("git", "branch", "--show-current", cwd=world.directory)
    git("checkout", "-q", "--orphan", "rewritten")
    git("add", "-A")
    git("commit", "-q", "-m", "All anew")
    git("branch", "-q", "-M", branch)
    return git_hosting.run("git", "rev-parse", "HEAD", cwd=world.directory)


def amend(world: command_world.World) -> str:
    """Put the files as they are in the place of the newest commit; returns what is there now."""
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
    git_hosting.run(
        "git", *identity, "commit", "-q", "--amend", "-a", "-m", "Anew", cwd=world.directory
    )
    return git_hosting.run("git", "rev-parse", "HEAD", cwd=world.directory)


def collect_garbage(path: Path) -> None:
    git_hosting.run("git", "reflog", "expire", "--expire=now", "--all", cwd=path)
    git_hosting.run("git", "gc", "-q", "--prune=now", cwd=path)


async def test_a_run_whose_commit_is_gone_says_so_and_gives_way_once_it_is_cancelled(
    tmp_path: Path,
) -> None:
    async with command_world.world(tmp_path, "us", "eu", speed=SPEED) as world:
        (world.directory / "app.pipecd.yaml").unlink()
        first = world.write({"volary.yaml": APPLICATION}, message="Deploy v1")
        async with mirrored(world) as given:
            await given.synced(first)
            waiting = await asks(given, given.push(V1, V2))
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
            newer = await asks(given, rewritten)
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
        (world.directory / "app.pipecd.yaml").unlink()
        first = world.write({"volary.yaml": APPLICATION}, message="Deploy v1")
        async with mirrored(world) as given:
            await given.synced(first)
            second = given.push(V1, V2)
            waiting = await asks(given, second)

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
            newer = await asks(given, rewritten)
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
