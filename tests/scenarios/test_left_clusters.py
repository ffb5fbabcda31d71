"""The fleet file changes while a run is under way, and the server restarts."""

import contextlib
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import command_world
import waiting_world
from controller_world import ANA, SPEED, Controlled
from volary.config.fleet import fleet_files
from volary.model.fleet import fleets
from waiting_world import V1, V2, V3

APPLICATION = (
    waiting_world.APPLICATION
    + """\
  placement:
    overrides:
    - targets: {matchLabels: {tier: large}}
      resources: [{kind: Deployment}]
      patches: [{path: /spec/replicas, operator: replace, value: 3}]
"""
)


def fleet_of(world: command_world.World, eu: Path) -> fleets.Fleet:
    """Return the fleet, in which eu has labels and a kubeconfig of its own."""
    file = Path(world.fleet)
    members = fleet_files.parse(
        file.read_text(), file=str(file), directory=str(file.parent)
    ).require()
    return replace(members, clusters=tuple(_with_own(one, eu) for one in members.clusters))


def _with_own(cluster: fleets.Cluster, kubeconfig: Path) -> fleets.Cluster:
    if cluster.name != "eu":
        return cluster
    shutil.copy(cluster.kubeconfig[0], kubeconfig)
    return replace(cluster, kubeconfig=(str(kubeconfig),), labels={"tier": "large"})


def without_eu(members: fleets.Fleet) -> fleets.Fleet:
    left = tuple(cluster for cluster in members.clusters if cluster.name != "eu")
    return replace(members, clusters=left)


def life(
    world: command_world.World, members: fleets.Fleet
) -> contextlib.AbstractAsyncContextManager[Controlled]:
    return waiting_world.life(world, parts={"members": members})


async def begun(world: command_world.World, members: fleets.Fleet) -> str:
    """Have v2 wait for approval after its canaries, and return its run."""
    first = waiting_world.describe(world, APPLICATION)
    async with life(world, members) as given:
        await given.synced(first)
        return await given.asks(given.push(V1, V2))


async def test_a_run_ends_where_it_began_although_the_cluster_left_the_fleet(
    tmp_path: Path,
) -> None:
    """With its labels as they were, too: what is rendered for it stays the same."""
    async with command_world.world(tmp_path, "us", "eu", speed=SPEED) as world:
        members = fleet_of(world, tmp_path / "eu.kubeconfig")
        run = await begun(world, members)

        async with life(world, without_eu(members)) as given:
            await given.ask_run("approve", run, ANA)
            ended = await given.ended(run)

        assert ended.status == "succeeded", ended.reason
        assert (world.images("us"), world.images("eu")) == (f"{V2} 2/2", f"{V2} 3/3")
        assert world.find("eu", "Deployment", "simple-canary") is None


async def test_a_cluster_that_is_gone_is_left_out_by_name_and_takes_nobody_back(
    tmp_path: Path,
) -> None:
    async with command_world.world(tmp_path, "us", "eu", speed=SPEED) as world:
        kubeconfig = tmp_path / "eu.kubeconfig"
        members = fleet_of(world, kubeconfig)
        run = await begun(world, members)
        kubeconfig.unlink()

        async with life(world, without_eu(members)) as given:
            await given.ask_run("approve", run, ANA)
            ended = await given.ended(run)
            shown = await given.service.run(run)

        assert ended.status == "succeeded_with_exceptions"
        assert "eu" in ended.reason
        assert "the fleet file: eu left it" in str(shown)
        assert world.images("us") == f"{V2} 2/2"
        assert world.images("eu") == f"{V1} 3/3", "nobody can write there any more"


def changed(members: fleets.Fleet, **changes: Any) -> fleets.Fleet:
    """Return the fleet in which eu is described otherwise."""
    clusters = (
        replace(cluster, **changes) if cluster.name == "eu" else cluster
        for cluster in members.clusters
    )
    return replace(members, clusters=tuple(clusters))


async def test_new_labels_count_from_the_next_run_on(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", "eu", speed=SPEED) as world:
        members = fleet_of(world, tmp_path / "eu.kubeconfig")
        run = await begun(world, members)

        async with life(world, changed(members, labels={})) as given:
            await given.ask_run("approve", run, ANA)
            ended = await given.ended(run)
            as_planned = world.images("eu")
            newer = await given.asks(given.push(V2, V3))
            await given.ask_run("approve", newer, ANA)
            last = await given.ended(newer)

        assert (ended.status, last.status) == ("succeeded", "succeeded")
        assert as_planned == f"{V2} 3/3"
        assert world.images("eu") == f"{V3} 2/2"


async def test_a_run_ends_under_the_old_name_and_the_new_one_gets_its_release(
    tmp_path: Path,
) -> None:
    async with command_world.world(tmp_path, "us", "eu", speed=SPEED) as world:
        members = fleet_of(world, tmp_path / "eu.kubeconfig")
        run = await begun(world, members)

        async with life(world, changed(members, name="europe")) as given:
            await given.ask_run("approve", run, ANA)
            ended = await given.ended(run)
            newer = (await given.until_application(lambda each: each.run != run)).run
            backfilled = await given.ended(newer)
            targets = [each.name for each in (await given.service.run(newer)).targets]

        assert (ended.status, backfilled.status) == ("succeeded", "succeeded")
        assert targets == ["europe"]
        assert (world.images("us"), world.images("eu")) == (f"{V2} 2/2", f"{V2} 3/3")


async def test_a_run_goes_on_with_new_credentials(tmp_path: Path) -> None:
    """The old ones are gone while it waits; no restart is needed."""
    async with command_world.world(tmp_path, "us", "eu", speed=SPEED) as world:
        kubeconfig = tmp_path / "eu.kubeconfig"
        members = fleet_of(world, kubeconfig)
        run = await begun(world, members)

        async with life(world, members) as given:
            await given.until_run(run, lambda each: each.summary.status == "waiting")
            renewed = kubeconfig.rename(tmp_path / "renewed.kubeconfig")
            given.controller.change_fleet(changed(members, kubeconfig=(str(renewed),)))
            await given.ask_run("approve", run, ANA)
            ended = await given.ended(run)

        assert ended.status == "succeeded", ended.reason
        assert world.images("eu") == f"{V2} 3/3"
