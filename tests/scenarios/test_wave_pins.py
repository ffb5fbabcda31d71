"""What a run in waves is pinned to, while Git moves on."""

from dataclasses import replace
from pathlib import Path

import command_world
from controller_world import controlled
from kube_sandbox.apiserver.storage import storage
from wave_invariants import Allowed, watched

SPEED = 60.0
V1, V2 = "example/simple:v1", "example/simple:v2"
NAMES = ("us", "eu", "asia")
ONE_EACH = tuple((each,) for each in NAMES)
WAVES = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {name: simple}
  waves:
  - {name: first, targets: {names: [us]}, soak: 700ms}
  - {name: second, targets: {names: [eu]}}
  - {name: third}
  placement:
    overrides:
    - targets: {names: [eu, asia]}
      labels: [{operator: add, value: {edition: one}}]
      resources: [{kind: Deployment}]
"""


async def test_an_override_changed_in_mid_wave_goes_out_with_the_next_run_in_waves(
    tmp_path: Path,
) -> None:
    async with command_world.world(tmp_path, *NAMES, speed=SPEED) as world:
        (world.directory / "app.pipecd.yaml").unlink()
        world.write({"volary.yaml": WAVES}, message="In waves")
        async with controlled(world) as given:
            await given.until_application(lambda each: each.status == "synced")
            seen: list[tuple[str, str, str]] = []
            for name in NAMES:
                world.running.clusters[name].registry.subscribe(
                    lambda change, name=name: see(seen, name, change)
                )
            with watched(world, application="simple", waves=ONE_EACH) as watch:
                given.push(V1, V2)
                await given.until_application(
                    lambda each: each.status == "running" and world.images("us").startswith(V2)
                )
                last = world.edit("volary.yaml", "edition: one", "edition: two", message="Edition")
                await given.synced(last)
                watch.hear(await given.told())

            runs = [each.status for each in await given.runs()]

    assert runs == ["succeeded"] * 3
    assert seen == [
        ("us", V2, ""),
        ("eu", V2, "one"),
        ("asia", V2, "one"),
        ("eu", V2, "two"),
        ("asia", V2, "two"),
    ]


LEAVING = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {name: simple}
  budget: {failures: 1}
  waves:
  - {name: first, targets: {names: [us, eu]}, soak: 700ms, budget: {failures: 1}}
  - {name: second, targets: {names: [asia]}, budget: {failures: 1}, onFailure: rollbackWave}
"""


async def test_a_cluster_that_failed_and_left_the_fleet_counts_and_keeps_what_it_has(
    tmp_path: Path,
) -> None:
    """One may fail in all: eu did, though it is not in the fleet any more when asia does."""
    async with command_world.world(tmp_path, *NAMES, speed=SPEED) as world:
        (world.directory / "app.pipecd.yaml").unlink()
        world.write({"volary.yaml": LEAVING}, message="In waves")
        async with controlled(world) as given:
            await given.until_application(lambda each: each.status == "synced")
            for name in ("eu", "asia"):
                world.running.clusters[name].faults.images.add(V2, "bad")
            waves, allowed = (("us", "eu"), ("asia",)), Allowed(failures=1, total=1)
            with watched(world, application="simple", waves=waves, allowed=allowed) as watch:
                given.push(V1, V2)
                going = await given.until_application(lambda each: each.status == "running")
                await given.until_run(
                    going.run,
                    lambda each: any(
                        cluster.name == "eu" and cluster.left_out for cluster in each.targets
                    ),
                )
                members = given.controller.service.fleet.register.members
                others = tuple(each for each in members.clusters if each.name != "eu")
                given.controller.change_fleet(replace(members, clusters=others))
                ended = await given.ended(going.run)
                watch.hear(await given.told())

            assert ended.status == "failed"
            assert "all waves: 2 failed, 1 may be; asia: " in ended.reason, ended.reason
            assert world.images("us") == f"{V2} 2/2"
            # Neither deleted nor left half-way: rolled back before it left.
            assert world.images("eu") == f"{V1} 2/2"
            assert world.images("asia") == f"{V1} 2/2"


def see(seen: list[tuple[str, str, str]], name: str, change: storage.Change) -> None:
    """Note what a cluster's Deployment says, once for each time that it says something else."""
    body = change.item.body
    if body["kind"] != "Deployment":
        return
    image = body["spec"]["template"]["spec"]["containers"][0]["image"]
    if image == V1:
        return
    said = (name, image, body["metadata"]["labels"].get("edition", ""))
    if said[1:] != next((each[1:] for each in reversed(seen) if each[0] == name), None):
        seen.append(said)
