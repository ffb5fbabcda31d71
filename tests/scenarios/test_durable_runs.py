"""Nothing is lost: controllers are killed with SIGKILL, and the runs go on in the next ones."""

import asyncio
import contextlib
import copy
import os
import random
import shutil
import signal
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import command_world
from controller_process import Nursery

V1, V2 = "example/simple:v1", "example/simple:v2"
NAMES = ("us", "eu")
SPEED = 60.0
#: Fields that differ from life to life of a cluster, and say nothing about the result.
_OWN = ("resourceVersion", "uid", "creationTimestamp", "managedFields", "generation")

Killing = Callable[[Nursery], Awaitable[None]]


def state_of(world: command_world.World) -> dict[str, Any]:
    """What the clusters were brought to, without what differs from life to life."""
    found = {}
    for name in NAMES:
        for kind in ("Deployment", "Service", "ConfigMap"):
            for body in world.running.clusters[name].view.list(kind, "default"):
                kept = copy.deepcopy(dict(body))
                for each in _OWN:
                    kept["metadata"].pop(each, None)
                kept["metadata"].get("annotations", {}).pop("deployment.kubernetes.io/revision", 0)
                ready = kept.pop("status", {}).get("readyReplicas", 0)
                for each in ("clusterIP", "clusterIPs"):
                    kept.get("spec", {}).pop(each, None)
                if "objects" in kept.get("data", {}):
                    kept["data"]["objects"] = still_there(world, name, kept["data"]["objects"])
                found[f"{name} {kind} {body['metadata']['name']}"] = (kept, ready)
    return found


def still_there(world: command_world.World, cluster: str, inventory: str) -> list[str]:
    """The references of an inventory that lead to an object.

    A process that dies between a delete and the note of it leaves a reference to nothing. That
    is harmless: whoever deletes by the inventory looks at the objects themselves.
    """
    view = world.running.clusters[cluster].view
    return [
        line
        for line in inventory.splitlines()
        if (parts := line.split(":")) and view.get(parts[-3], parts[-2], parts[-1])
    ]


async def until(nest: Nursery, query: str, holds: Callable[[Any], bool], *, seconds: float) -> Any:
    """Look into the database until the single value of `query` is so."""
    value = None
    try:
        async with asyncio.timeout(seconds):
            while True:
                rows = nest.ask(query)
                value = rows[0][0] if rows else None
                if holds(value):
                    return value
                await asyncio.sleep(0.002)
    except TimeoutError:
        raise AssertionError(f"{query} stayed {value!r}") from None


_SYNCED = "select running_commit from applications where status = 'synced'"
_STEPS = "select count(*) from transitions"
_WORK = "select count(*) from runs where finished is null"
_HOLDER = "select owner from leases where name = 'controller'"
_EVERYTHING = """
    select 'run', id, version, digest from runs
    union all select 'step', run_id, version, '' from transitions
    union all select 'application', name, version, status from applications
    union all select 'log', run_id, count(*), '' from logs group by run_id
"""


async def stop_between_writes(nest: Nursery, process: int) -> None:
    """Have a process stand still while it holds no lock of the database."""
    while True:
        os.kill(process, signal.SIGSTOP)
        with (
            contextlib.closing(sqlite3.connect(nest.database, timeout=0.3)) as connection,
            contextlib.suppress(sqlite3.OperationalError),
        ):
            connection.execute("begin immediate")
            connection.rollback()
            return
        os.kill(process, signal.SIGCONT)
        await asyncio.sleep(0.01)


async def release(base: Path, commits: Path, disturb: Killing) -> dict[str, Any]:
    """Release v1, then v2 by its pipeline under a disturbance; return the clusters' state."""
    base.mkdir()
    async with command_world.world(base, *NAMES, speed=SPEED) as world:
        shutil.rmtree(world.directory)
        shutil.copytree(commits, world.directory)
        nest = Nursery(base / "volary.db", world.directory, world.fleet)
        async with nest.life():
            await until(nest, _SYNCED, bool, seconds=20)
        second = world.edit("deployment.yaml", V1, V2, message="Deploy v2")
        await disturb(nest)
        async with nest.life():
            await until(nest, _SYNCED, lambda commit: commit == second, seconds=30)
            await until(nest, _WORK, lambda open_runs: open_runs == 0, seconds=5)
        runs = nest.ask("select status from runs order by created")
        assert runs == [("succeeded",), ("succeeded",)], runs
        await world.settled()
        return state_of(world)


