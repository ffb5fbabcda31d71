"""Given controllers that are killed with SIGKILL at chosen moments; then look how it ended."""

import asyncio
import contextlib
import copy
import json
import os
import random
import shutil
import signal
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

import command_world
import process_time
import wave_invariants
from controller_process import ControllerProcesses
from kube_sandbox.apiserver.storage import storage
from volary.manifests.ownership import tracking

V1, V2 = "example/simple:v1", "example/simple:v2"
NAMES = ("us", "eu")
SPEED = 60.0
#: What is compared in the end.
KINDS = ("Deployment", "Service", "ConfigMap", "VirtualService.networking.istio.io")
#: Fields that differ from life to life of a cluster, and say nothing about the result.
_OWN = ("resourceVersion", "uid", "creationTimestamp", "managedFields", "generation")
#: A rollout counts in the first; the second is of the directory of the world, as is the id.
_ANNOTATIONS = ("deployment.kubernetes.io/revision", "volary.dev/checkout")

Killing = Callable[[ControllerProcesses, command_world.World], Awaitable[None]]


def state_of(world: command_world.World, *names: str) -> dict[str, Any]:
    """What clusters were brought to, without what differs from life to life."""
    found = {}
    for name in names or NAMES:
        for kind in KINDS:
            for body in world.running.clusters[name].view.list(kind, "default"):
                kept = copy.deepcopy(dict(body))
                for each in _OWN:
                    kept["metadata"].pop(each, None)
                for annotation in _ANNOTATIONS:
                    kept["metadata"].get("annotations", {}).pop(annotation, None)
                ready = kept.pop("status", {}).get("readyReplicas", 0)
                for each in ("clusterIP", "clusterIPs"):
                    kept.get("spec", {}).pop(each, None)
                if "objects" in kept.get("data", {}):
                    kept["data"]["objects"] = still_there(world, name, kept["data"]["objects"])
                known = kept["metadata"].get("annotations", {}).get(tracking.APPLICATION_ID, "-")
                text = json.dumps([f"{name} {kind} {body['metadata']['name']}", kept])
                title, kept = json.loads(text.replace(known, "ID") if known != "-" else text)
                found[title] = (kept, ready)
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


async def until(controllers: ControllerProcesses, query: str, holds: Callable[[Any], bool]) -> Any:
    """Look into the database until the single value of `query` is so."""
    value = None
    try:
        async with asyncio.timeout(process_time.HANG):
            while True:
                rows = controllers.ask(query)
                value = rows[0][0] if rows else None
                if holds(value):
                    return value
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"{query} stayed {value!r}") from None


SYNCED = "select running_commit from applications where status = 'synced'"
STEPS = "select coalesce(sum(version), 0) from runs"
WORK = "select count(*) from runs where finished is null"


async def release(
    base: Path,
    commits: Path,
    disturb: Killing,
    *,
    waves: Sequence[Sequence[str]] = (),
    istio: bool = False,
) -> dict[str, Any]:
    """Release v1, then v2 by its pipeline under a disturbance; return the clusters' state.

    What holds all the time is watched, with the order and the budgets of `waves`, if it has any.
    """
    base.mkdir()
    async with command_world.world(base, *NAMES, speed=SPEED, istio=istio) as world:
        shutil.rmtree(world.directory)
        shutil.copytree(commits, world.directory)
        controllers = ControllerProcesses(base / "volary.db", world.directory, world.fleet)
        with wave_invariants.watched(world, application="simple", waves=waves) as watch:
            async with controllers.started():
                await until(controllers, SYNCED, bool)
            second = world.edit("deployment.yaml", V1, V2, message="Deploy v2")
            await disturb(controllers, world)
            async with controllers.started():
                await until(controllers, SYNCED, lambda commit: commit == second)
                await until(controllers, WORK, lambda open_runs: open_runs == 0)
            runs = controllers.ask("select status from runs order by created")
            assert runs == [("succeeded",), ("succeeded",)], runs
            await world.settled()
            if waves:
                told = controllers.ask("select document from events order by position")
                watch.hear([msgspec.json.decode(each) for (each,) in told])
        return state_of(world)


async def nothing(_controllers: ControllerProcesses, _world: command_world.World) -> None:
    """An undisturbed run."""


def has_ended(controllers: ControllerProcesses) -> bool:
    """The second run is over."""
    return bool(controllers.ask(SYNCED)) and controllers.ask("select count(*) from runs") == [(2,)]


async def at_every_boundary(controllers: ControllerProcesses, _world: command_world.World) -> None:
    """Kill it as soon as a step was kept, again and again until the run has ended."""
    processes = 0
    while not has_ended(controllers):
        async with controllers.started_for_one_step() as process, asyncio.TaskGroup() as group:
            ending = group.create_task(process.wait())
            await process_time.until(lambda ended=ending: ended.done() or has_ended(controllers))
            ending.cancel()
        processes += 1
        assert processes < 200, "it does not get on"
    # What is reported together is one step: a handful for each of the stages.
    assert processes >= 8, "there were hardly any boundaries"


async def at_every_division(controllers: ControllerProcesses, world: command_world.World) -> None:
    """Kill it in the middle of routing: a cluster has stored weights, and nobody hears of it."""
    alive: list[int] = []
    processes = 0

    def changed(change: storage.Change) -> None:
        body, before = change.item.body, change.previous
        if body["kind"] != "VirtualService" or before is None:
            return
        if alive and body["spec"] != before.body["spec"]:
            os.kill(alive.pop(), signal.SIGKILL)

    with contextlib.ExitStack() as stack:
        for name in NAMES:
            stack.callback(world.running.clusters[name].registry.subscribe(changed))
        while not has_ended(controllers):
            async with controllers.started() as process:
                alive[:] = [process]
                while True:
                    if not alive or has_ended(controllers):
                        break
                    await asyncio.sleep(0.005)
            processes += 1
            assert processes < 30, "it does not get on"
    # Two divisions and the rollback, on each of them, and a last life to the end.
    assert processes > 3 * len(NAMES), "there were hardly any divisions"


def at_random(seed: int) -> Killing:
    """Kill it at a dozen moments."""
    chance = random.Random(seed)

    async def kill(controllers: ControllerProcesses, _world: command_world.World) -> None:
        for _ in range(12):
            async with controllers.started():
                await asyncio.sleep(chance.uniform(0.05, 0.4))

    return kill
