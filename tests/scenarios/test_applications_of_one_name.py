"""Two applications that their files call the same, on one server."""

from pathlib import Path

import command_world
from controller_world import SPEED, Controlled, controlled
from volary.store import records

V1, V2 = "example/simple:v1", "example/simple:v2"
FILES = ("config.yaml", "deployment.yaml", "service.yaml")


def image(world: command_world.World, namespace: str) -> str:
    body = world.running.clusters["us"].view.get("Deployment", namespace, "simple")
    containers = (body or {})["spec"]["template"]["spec"]["containers"]
    return str(containers[0]["image"])


async def statuses(given: Controlled) -> dict[str, str]:
    page = await given.service.applications(records.ApplicationFilter())
    return {each.name: each.status for each in page.items}


async def until(given: Controlled, wanted: dict[str, str]) -> None:
    while await statuses(given) != wanted:
        await given.service.changed(0.05)


async def test_they_live_side_by_side_and_each_is_released_by_itself(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", speed=SPEED) as world:
        described = (world.directory / "app.pipecd.yaml").read_text()
        elsewhere = "      input: {namespace: b, autoCreateNamespace: true}\n      service:"
        second = {f"b/{name}": (world.directory / name).read_text() for name in FILES}
        second["b/app.pipecd.yaml"] = described.replace("      service:", elsewhere, 1)
        world.write(second, message="The same for b")
        async with controlled(world) as given:
            names = {"simple", "simple.shop-b"}
            await until(given, dict.fromkeys(names, "synced"))
            assert (image(world, "default"), image(world, "b")) == (V1, V1)

            world.edit("b/deployment.yaml", V1, V2)
            while image(world, "b") != V2:
                await given.service.changed(0.05)
            await until(given, dict.fromkeys(names, "synced"))
            assert image(world, "default") == V1

            world.edit("deployment.yaml", V1, V2)
            while image(world, "default") != V2:
                await given.service.changed(0.05)
            await until(given, dict.fromkeys(names, "synced"))

            view = world.running.clusters["us"].view
            owners = {
                view.get("Deployment", place, "simple")["metadata"]["labels"][
                    "volary.dev/application-id"
                ]
                for place in ("default", "b")
            }
            runs = await given.runs()

    assert len(owners) == 2
    assert {each.status for each in runs} == {"succeeded"}
    assert {each.application for each in runs} == names
