"""Blue/green on sandbox clusters: seen before, switched at once, back at once."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

import release_world
import stage_world
from release_world import ISTIO, hook, live, meshed, reason_of
from volary.model import applications
from volary.model.pipeline import pipelines, webhook
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind, traffic_stages
from volary.model.statuses import RunStatus

Options = traffic_stages.BlueGreenOptions
Hook = webhook.WebhookType
FAST = timedelta(seconds=0.15)
AT_ONCE = timedelta(0)
PLAIN = applications.Application(name="shop")


@contextlib.asynccontextmanager
async def given(
    *names: str, application: applications.Application = PLAIN
) -> AsyncIterator[release_world.Releases]:
    is_istio = application is ISTIO
    async with stage_world.world(*names, application=application, istio=is_istio) as world:
        if is_istio:
            world.sources = {
                stage_world.OLD: meshed("shop:v1"),
                stage_world.NEW: meshed("shop:v2"),
            }
        await world.deployed()
        yield release_world.Releases(world)


def pipeline(options: Options, *, istio: bool = False) -> list[pipelines.Stage]:
    replicas = rollout_stages.VariantRolloutOptions(
        replicas=rollout_stages.Replicas(100, is_percentage=True)
    )
    promotion = rollout_stages.PrimaryRolloutOptions(add_variant_label_to_selector=istio)
    return [
        release_world.step(rollout_stages.CANARY_ROLLOUT.name, replicas),
        release_world.step(traffic_stages.BLUE_GREEN.name, options, timeout=timedelta(seconds=30)),
        release_world.step(rollout_stages.PRIMARY_ROLLOUT.name, promotion),
        release_world.step(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions()),
    ]


def selected(releases: release_world.Releases, target: str, name: str = "shop") -> str:
    """The variant that a live Service leads to; empty when there is no such Service."""
    body = releases.world.find(target, "Service", name)
    return str(body["spec"]["selector"][stage_world.KEY]) if body else ""


@pytest.mark.parametrize("application", [PLAIN, ISTIO], ids=["podselector", "istio"])
async def test_everything_is_switched_and_no_request_is_lost(
    application: applications.Application,
) -> None:
    options = Options(scale_down_delay=timedelta(seconds=0.3))
    async with given("us", "eu", application=application) as releases:
        async with releases.world.watched_traffic("us") as lost:
            run = await releases.carry_out(
                releases.planned(pipeline(options, istio=application is ISTIO))
            )
        assert run.status is RunStatus.SUCCEEDED, run.reason
        assert releases.world.images("us") == "shop:v2 2/2"
        # The preview went with canary.
        assert releases.world.find("us", "Service", "shop-preview") is None
        assert releases.world.count("us", "Deployment") == 1
    assert lost == []
    assert reason_of(run, 1, "us") == (
        "all traffic goes to canary; the old version stands by at primary"
    )


async def test_the_preview_shows_canary_before_the_switch() -> None:
    async with release_world.gate() as gate, given("us") as releases:
        gate.answers["/promote"] = 403
        asked = hook(f"{gate.url}/promote", Hook.CONFIRM_PROMOTION)
        options = Options(preview_service="shop-next", webhooks=(asked,), scale_down_delay=AT_ONCE)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(releases.carry_out(releases.planned(pipeline(options))))
            await gate.until("/promote")
            assert selected(releases, "us", "shop-next") == "canary"
            assert selected(releases, "us") == "primary"
            assert releases.runner is not None
            releases.runner.interrupt("ana", rollback=True)
        assert running.result().status is RunStatus.ROLLED_BACK
        assert selected(releases, "us") == "primary"
        assert selected(releases, "us", "shop-next") == ""


async def test_checks_that_fail_before_the_switch_keep_it_from_happening() -> None:
    async with release_world.gate() as gate, given("us") as releases:
        gate.answers["/smoke"] = 500
        smoke = hook(f"{gate.url}/smoke", Hook.PRE_ROLLOUT)
        options = Options(pre_promotion=traffic_stages.Checks(FAST, webhooks=(smoke,)))
        async with releases.world.watched_traffic("us") as lost:
            run = await releases.carry_out(releases.planned(pipeline(options)))
        assert run.status is RunStatus.ROLLED_BACK
        assert selected(releases, "us") == "primary"
        assert releases.world.images("us") == "shop:v1 2/2"
    assert lost == []
    assert reason_of(run, 1, "us") == (
        "pre-promotion analysis failed: pre-rollout answered 500: said by the gate"
    )


async def test_checks_that_fail_after_the_switch_switch_back() -> None:
    async with release_world.gate() as gate, given("us", application=ISTIO) as releases:
        gate.answers["/load"] = 500
        load = hook(f"{gate.url}/load", Hook.ROLLOUT)
        checks = traffic_stages.Checks(FAST, count=5, threshold=2, webhooks=(load,))
        options = Options(post_promotion=checks)
        async with releases.world.watched_traffic("us") as lost:
            run = await releases.carry_out(releases.planned(pipeline(options, istio=True)))
        assert run.status is RunStatus.ROLLED_BACK
        assert len(gate.of("/load")) == 2
        assert live(releases, "us") == 0
        assert releases.world.images("us") == "shop:v1 2/2"
    assert lost == []
    assert reason_of(run, 1, "us").endswith("; traffic is back at primary")


async def test_within_the_delay_the_way_back_is_one_write() -> None:
    async with release_world.gate() as gate, given("us") as releases:
        gate.answers["/back"] = 403
        asked = hook(f"{gate.url}/back", Hook.ROLLBACK)
        options = Options(scale_down_delay=timedelta(seconds=20), webhooks=(asked,))
        async with releases.world.watched_traffic("us") as lost, asyncio.TaskGroup() as group:
            running = group.create_task(releases.carry_out(releases.planned(pipeline(options))))
            await releases.listener.until(
                lambda: any("stands by" in each for each in releases.listener.sentences)
            )
            assert selected(releases, "us") == "canary"
            before = releases.world.get("us", "Deployment", "shop")["metadata"]["generation"]
            assert releases.runner is not None
            releases.runner.interrupt("ana", rollback=True)
        run = running.result()
        assert run.is_final
        assert selected(releases, "us") == "primary"
        after = releases.world.get("us", "Deployment", "shop")["metadata"]["generation"]
        assert after == before
        assert releases.world.images("us") == "shop:v1 2/2"
    assert lost == []


async def test_a_switch_that_was_killed_goes_on_behind_it() -> None:
    async with release_world.gate() as gate, given("us") as releases:
        smoke = hook(f"{gate.url}/smoke", Hook.PRE_ROLLOUT)
        load = hook(f"{gate.url}/load", Hook.ROLLOUT)
        options = Options(
            pre_promotion=traffic_stages.Checks(FAST, webhooks=(smoke,)),
            post_promotion=traffic_stages.Checks(FAST, count=4, threshold=3, webhooks=(load,)),
            scale_down_delay=AT_ONCE,
        )
        gate.answers["/load"] = 500
        async with asyncio.TaskGroup() as group:
            running = group.create_task(releases.carry_out(releases.planned(pipeline(options))))
            await gate.until("/load", 2)
            running.cancel()
        assert releases.runner is not None
        gate.answers["/load"] = 200
        run = await releases.carry_out(releases.runner.run)
        assert run.status is RunStatus.SUCCEEDED, run.reason
        assert len(gate.of("/smoke")) == 1
        assert 4 <= len(gate.of("/load")) <= 5
        assert releases.world.images("us") == "shop:v2 2/2"
