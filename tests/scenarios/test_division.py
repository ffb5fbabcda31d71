"""Replicas divided by free capacity: what a run is pinned to, and what stays where it is."""

from pathlib import Path

import command_world
from controller_world import ANA, SPEED, controlled

V1, V2 = "image: example/simple:v1", "image: example/simple:v2"
NAMES = ("us", "eu")
APPLICATION = """
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  placement: {replicas: {division: Divided, preference: AvailableReplicas}}
  pipeline:
    stages:
      - {name: WAIT_APPROVAL, with: {approvers: [ana]}}
      - {name: K8S_PRIMARY_ROLLOUT}
"""


def cordon(world: command_world.World, cluster: str, *, on: bool) -> None:
    """Keep new pods away from all nodes of a cluster but one, or no longer."""
    registry = world.running.clusters[cluster].registry
    kind = registry.kind("v1", "Node")
    for node in registry.objects(kind)[1:]:
        name = node["metadata"]["name"]
        changed = {**node, "spec": {**node.get("spec", {}), "unschedulable": on}}
        registry.update(kind, "", name, changed)


def replicas(world: command_world.World) -> list[int]:
    return [world.find(name, "Deployment", "simple")["spec"]["replicas"] for name in NAMES]


async def test_a_run_keeps_its_numbers_over_a_restart_and_the_next_one_moves_only_the_difference(
    tmp_path: Path,
) -> None:
    async with command_world.world(tmp_path, *NAMES, speed=SPEED) as world:
        (world.directory / "app.pipecd.yaml").unlink()
        sized = f"{V1}\n          resources: {{requests: {{cpu: '1'}}}}"
        world.edit("deployment.yaml", V1, sized)
        world.edit("deployment.yaml", "replicas: 2", "replicas: 8")
        world.write({"volary.yaml": APPLICATION}, message="Divide it")
        cordon(world, "eu", on=True)
        store = f"sqlite:{tmp_path / 'store.db'}"
        async with controlled(world, store=store) as given:
            await given.until_application(lambda each: each.status == "synced")
            # 24 and 8 CPUs are free.
            assert replicas(world) == [6, 2]
            given.push("replicas: 8", "replicas: 12")
            given.push(V1, V2, message="More, and newer")
            running = await given.until_application(lambda each: each.status == "running")
            await given.until_run(running.run, lambda each: each.summary.status == "waiting")

        # Now eu would get more than the run gives it.
        cordon(world, "eu", on=False)
        async with controlled(world, store=store) as given:
            await given.until_run(running.run, lambda each: each.summary.status == "waiting")
            await given.ask_run("approve", running.run, ANA)
            assert (await given.ended(running.run)).status == "succeeded"
            assert replicas(world) == [9, 3]
            shown = (await given.service.run(running.run)).replicas[0]
            assert shown.reason == "4 more by free capacity: us 9, eu 3"
            assert [each.free for each in shown.clusters] == [18, 6]

            plan = await given.service.plan("simple", ANA)
            assert plan.replicas[0].reason == "12 as before: us 9, eu 3"
            head = given.push("replicas: 12", "replicas: 15", message="Three more")
            await given.synced(head)

            # 15 and 21 are free.
            assert replicas(world) == [10, 5]

            # 12 by what runs would be 8 and 4; what was there is gone back to.
            asked = await given.service.ask_application("rollback", "simple", ANA)
            assert (await given.ended(asked.run)).status == "succeeded"
            assert replicas(world) == [9, 3]
