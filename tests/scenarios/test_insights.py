"""Figures and charts of releases that happened: on sandbox clusters, by a controller."""

import asyncio
from pathlib import Path

import command_world
import process_time
from controller_world import controlled

SPEED = 60.0
V1, V2 = "example/simple:v1", "example/simple:v2"
GRADUAL = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {name: simple}
  windows:
    deny:
    - {name: leap day, schedule: "0 0 29 2 *", duration: 24h, targets: {names: [eu]}}
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 100%}}
    - {name: K8S_PROGRESSIVE_TRAFFIC, with: {interval: 1s, iterations: 3}}
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
"""


async def test_what_a_release_did_is_there_to_be_looked_at(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", "eu", speed=SPEED) as world:
        (world.directory / "app.pipecd.yaml").unlink()
        world.write({"volary.yaml": GRADUAL}, message="Describe it")
        async with controlled(world, store=f"sqlite:{tmp_path}/volary.db") as given:
            await given.until_application(lambda each: each.status == "synced")
            await given.synced(given.push(V1, V2))
            after, before = await given.runs()
            service = given.service
            traffic = await service.insights.traffic(after.id)
            comparison = await service.insights.comparison(after.id, before.id)
            delivery = await service.insights.delivery(None, days=1)
            calendar = await service.calendars.calendar(None, days=5 * 366)
            async with asyncio.timeout(process_time.HANG):
                while not all(each.facts for each in await service.fleet.list()):
                    await service.changed(0.05)
            clusters = await service.fleet.list()

    of_us = [each for each in traffic.samples if each.cluster == "us"]
    assert {each.cluster for each in traffic.samples} == {"us", "eu"}
    assert [each.at for each in traffic.samples] == sorted(each.at for each in traffic.samples)
    # All of it went to canary, and then back to primary, as it was wanted and seen.
    assert (of_us[-2].wanted, of_us[-2].observed) == ({"canary": 100}, {"canary": 100})
    assert (of_us[-1].wanted, of_us[-1].observed) == ({"primary": 100}, {"primary": 100})
    assert [(each.cluster, each.observed) for each in traffic.now] == [
        ("eu", {"primary": 100}),
        ("us", {"primary": 100}),
    ]
    assert comparison.differences[0] == f"commit {after.commit[:8]} instead of {before.commit[:8]}"
    assert {stage.after_status for stage in comparison.stages} >= {"succeeded"}
    figures = {figure.name: figure for figure in delivery.figures}
    assert (delivery.runs, delivery.days) == (2, (2,))
    assert figures["changeFailureRate"].value == 0.0
    assert [point.run for point in figures["leadTime"].points] == [before.id, after.id]
    assert {(each.clusters, each.reason) for each in calendar.items} == {
        (("eu",), "denied by leap day")
    }
    assert (calendar.unread, calendar.pending) == ((), 0)
    for cluster in clusters:
        assert cluster.facts is not None
        assert cluster.facts.version.startswith("v1.")
        assert cluster.facts.free is not None