async def _nothing(nest: Nursery) -> None:
    """An undisturbed run."""


async def _at_every_boundary(nest: Nursery) -> None:
    """Kill it as soon as a step was kept, again and again until the run has ended."""
    lives = 0
    while True:
        (before,) = nest.ask(_STEPS)[0]
        async with nest.life() as process:
            while True:
                (after,) = nest.ask(_STEPS)[0]
                if after > before:
                    os.kill(process, signal.SIGKILL)
                    break
                if nest.ask(_SYNCED) and nest.ask("select count(*) from runs") == [(2,)]:
                    # What is reported together is one step: a handful for each of the stages.
                    assert lives >= 8, "there were hardly any boundaries"
                    return
                await asyncio.sleep(0.001)
        lives += 1
        assert lives < 60, "it does not get on"


def _at_random(seed: int) -> Killing:
    chance = random.Random(seed)

    async def kill(nest: Nursery) -> None:
        for _ in range(12):
            async with nest.life():
                await asyncio.sleep(chance.uniform(0.05, 0.4))

    return kill


async def test_killed_at_every_boundary_and_at_random_it_ends_as_if_undisturbed(
    tmp_path: Path,
) -> None:
    commits = tmp_path / "commits"
    shutil.copytree(command_world.EXAMPLES / "simple", commits)
    command_world.commit(commits, "Deploy v1")

    expected = await release(tmp_path / "undisturbed", commits, _nothing)
    boundaries = await release(tmp_path / "boundaries", commits, _at_every_boundary)
    moments = await release(tmp_path / "moments", commits, _at_random(7))

    assert "us Deployment simple" in expected
    assert "us Deployment simple-canary" not in expected
    assert boundaries == expected
    assert moments == expected


_IN_WAVES = """
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {kind: Service, name: simple}
  workloads: [{kind: Deployment, name: simple}]
  waves:
  - {name: first, targets: {names: [us]}, soak: 300ms}
  - {name: second}
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 1}}
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
"""


async def test_killed_in_every_state_of_a_wave_it_ends_as_if_undisturbed(tmp_path: Path) -> None:
    commits = tmp_path / "commits"
    shutil.copytree(command_world.EXAMPLES / "simple", commits)
    (commits / "app.pipecd.yaml").unlink()
    (commits / "volary.yaml").write_text(_IN_WAVES)
    command_world.commit(commits, "Deploy v1")

    expected = await release(tmp_path / "undisturbed", commits, _nothing)
    boundaries = await release(tmp_path / "boundaries", commits, _at_every_boundary)
    moments = await release(tmp_path / "moments", commits, _at_random(5))

    assert "eu Deployment simple" in expected
    assert "us Deployment simple-canary" not in expected
    assert boundaries == expected
    assert moments == expected


async def test_another_process_takes_over_and_the_stopped_one_can_write_nothing(
    tmp_path: Path,
) -> None:
    """The first process stands still (SIGSTOP) in mid-run, and wakes when it is overtaken."""
    async with (
        command_world.world(tmp_path, *NAMES, speed=SPEED) as world,
    ):
        nest = Nursery(tmp_path / "volary.db", world.directory, world.fleet)
        async with nest.life("first") as first:
            await until(nest, _SYNCED, bool, seconds=20)
            second_commit = world.edit("deployment.yaml", V1, V2, message="Deploy v2")
            await until(nest, _STEPS, lambda steps: steps is not None and steps > 6, seconds=20)
            await until(nest, _WORK, lambda open_runs: open_runs == 1, seconds=20)
            await stop_between_writes(nest, first)
            async with nest.life("second"):
                await until(nest, _HOLDER, lambda owner: owner == "second", seconds=15)
                await until(nest, _SYNCED, lambda commit: commit == second_commit, seconds=30)
                before = nest.ask(_EVERYTHING)
                os.kill(first, signal.SIGCONT)
                # It wakes up, tries to go on, and is refused; then it stands by.
                await asyncio.sleep(1.0)
                assert nest.ask(_EVERYTHING) == before
                assert nest.ask(_HOLDER) == [("second",)]
            # And the other way round: a process that stands by takes over from a dead one.
            await until(nest, _HOLDER, lambda owner: owner == "first", seconds=15)
        for name in NAMES:
            assert world.images(name) == f"{V2} 2/2"
