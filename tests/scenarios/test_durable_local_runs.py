"""`volary run` is killed with SIGKILL, and the same command goes on; one at a time works."""

import contextlib
import functools
import shutil
import signal
import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import command_world
from killed_world import NAMES, SPEED, V1, V2, state_of
from kube_sandbox.apiserver.storage import storage

Moment = Callable[[str, storage.Change], bool]


def ask(given: command_world.World, query: str) -> list[Any]:
    """Look into the store of the user's home."""
    file = Path(given.environment["XDG_STATE_HOME"]) / "volary/volary.db"
    with contextlib.closing(sqlite3.connect(file, timeout=5)) as connection:
        return connection.execute(query).fetchall()


def statuses(given: command_world.World) -> list[str]:
    return [status for (status,) in ask(given, "select status from runs order by created")]


async def kill(given: command_world.World, moment: Moment, *words: str) -> None:
    """`volary run`, killed when a cluster has stored a change and before it says so."""
    async with given.start("run", ".", "--fleet", given.fleet, *words) as started:
        alive = [started]

        def changed(cluster: str, change: storage.Change) -> None:
            if alive and moment(cluster, change):
                alive.pop().interrupt(signal.SIGKILL)

        with contextlib.ExitStack() as stack:
            for name, cluster in given.running.clusters.items():
                stack.callback(cluster.registry.subscribe(functools.partial(changed, name)))
            ended = await started.ended()
    assert ended.code == -signal.SIGKILL, ended


def is_new(deployment: str, on: str) -> Moment:
    """A Deployment was made in a cluster."""

    def holds(cluster: str, change: storage.Change) -> bool:
        body = change.item.body
        return (cluster, body["kind"], body["metadata"]["name"]) == (
            on,
            "Deployment",
            deployment,
        ) and change.event is storage.Event.ADDED

    return holds


def is_gone(deployment: str, on: str) -> Moment:
    """A Deployment was deleted in a cluster."""

    def holds(cluster: str, change: storage.Change) -> bool:
        body = change.item.body
        return (cluster, body["kind"], body["metadata"]["name"]) == (
            on,
            "Deployment",
            deployment,
        ) and change.event is storage.Event.DELETED

    return holds


def has_image(image: str, on: str) -> Moment:
    """Primary's Deployment got an image in a cluster."""

    def holds(cluster: str, change: storage.Change) -> bool:
        body, before = change.item.body, change.previous
        if (cluster, body["kind"], body["metadata"]["name"]) != (on, "Deployment", "simple"):
            return False
        return before is not None and image_of(before.body) != image == image_of(body)

    return holds


def image_of(body: Any) -> str:
    return str(body["spec"]["template"]["spec"]["containers"][0]["image"])


#: In each of them one cluster has stored something that the process was never told of.
MOMENTS = (is_new("simple-canary", "eu"), has_image(V2, "us"), is_gone("simple-canary", "eu"))


async def release(base: Path, *moments: Moment) -> dict[str, Any]:
    """Release v2 with a kill at each of the moments; return the clusters' state."""
    base.mkdir()
    async with command_world.world(base, *NAMES, speed=SPEED) as given:
        await given.deployed()
        given.edit("deployment.yaml", V1, V2, message="Deploy v2")
        for moment in moments:
            await kill(given, moment)
        ended = await given.run()

        assert ended.code == 0, ended
        assert ("going on with run" in ended.err) == bool(moments)
        assert statuses(given) == ["succeeded", "succeeded"]
        begun = ask(given, "select run_id, stage from events where event = 'stage-started'")
        assert len(begun) == len(set(begun)) == 7, "a stage was begun twice"
        await given.settled()
        return state_of(given)


async def test_killed_in_several_stages_it_ends_as_if_undisturbed(tmp_path: Path) -> None:
    expected = await release(tmp_path / "undisturbed")
    disturbed = await release(tmp_path / "killed", *MOMENTS)

    assert "us Deployment simple" in expected
    assert "us Deployment simple-canary" not in expected
    assert disturbed == expected


_FAILING = """
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {kind: Service, name: simple}
  workloads: [{kind: Deployment, name: simple}]
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 1}}
    - {name: SCRIPT_RUN, with: {run: "false"}}
    - {name: K8S_PRIMARY_ROLLOUT}
"""


async def test_killed_while_it_goes_back_it_goes_back(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, *NAMES, speed=SPEED) as given:
        (given.directory / "app.pipecd.yaml").unlink()
        given.write({"volary.yaml": _FAILING}, message="A pipeline that fails")
        await given.deployed()
        await given.settled()
        before = state_of(given)
        given.edit("deployment.yaml", V1, V2, message="Deploy v2")
        await kill(given, is_gone("simple-canary", "us"))

        ended = await given.run("--output", "json")

        assert ended.code == 1, ended
        first, *_, last = ended.events
        assert (first["event"], first["status"]) == ("resumed", "rolling_back")
        assert (last["event"], last["status"]) == ("run-finished", "rolled_back")
        assert last["run"] == first["run"]
        assert statuses(given) == ["succeeded", "rolled_back"]
        await given.settled()
        assert state_of(given) == before


