"""``volary run`` as a user types it: what it says, and what runs in the clusters then."""

import asyncio
import contextlib
import re
import shutil
import signal
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import command_world

DOCUMENTED = re.findall(
    r"^\| `([a-z-]+)` \|",
    (Path(__file__).parents[2] / "docs/reference/events.md").read_text(),
    re.MULTILINE,
)
WORKLOAD = "deployment.yaml"
COMMIT = "volary.dev/commit"


@pytest.fixture
async def given(tmp_path: Path) -> AsyncIterator[command_world.World]:
    """Two clusters and the simple example, committed and deployed nowhere."""
    async with command_world.world(tmp_path, "us", "eu") as found:
        yield found


def release(given: command_world.World) -> str:
    """Commit a new version and return the commit."""
    return given.edit(WORKLOAD, "simple:v1", "simple:v2", message="Release v2")


async def test_a_first_deployment_then_a_release_by_the_pipeline(
    given: command_world.World,
) -> None:
    before = await given.settled()

    tried = await given.run("--dry-run")

    assert tried.code == 0, tried
    assert "us: 3 created\n" in tried.out
    assert given.versions() == before

    first = await given.run()

    assert first.code == 0, first
    assert "strategy quick sync" in first.err
    assert first.out.startswith("succeeded after ")
    for target in ("us", "eu"):
        assert given.images(target) == "example/simple:v1 2/2"

    commit = release(given)
    second = await given.run("--output", "json")

    assert second.code == 0, second
    told = second.events
    assert told[0]["event"] == "planned"
    assert told[0]["strategy"] == "pipeline"
    assert [each["number"] for each in told[1:]] == list(range(1, len(told)))
    assert {each["event"] for each in told} <= set(DOCUMENTED)
    assert told[-1]["event"] == "run-finished"
    assert told[-1]["status"] == "succeeded"
    assert told[-1]["touched"] == ["us", "eu"]
    assert "\x1b" not in first.out + first.err + second.out + second.err
    for target in ("us", "eu"):
        assert given.images(target) == "example/simple:v2 2/2"
        assert given.find(target, "Deployment", "simple-canary") is None
        assert _commit(given, target) == commit
    file = Path(given.environment["XDG_STATE_HOME"]) / "volary/volary.db"
    with contextlib.closing(sqlite3.connect(file)) as remembered:
        assert remembered.execute("select running_commit from applications").fetchall() == [
            (commit,)
        ]


async def test_what_runs_is_read_from_the_clusters_when_nothing_is_remembered(
    given: command_world.World, tmp_path: Path
) -> None:
    """Named by contexts of several kubeconfigs. Disagreeing clusters: it says what to pass."""
    await given.deployed()
    release(given)
    kubeconfigs = ":".join(str(each.kubeconfig_path) for each in given.running.clusters.values())
    forgetful = {"KUBECONFIG": kubeconfigs, "XDG_STATE_HOME": str(tmp_path / "other")}
    command = ("run", ".", "--contexts", "us,eu", "--dry-run")

    agreed = await given.volary(*command, **forgetful)

    assert agreed.code == 0, agreed
    assert re.search(r"running  \w{7}: us, eu run it\n", agreed.err)
    assert "strategy pipeline" in agreed.err

    alone = await given.volary("run", ".", "--contexts", "us", "--strategy", "quick", **forgetful)
    assert alone.code == 0, alone
    torn = await given.volary(*command, **forgetful)
    told = await given.volary(*command, "--running", "HEAD~1", **forgetful)

    assert torn.code == 2, torn
    us, eu = (_commit(given, target)[:12] for target in ("us", "eu"))
    assert f"do not agree on the commit that runs (us: {us}; eu: {eu})" in torn.err
    assert "--running COMMIT (or --running none for a first deployment)" in torn.err
    assert told.code == 0, told
    assert "--running was passed" in told.err


def _commit(given: command_world.World, target: str) -> str:
    return str(given.find(target, "Deployment", "simple")["metadata"]["annotations"][COMMIT])


async def test_one_of_several_applications_is_chosen_by_its_directory(
    given: command_world.World,
) -> None:
    for name in ("quick-sync", "istio"):
        shutil.copytree(command_world.EXAMPLES / name, given.directory / "apps" / name)
    given.write({}, message="Two applications more")

    unclear = await given.run("--dry-run")
    chosen = await given.run("--dry-run", "--app", "apps/quick-sync")

    assert unclear.code == 0, unclear
    assert unclear.err.startswith("simple "), "the one at the root is what `.` names"
    assert chosen.code == 0, chosen
    assert chosen.err.startswith("tools ")


