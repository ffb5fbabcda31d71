"""What a run in waves is pinned to, while Git moves on."""

from pathlib import Path

import command_world
from controller_world import controlled
from volary.sandbox import storage

SPEED = 60.0
V1, V2 = "example/simple:v1", "example/simple:v2"
NAMES = ("us", "eu", "asia")
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
            given.push(V1, V2)
            await given.until_application(
                lambda each: each.status == "running" and world.images("us").startswith(V2)
            )
            last = world.edit("volary.yaml", "edition: one", "edition: two", message="Edition")
            await given.synced(last)

            runs = [each.status for each in await given.runs()]

    assert runs == ["succeeded"] * 3
    assert seen == [
        ("us", V2, ""),
        ("eu", V2, "one"),
        ("asia", V2, "one"),
        ("eu", V2, "two"),
        ("asia", V2, "two"),
    ]


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
