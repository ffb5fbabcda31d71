"""What a team hears of a run that Git started."""

import json
from pathlib import Path

from aiohttp import web

import command_world
import controller_world
from volary.model import controller


async def test_a_push_is_told_from_its_trigger_to_its_end(tmp_path: Path) -> None:
    """By a receiver that fails at first; secrets of the manifests are in nothing it gets."""
    heard: list[dict[str, object]] = []
    texts: list[bytes] = []

    async def take(request: web.Request) -> web.Response:
        texts.append(await request.read())
        if len(texts) == 1:
            return web.Response(status=503)
        heard.append(json.loads(texts[-1]))
        return web.Response()

    app = web.Application()
    app.router.add_post("/", take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    hook = controller.OutgoingWebhook(f"http://127.0.0.1:{runner.addresses[0][1]}/")
    told = controller.Notifications(
        (controller.Route("all", "hook", groups=("DEPLOYMENT",)),),
        (controller.Receiver("hook", webhook=hook),),
    )
    secret = (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n"
        "stringData: {password: correct-horse-battery}\n"
    )
    try:
        async with command_world.world(tmp_path, "us", "eu", speed=60.0) as world:
            await world.deployed()
            world.write({"secret.yaml": secret}, message="A secret")
            async with controller_world.controlled(world, notifications=told) as given:
                await given.until_application(lambda each: each.status == "synced")
                commit = given.push("simple:v1", "simple:v2", message="Use correct-horse-battery")
                await given.synced(commit)
                await given.until_application(
                    lambda _: heard[-1:] != [] and heard[-1]["event"] == "DEPLOYMENT_SUCCEEDED"
                )
    finally:
        await runner.cleanup()

    last = [each for each in heard if each["commit"] == commit]
    assert [each["event"] for each in last] == [
        "DEPLOYMENT_TRIGGERED",
        "DEPLOYMENT_PLANNED",
        "DEPLOYMENT_STARTED",
        "DEPLOYMENT_SUCCEEDED",
    ]
    assert len({each["run"] for each in last}) == 1
    assert last[-1]["clusters"] == {"us": "succeeded", "eu": "succeeded"}
    assert b"correct-horse" not in b"".join(texts)