async def test_a_limit_of_time_ends_the_run(given: command_world.World) -> None:
    given.running.clusters["eu"].faults.change({"images": {"*": "never-ready"}})

    ended = await given.run("--timeout", "2s")

    assert ended.code == 1, ended
    assert "✓ us" not in ended.out
    assert re.search(r"eu.*K8S_SYNC.*0 of 2 pods available", ended.out)


async def test_the_run_goes_on_without_an_unreachable_cluster_if_that_is_the_policy(
    given: command_world.World,
) -> None:
    given.running.clusters["eu"].faults.change({"lost": "refuse"})

    ended = await given.run("--on-unreachable", "continue")

    assert ended.code == 0, ended
    assert "succeeded with exceptions after" in ended.out
    assert "warning: eu is left out: cluster eu at http://127.0.0.1" in ended.err
    assert "but the run went on without eu" in ended.out
    assert "left as it is" not in ended.out, "nothing was begun on eu"
    assert given.images("us") == "example/simple:v1 2/2"
    assert given.find("eu", "Deployment", "simple") is None


async def test_a_plain_directory_is_compared_with_another(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", git=False) as given:
        await given.deployed()
        shutil.copytree(given.directory, tmp_path / "before")
        given.edit(WORKLOAD, "simple:v1", "simple:v2", message="")

        alone = await given.run()
        ended = await given.run("--running", "../before")

        assert alone.code == 2, alone
        assert "hint: pass --running DIRECTORY with what runs" in alone.err
        assert ended.code == 0, ended
        assert "strategy pipeline" in ended.err
        assert given.images("us") == "example/simple:v2 2/2"


async def test_interrupted_once_it_stops_politely_and_says_what_is_left(
    given: command_world.World,
) -> None:
    """Ctrl-C and SIGTERM mean the same; what was written stays."""
    given.running.clusters["eu"].faults.change({"images": {"*": "never-ready"}})
    outs = []
    for which, name in ((signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")):
        command = ("run", ".", "--fleet", given.fleet)
        async with given.start(*command) as started:
            await started.until(r"eu K8S_SYNC: simple: 0 of 2 pods available")
            started.interrupt(which)
            ended = await started.ended()

        assert ended.code == 1, ended
        assert "stopping when the writes under way are done" in ended.err
        assert "Traceback" not in ended.err
        assert re.search(r"^cancelled after .*$", ended.out, re.MULTILINE), ended
        assert f"cancelled by {name}" in ended.out
        outs.append(ended.out)
    # The second run found everything written already.
    assert re.search(r"left as it is: us \(.*\), eu \(up to K8S_SYNC\)", outs[0])
    assert "nothing was changed" in outs[1]
    assert given.images("us").startswith("example/simple:v1 ")
    assert given.images("eu") == "example/simple:v1 0/2"


async def test_interrupted_twice_it_ends_at_once(given: command_world.World) -> None:
    """Once, it would wait for answers that never come."""
    loop = asyncio.get_running_loop()
    begin = loop.time()
    async with given.start("run", ".", "--fleet", given.fleet) as started:
        await started.until("K8S_SYNC on us, eu")
        # To begin it takes a second or two where nothing else runs; a request's limit is 30.
        soon = 10 * (loop.time() - begin)
        given.running.clusters["eu"].faults.change({"lost": "hang"})
        started.interrupt()
        await started.until("stopping when the writes")
        started.interrupt()
        ended = await started.ended(within=soon)

    assert ended.code == 1, ended
    assert "Traceback" not in ended.err
    assert re.search("^cancelled after", ended.out, re.MULTILINE)


async def test_interrupted_before_it_begins_nothing_was_changed(
    given: command_world.World,
) -> None:
    given.running.clusters["eu"].faults.change({"lost": "hang"})
    before = await given.settled()
    command = ("run", ".", "--fleet", given.fleet, "--running", "none")
    async with given.start(*command) as started:
        await started.until("stage 1  K8S_SYNC")
        started.interrupt()
        ended = await started.ended()

    assert ended.code == 130, ended
    assert ended.err.endswith("interrupted: nothing was changed in any cluster\n")
    assert given.versions() == before
