"""Webhooks against a real HTTP server: what they are sent, what answers mean, bounds."""

import asyncio
from datetime import timedelta

import pytest
from aiohttp import web

import release_world
import stage_world
import wave_world
from volary.model.pipeline import pipelines, webhook
from volary.model.pipeline.stage_kinds import external_stages, stage_kind
from volary.model.placement import rollouts
from volary.model.statuses import RunStatus, TaskStatus
from volary.stages import webhooks
from volary.stages.runtime import contexts

GATE = external_stages.WEBHOOK_GATE.name
SUBJECT = webhooks.Subject("shop", "default", "us", "6d8f9c4b7f", "Progressing")
OPEN = webhooks.Reach(loopback=True)


def hook(url: str, **more: object) -> webhook.Webhook:
    return webhook.Webhook(url=url, name="gate", **more)  # type: ignore[arg-type]


async def test_the_body_is_flagger_s() -> None:
    async with release_world.gate() as gate:
        asked = hook(f"{gate.url}/x", metadata={"suite": "smoke", "where": "in ${CLUSTER}"})
        answer = await webhooks.call(asked, SUBJECT, OPEN)
        (body,) = gate.asked
    assert answer == webhooks.Answer(True)
    flagger = {key: body[key] for key in ("name", "namespace", "phase", "checksum", "metadata")}
    assert flagger == {
        "name": "shop",
        "namespace": "default",
        "phase": "Progressing",
        "checksum": "6d8f9c4b7f",
        "metadata": {"suite": "smoke", "where": "in us"},
    }
    assert body["cluster"] == "us"


@pytest.mark.parametrize(
    ("status", "agreed"), [(200, True), (202, True), (203, False), (403, False), (500, False)]
)
async def test_up_to_202_is_agreement(status: int, agreed: bool) -> None:
    async with release_world.gate() as gate:
        gate.answers["/x"] = status
        answer = await webhooks.call(hook(f"{gate.url}/x"), SUBJECT, OPEN)
    assert answer.agreed is agreed
    if not agreed:
        assert answer.reason == f"answered {status}: said by the gate"


async def test_one_that_hangs_is_left_after_its_timeout() -> None:
    async with release_world.gate() as gate:
        gate.behaviours["/x"] = gate.hang
        begin = asyncio.get_running_loop().time()
        asked = hook(f"{gate.url}/x", timeout=timedelta(seconds=0.3))
        answer = await webhooks.call(asked, SUBJECT, OPEN)
        assert asyncio.get_running_loop().time() - begin < 5
    assert answer == webhooks.Answer(False, "gave no answer within 0.3 seconds")


async def test_a_body_without_end_is_left_too() -> None:
    async def flood(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=403)
        await response.prepare(request)
        while True:
            await response.write(b"x" * 65536)

    async with release_world.gate() as gate:
        gate.behaviours["/x"] = flood
        answer = await webhooks.call(hook(f"{gate.url}/x"), SUBJECT, OPEN)
    assert not answer.agreed
    assert len(answer.reason) < 300


async def test_errors_of_the_server_are_tried_again_and_refusals_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webhooks, "_FIRST_PAUSE", 0.01)
    async with release_world.gate() as gate:
        gate.answers |= {"/broken": 503, "/no": 403}
        await webhooks.call(hook(f"{gate.url}/broken", retries=2), SUBJECT, OPEN)
        await webhooks.call(hook(f"{gate.url}/no", retries=2), SUBJECT, OPEN)
        assert (gate.paths.count("/broken"), gate.paths.count("/no")) == (3, 1)


async def test_redirects_are_not_followed() -> None:
    async def away(_: web.Request) -> web.StreamResponse:
        raise web.HTTPTemporaryRedirect("/secret")

    async with release_world.gate() as gate:
        gate.behaviours["/x"] = away
        answer = await webhooks.call(hook(f"{gate.url}/x"), SUBJECT, OPEN)
        assert "/secret" not in gate.paths
    assert answer == webhooks.Answer(False, "answered 307; redirects are not followed")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.1", "[::ffff:127.0.0.1]"])
async def test_a_server_does_not_let_itself_be_called(host: str) -> None:
    async with release_world.gate() as gate:
        port = gate.url.rpartition(":")[2]
        asked = hook(f"http://{host}:{port}/x")
        answer = await webhooks.call(asked, SUBJECT, webhooks.Reach(loopback=False))
        assert gate.asked == []
    assert not answer.agreed


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "[fe80::1]", "100.100.100.200", "[fd00:ec2::254]", "[::ffff:169.254.1.1]"],
)
@pytest.mark.parametrize("loopback", [True, False])
async def test_nobody_reaches_a_metadata_service(address: str, loopback: bool) -> None:
    asked = hook(f"http://{address}/latest/meta-data")
    answer = await webhooks.call(asked, SUBJECT, webhooks.Reach(loopback=loopback))
    assert "metadata service" in answer.reason


