"""What a team hears of a run that Git started."""

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from aiohttp import web

import command_world
import controller_world
import kubectl
from volary.model import server_settings


@contextlib.asynccontextmanager
async def receiving(
    take: Callable[[web.Request], Awaitable[web.StreamResponse]],
) -> AsyncIterator[str]:
    """Give every POST to `take`; what is given is the address."""
    app = web.Application()
    app.router.add_post("/{rest:.*}", take)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


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

    secret = (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n"
        "stringData: {password: correct-horse-battery}\n"
    )
    async with (
        receiving(take) as url,
        command_world.world(tmp_path, "us", "eu", speed=60.0) as world,
    ):
        hook = server_settings.OutgoingWebhook(f"{url}/")
        told = server_settings.Notifications(
            (server_settings.Route("all", "hook", groups=("DEPLOYMENT",)),),
            (server_settings.Receiver("hook", webhook=hook),),
        )
        await world.deployed()
        world.write({"secret.yaml": secret}, message="A secret")
        typo = "  name: simple\n  planer: {}\n"
        world.edit("app.pipecd.yaml", "  name: simple\n", typo, message="A typo")
        async with controller_world.controlled(world, notifications=told) as given:
            await given.until_application(lambda each: each.status == "synced")
            commit = given.push("simple:v1", "simple:v2", message="Use correct-horse-battery")
            await given.synced(commit)
            await given.until_application(
                lambda _: heard[-1:] != [] and heard[-1]["event"] == "DEPLOYMENT_SUCCEEDED"
            )
            stands = await given.application()
            view = await given.service.run(stands.run)
            feed = await given.service.events(stands.run)

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
    # Once for a commit, wherever somebody looks.
    assert [each["event"] for each in last if "planer" in str(each)] == ["DEPLOYMENT_PLANNED"]
    assert stands.warnings == view.warnings
    assert ["planer" in warning for warning in stands.warnings] == [True]
    told_in = [each.event for each in feed if "planer" in str(each.document)]
    assert told_in == ["run-started"]


@kubectl.needed
async def test_drift_is_told_when_it_begins_and_when_it_is_over(tmp_path: Path) -> None:
    heard: list[dict[str, object]] = []

    async def take(request: web.Request) -> web.Response:
        heard.append(await request.json())
        return web.Response()

    async with (
        receiving(take) as url,
        command_world.world(tmp_path, "us", "eu", tls=True, speed=60.0) as world,
    ):
        hook = server_settings.OutgoingWebhook(f"{url}/")
        events = ("APPLICATION_OUT_OF_SYNC", "APPLICATION_SYNCED")
        told = server_settings.Notifications(
            (server_settings.Route("drift", "hook", events=events),),
            (server_settings.Receiver("hook", webhook=hook),),
        )
        async with controller_world.controlled(world, notifications=told) as given:
            await given.until_application(lambda each: each.status == "synced")
            us = world.running.clusters["us"]
            await kubectl.run(us, "set", "image", "deployment/simple", "simple=example/simple:v2")
            await given.until_application(lambda _: len(heard) == 1)
            await kubectl.run(us, "set", "image", "deployment/simple", "simple=example/simple:v1")
            await given.until_application(lambda _: len(heard) == 2)

    assert [each["event"] for each in heard] == list(events)
    assert [each["application"] for each in heard] == ["simple", "simple"]
    assert str(heard[0]["reason"]).endswith(
        "is example/simple:v2, Git says example/simple:v1 (by kubectl-set)"
    )


async def test_a_request_that_a_newer_one_replaced_says_so_in_its_message(tmp_path: Path) -> None:
    """Slack's message about what was wanted is edited; nobody reads on that it is coming."""
    heard: list[dict[str, object]] = []

    async def take(request: web.Request) -> web.Response:
        body = await request.json()
        heard.append({"method": request.path, **body})
        return web.json_response({"ok": True, "ts": f"{len(heard)}.0"})

    token = tmp_path / "token"
    token.write_text("xoxb-1\n")
    async with (
        receiving(take) as url,
        command_world.world(tmp_path, "us", speed=60.0) as world,
    ):
        told = server_settings.Notifications(
            (server_settings.Route("wanted", "chat", events=("DEPLOYMENT_TRIGGERED",)),),
            (server_settings.Receiver("chat", slack=server_settings.Slack("", str(token), "C1")),),
        )
        controlled = controller_world.controlled(
            world, notifications=told, parts={"slack_api": url}
        )
        async with controlled as given:
            await given.until_application(lambda each: each.status == "synced")
            given.push("simple:v1", "simple:v2")
            running = await given.until_application(lambda each: each.status == "running")
            await given.ask_run("pause", running.run, controller_world.ANA)
            older = given.push("replicas: 2", "replicas: 3")
            await given.until_application(lambda _: bool(_said(heard, older, "was asked for")))
            newest = given.push("simple:v2", "simple:v3")
            replaced = f"superseded by {newest[:7]} before it began"
            await given.until_application(lambda _: bool(_said(heard, older, replaced)))
            [edit] = _said(heard, older, replaced)

    [posted] = _said(heard, older, "was asked for")
    assert posted["method"] == "/chat.postMessage"
    assert edit["method"] == "/chat.update"
    assert edit["ts"] == f"{heard.index(posted) + 1}.0"


def _said(heard: list[dict[str, object]], commit: str, words: str) -> list[dict[str, object]]:
    return [each for each in heard if commit[:7] in str(each) and words in str(each)]