async def test_one_works_at_a_time_and_what_was_killed_is_not_forgotten(tmp_path: Path) -> None:
    """A newer commit does not go over an unfinished run; a person decides what becomes of it."""
    async with command_world.world(tmp_path, "us", speed=SPEED) as given:
        await given.deployed()
        given.running.clusters["us"].faults.change({"images": {"*:v2": "never-ready"}})
        second = given.edit("deployment.yaml", V1, V2, message="Deploy v2")
        async with given.start("run", ".", "--fleet", given.fleet) as started:
            await started.until("us K8S_CANARY_ROLLOUT: (applying|.*0 of 1 pods available)")
            beside = await given.run()
            started.interrupt(signal.SIGKILL)
            await started.ended()

        assert beside.code == 2, beside
        assert "another `volary run` of this application on these clusters is under way" in (
            beside.err
        )

        third = given.edit("deployment.yaml", V2, "example/simple:v3", message="Deploy v3")
        newer = await given.run()

        assert newer.code == 2, newer
        assert f"of commit {second[:12]} on us was begun and has not ended" in newer.err
        assert "--resume goes on with it; --abandon leaves" in newer.err

        async with given.start("run", ".", "--fleet", given.fleet, "--resume") as started:
            await started.until("going on with run")
            await started.until("us K8S_CANARY_ROLLOUT: (applying|.*0 of 1 pods available)")
            started.interrupt(signal.SIGKILL)
            await started.ended()
        abandoned = await given.run("--abandon")

        assert abandoned.code == 0, abandoned
        assert "was abandoned: the clusters stay as it left them" in abandoned.err
        assert statuses(given) == ["succeeded", "cancelled", "succeeded"]
        assert ask(given, 'select "commit" from runs order by created')[-1] == (third,)
        assert given.images("us") == "example/simple:v3 2/2"
        assert given.find("us", "Deployment", "simple-canary") is None

        nothing = await given.run("--resume")

        assert nothing.code == 2, nothing
        assert "there is no unfinished run" in nothing.err


def is_back_at_primary(cluster: str, change: storage.Change) -> bool:
    """The Service leads to primary again in a cluster."""
    body, before = change.item.body, change.previous
    if body["kind"] != "Service" or before is None or cluster != "us":
        return False
    then, now = (each["spec"]["selector"]["pipecd.dev/variant"] for each in (before.body, body))
    return bool((then, now) == ("canary", "primary"))


async def test_whoever_goes_on_waits_until_proxies_have_followed(tmp_path: Path) -> None:
    """It does not know when routes were changed, so it takes them for changed just now."""
    async with command_world.world(tmp_path, "us", speed=SPEED) as given:
        delay = "      trafficRouting: {drainDelay: 2s}\n      service:\n"
        given.edit("app.pipecd.yaml", "      service:\n", delay)
        await given.deployed()
        given.edit("deployment.yaml", V1, V2, message="Deploy v2")
        await kill(given, is_back_at_primary, "--strategy", "pipeline")
        canary = given.images("us", "simple-canary")
        ended = await given.run("--output", "json")

        assert ended.code == 0, ended
        assert canary == f"{V2} 1/1"
        [gone] = [
            datetime.fromisoformat(each["at"])
            for each in ended.events
            if each.get("line") == "deleted Deployment default/simple-canary"
        ]
        times = [datetime.fromisoformat(each["at"]) for each in ended.events if "target" in each]
        assert gone - min(times) >= timedelta(seconds=2)


async def test_a_second_clone_does_not_release_while_the_first_does(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", speed=SPEED) as given:
        await given.deployed()
        given.running.clusters["us"].faults.change({"images": {"*:v2": "never-ready"}})
        clone = command_world.Repository(tmp_path / "clone", given.environment)
        shutil.copytree(given.directory, clone.directory)
        clone.edit("deployment.yaml", V1, "example/simple:v77", message="Deploy v77")
        given.edit("deployment.yaml", V1, V2, message="Deploy v2")
        words = ("run", ".", "--fleet", given.fleet, "--strategy", "pipeline")
        async with given.start(*words) as started:
            await started.until("us K8S_CANARY_ROLLOUT: (applying|.*0 of 1 pods available)")
            beside = await clone.volary(*words)
            canary = given.images("us", "simple-canary")
            started.interrupt(signal.SIGKILL)
            await started.ended()
        # Nobody is at work any more, and the first does not go on while the second is.
        clone.edit("deployment.yaml", "example/simple:v77", V2, message="Deploy v2, too")
        async with clone.start(*words) as started:
            await started.until("us K8S_CANARY_ROLLOUT: (applying|.*0 of 1 pods available)")
            resumed = await given.volary(*words, "--resume")
            started.interrupt(signal.SIGKILL)
            await started.ended()
        clone.edit("deployment.yaml", V2, "example/simple:v77", message="Deploy v77, after all")
        after = await clone.volary(*words, "--abandon")

        assert beside.code == 2, beside
        said = " ".join(beside.err.split())
        assert f"on these clusters is under way, from {given.directory}" in said
        assert resumed.code == 2, resumed
        assert f"under way, from {clone.directory}" in " ".join(resumed.err.split())
        assert canary == f"{V2} 0/1"
        assert after.code == 0, after
        assert given.images("us") == "example/simple:v77 2/2"


async def test_where_nothing_can_be_kept_it_runs_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    async with command_world.world(tmp_path, "us", speed=SPEED) as given:
        ended = await given.run(XDG_STATE_HOME=str(tmp_path / "file"))

        assert ended.code == 0, ended
        assert "warning: the run is not kept in " in ended.err
        assert given.images("us") == "example/simple:v1 2/2"