async def test_nobody_there_is_a_refusal() -> None:
    answer = await webhooks.call(hook("http://127.0.0.1:9/x"), SUBJECT, OPEN)
    assert not answer.agreed
    assert answer.reason.startswith("could not be asked")


def gated(
    url: str, *, scope: stage_kind.Scope = stage_kind.Scope.FLEET, limit: float = 20
) -> pipelines.Stage:
    options = external_stages.WebhookGateOptions(hook(url), timedelta(seconds=0.1), scope)
    return release_world.step(GATE, options, timeout=timedelta(seconds=limit))


async def test_a_gate_holds_until_it_opens_and_is_asked_once_for_all() -> None:
    async with release_world.gate() as gate, stage_world.world("us", "eu") as world:
        gate.answers["/gate"] = 403
        releases = release_world.Releases(world)
        run = releases.planned([gated(f"{gate.url}/gate")])
        async with asyncio.TaskGroup() as group:
            running = group.create_task(releases.carry_out(run))
            await gate.until("/gate", 3)
            assert not running.done()
            gate.answers["/gate"] = 200
        assert running.result().status is RunStatus.SUCCEEDED
        assert len({str(each["cluster"]) for each in gate.asked}) == 1
    assert "gate answered 403: said by the gate" in releases.listener.lines


async def test_each_cluster_may_ask_for_itself() -> None:
    async with release_world.gate() as gate, stage_world.world("us", "eu") as world:
        releases = release_world.Releases(world)
        run = releases.planned([gated(f"{gate.url}/gate", scope=stage_kind.Scope.CLUSTER)])
        ended = await releases.carry_out(run)
        assert ended.status is RunStatus.SUCCEEDED
        assert sorted(str(each["cluster"]) for each in gate.asked) == ["eu", "us"]


async def test_a_gate_that_stays_shut_fails_in_time() -> None:
    async with release_world.gate() as gate, stage_world.world("us") as world:
        await world.deployed()
        gate.answers["/gate"] = 403
        releases = release_world.Releases(world)
        run = await releases.carry_out(releases.planned([gated(f"{gate.url}/gate", limit=2)]))
    (task,) = run.stages[0].tasks
    assert task.status is TaskStatus.FAILED
    assert "gate did not agree in time: it answered 403" in task.reason


async def test_a_cancel_does_not_wait_for_a_gate() -> None:
    async with release_world.gate() as gate, stage_world.world("us") as world:
        gate.behaviours["/gate"] = gate.hang
        releases = release_world.Releases(world)
        begin = asyncio.get_running_loop().time()
        async with asyncio.TaskGroup() as group:
            run = releases.planned([gated(f"{gate.url}/gate")])
            running = group.create_task(releases.carry_out(run))
            await gate.until("/gate")
            assert releases.runner is not None
            releases.runner.interrupt("ana")
        assert asyncio.get_running_loop().time() - begin < 8
    assert running.result().status is RunStatus.CANCELLED


async def test_a_gate_keeps_to_the_server_s_reach() -> None:
    async with release_world.gate() as gate, stage_world.world("us") as world:
        permissions = contexts.Permissions(reach=webhooks.Reach(loopback=False))
        releases = release_world.Releases(world, permissions=permissions)
        run = await releases.carry_out(releases.planned([gated(f"{gate.url}/gate", limit=2)]))
        assert gate.asked == []
    assert run.status is not RunStatus.SUCCEEDED


async def test_a_wave_that_may_lose_its_cluster_does_not_go_on_without_a_yes() -> None:
    """Its only cluster asks; the budget is for clusters that fail, and none does."""
    waves = rollouts.Waves(
        tuple(
            rollouts.Wave(
                name,
                rollouts.ClusterSelector(names=(cluster,)),
                budget=rollouts.Budget(failures=rollouts.Share(1)),
                on_failure=rollouts.OnWaveFailure.STOP,
            )
            for name, cluster in (("first", "us"), ("rest", "eu"))
        )
    )
    async with release_world.gate() as gate, stage_world.world("us", "eu") as world:
        await world.deployed()
        gate.answers["/gate"] = 403
        stages = (*wave_world.SYNC, gated(f"{gate.url}/gate", limit=2))

        story = await wave_world.moved(world, waves, stages=stages)

        images = {name: world.images(name) for name in world.names}
    assert story.run is not None
    assert story.run.status is RunStatus.FAILED
    assert "us: gate did not agree in time: it answered 403" in story.run.reason
    assert images == {"us": "shop:v2 2/2", "eu": "shop:v1 2/2"}
