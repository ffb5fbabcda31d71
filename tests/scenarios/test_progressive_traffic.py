"""Progressive traffic on sandbox clusters: up while checks pass, back at once when they fail."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from aiohttp import web

import release_world
import stage_world
from kube_sandbox.faults import faults as sandbox_faults
from progressive_world import FAST, Hook, Options, given, pipeline
from release_world import hook, live, reason_of, weights
from volary.clusters.client import clients
from volary.model.pipeline import traffic, webhook
from volary.model.pipeline.stage_kinds import (
    external_stages,
    rollout_stages,
    stage_kind,
    traffic_stages,
    waiting_stages,
)
from volary.model.statuses import RunStatus, TaskStatus
from volary.stages.traffic import readiness_watch


async def test_traffic_goes_up_step_by_step_and_back_with_the_promotion() -> None:
    options = Options(interval=FAST, step_weight=20, max_weight=50)
    async with given("us", "eu") as releases, releases.world.watched_traffic("us") as lost:
        run = await releases.carry_out(releases.planned(pipeline(options)))
        assert run.status is RunStatus.SUCCEEDED, run.reason
        assert weights(releases, "us") == weights(releases, "eu") == [20, 40, 50, 0]
        assert releases.world.images("us") == "shop:v2 2/2"
        assert releases.world.traffic("us").by_label(stage_world.KEY) == {"primary": 1.0}
        assert releases.world.count("us", "Deployment") == 1
    assert lost == []
    assert reason_of(run, 1, "us") == (
        "canary has 50 % of the traffic: every check passed: ready to be promoted"
    )


async def test_primary_may_take_its_traffic_back_in_steps() -> None:
    options = Options(interval=FAST, step_weight=60, max_weight=60, step_weight_promotion=25)
    async with given("us") as releases, releases.world.watched_traffic("us") as lost:
        run = await releases.carry_out(releases.planned(pipeline(options)))
        assert run.status is RunStatus.SUCCEEDED, run.reason
        assert weights(releases, "us") == [60, 35, 10, 0]
    assert lost == []


async def test_failed_checks_give_the_traffic_back_and_roll_back() -> None:
    async with release_world.gate() as gate, given("us", "eu") as releases:
        asked = hook(f"{gate.url}/${{CLUSTER}}", Hook.ROLLOUT)
        options = Options(interval=FAST, step_weight=10, threshold=2, webhooks=(asked,))
        # Every look at the second weight and after fails, on every cluster.
        gate.answers["/${CLUSTER}"] = 500
        run = await releases.carry_out(releases.planned(pipeline(options)))
        assert run.status is RunStatus.ROLLED_BACK, run.reason
        assert weights(releases, "us")[0] == 10
        for target in ("us", "eu"):
            assert live(releases, target) == 0
            assert releases.world.images(target) == "shop:v1 2/2"
            assert releases.world.count(target, "Deployment") == 1
    reason = reason_of(run, 1, "us") + reason_of(run, 1, "eu")
    assert "2 failed checks, 2 allow no more: rollout answered 500" in reason


async def test_the_loop_fails_one_interval_after_the_last_check_unless_told_otherwise() -> None:
    for immediate, checks in ((False, 2), (True, 2)):
        async with release_world.gate() as gate, given("us") as releases:
            gate.answers["/x"] = 500
            options = Options(
                interval=FAST,
                step_weight=10,
                threshold=2,
                immediate=immediate,
                webhooks=(hook(f"{gate.url}/x", Hook.ROLLOUT),),
            )
            await releases.carry_out(releases.planned(pipeline(options)))
            assert len(gate.of("/x")) == checks


async def test_in_a_fleet_one_cluster_s_failed_check_holds_all() -> None:
    async with release_world.gate() as gate, given("us", "eu", "ap") as releases:
        hooks = (
            hook(f"{gate.url}/check", Hook.ROLLOUT, metadata={"at": "${CLUSTER}"}),
            hook(f"{gate.url}/more", Hook.CONFIRM_TRAFFIC_INCREASE),
        )

        async def only_eu_fails(request: web.Request) -> web.StreamResponse:
            body = await request.json()
            status = 500 if body["metadata"]["at"] == "eu" else 200
            return web.Response(status=status)

        gate.behaviours["/check"] = only_eu_fails
        options = Options(
            interval=FAST,
            step_weight=20,
            threshold=3,
            webhooks=hooks,
            scope=stage_kind.Scope.FLEET,
        )
        run = await releases.carry_out(releases.planned(pipeline(options)))
        assert run.status is RunStatus.ROLLED_BACK, run.reason
        for target in releases.world.names:
            assert max(weights(releases, target)) == 20
            assert live(releases, target) == 0
        # One asks for all: one question for the one step that was taken.
        assert len(gate.of("/more")) == 1
        failed = [
            each
            for target in releases.world.names
            if (each := run.stages[1].task(target)) and each.status is TaskStatus.FAILED
        ]
        assert any("eu: rollout" in each.reason or "eu: check" in each.reason for each in failed)


async def test_in_a_fleet_all_go_in_step() -> None:
    options = Options(interval=FAST, step_weight=25, scope=stage_kind.Scope.FLEET)
    async with given("us", "eu", "ap") as releases:
        run = await releases.carry_out(releases.planned(pipeline(options)))
        assert run.status is RunStatus.SUCCEEDED, run.reason
        assert weights(releases, "us") == weights(releases, "ap") == [25, 50, 75, 100, 0]
        order = [
            (each.observed_weights["canary"], each.target)
            for each in releases.listener.told
            if getattr(each, "observed_weights", {}).get("canary")
        ]
    assert [weight for weight, _ in order] == sorted(weight for weight, _ in order)


async def test_canary_going_down_between_checks_is_noticed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readiness_watch, "_GRACE", timedelta(seconds=0.3))
    options = Options(interval=timedelta(seconds=30), step_weight=50)
    async with given("us") as releases:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(releases.carry_out(releases.planned(pipeline(options))))
            await releases.listener.until(lambda: weights(releases, "us"))
            begin = asyncio.get_running_loop().time()
            await _scale_to_nothing(releases, "us", "shop-canary")
        run = running.result()
        assert asyncio.get_running_loop().time() - begin < 10
        assert run.status is RunStatus.ROLLED_BACK
        assert live(releases, "us") == 0
    assert "none of its pods is ready any more" in reason_of(run, 1, "us")


async def test_a_gate_behind_it_does_not_suspend_the_watch_over_canary(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readiness_watch, "_GRACE", timedelta(seconds=0.3))
    async with release_world.gate() as gate, given("us", "eu") as releases:
        gate.answers["/gate"] = 403
        asked = webhook.Webhook(url=f"{gate.url}/gate", name="release manager")
        options = external_stages.WebhookGateOptions(asked, timedelta(seconds=30))
        stages = pipeline(Options(interval=FAST, step_weight=100))
        stages.insert(2, release_world.step(external_stages.WEBHOOK_GATE.name, options))
        async with asyncio.TaskGroup() as group:
            running = group.create_task(releases.carry_out(releases.planned(stages)))
            await gate.until("/gate")
            begin = asyncio.get_running_loop().time()
            await _scale_to_nothing(releases, "us", "shop-canary")
            await _scale_to_nothing(releases, "eu", "shop-canary")
        run = running.result()
        assert asyncio.get_running_loop().time() - begin < 15
        assert run.status is RunStatus.ROLLED_BACK
        assert live(releases, "us") == live(releases, "eu") == 0
    reasons = reason_of(run, 2, "us") + reason_of(run, 2, "eu")
    assert "none of its pods is ready any more" in reasons


async def test_a_wait_with_traffic_on_canary_ends_when_canary_goes_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readiness_watch, "_GRACE", timedelta(seconds=0.3))
    async with given("us") as releases:
        wait = release_world.step(
            waiting_stages.WAIT.name, waiting_stages.WaitOptions(timedelta(minutes=5))
        )
        rollout, _, *rest = pipeline(Options(step_weight=100))
        split = release_world.step(
            traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(80, canary=20)
        )
        async with asyncio.TaskGroup() as group:
            planned = releases.planned([rollout, split, wait, *rest])
            running = group.create_task(releases.carry_out(planned))
            await releases.listener.until(
                lambda: any("waiting for 5m" in each for each in releases.listener.sentences)
            )
            await _scale_to_nothing(releases, "us", "shop-canary")
        run = running.result()
        assert run.status is RunStatus.ROLLED_BACK
        assert live(releases, "us") == 0
    assert "none of its pods is ready any more" in reason_of(run, 2, "us")


async def test_a_cluster_that_is_lost_for_a_moment_does_not_end_a_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readiness_watch, "_RETRY_INTERVAL", timedelta(seconds=0.1))
    async with release_world.gate() as gate, given("us") as releases:
        gate.answers["/gate"] = 403
        asked = webhook.Webhook(url=f"{gate.url}/gate", name="release manager")
        options = external_stages.WebhookGateOptions(asked, timedelta(seconds=0.2))
        stages = pipeline(Options(interval=FAST, step_weight=100))
        stages.insert(2, release_world.step(external_stages.WEBHOOK_GATE.name, options))
        faults = releases.world.running.clusters["us"].faults
        async with asyncio.TaskGroup() as group:
            running = group.create_task(releases.carry_out(releases.planned(stages)))
            await gate.until("/gate")
            faults.lost = sandbox_faults.Lost.REFUSE
            await gate.until("/gate", len(gate.paths) + 5)
            faults.lost = sandbox_faults.Lost.NO
            gate.answers["/gate"] = 200
        assert running.result().status is RunStatus.SUCCEEDED, running.result().reason


async def _scale_to_nothing(releases: release_world.Releases, target: str, name: str) -> None:
    client = await releases.world.clients.client(target)
    assert isinstance(client, clients.Client)
    kind = (await client.discover()).find("apps", "Deployment")
    assert kind is not None
    nothing = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": 0},
    }
    await client.apply(kind, nothing, field_manager="volary-scale", force=True)


async def test_too_few_canary_pods_hold_until_the_deadline() -> None:
    options = Options(interval=FAST, step_weight=50, progress_deadline=timedelta(seconds=0.6))
    async with given("us") as releases:
        stages = pipeline(options)
        # Without the rollout there is no canary at all.
        run = await releases.carry_out(releases.planned(stages[1:]))
        assert run.status in (RunStatus.ROLLED_BACK, RunStatus.FAILED)
        assert live(releases, "us") == 0
    assert "there is no canary, for 0.6 seconds now" in reason_of(run, 0, "us")


@pytest.mark.parametrize("scope", list(stage_kind.Scope))
async def test_a_run_that_was_killed_goes_on_from_its_weight(scope: stage_kind.Scope) -> None:
    async with release_world.gate() as gate, given("us", "eu") as releases:
        gate.answers["/gate"] = 403
        asked = hook(f"{gate.url}/gate", Hook.CONFIRM_TRAFFIC_INCREASE)
        checked = hook(f"{gate.url}/check", Hook.ROLLOUT)
        options = Options(
            interval=FAST,
            step_weight=30,
            threshold=5,
            webhooks=(asked, checked),
            scope=scope,
        )
        gate.answers["/gate"] = 200
        async with asyncio.TaskGroup() as group:
            running = group.create_task(releases.carry_out(releases.planned(pipeline(options))))
            await releases.listener.until(
                lambda: weights(releases, "us") and weights(releases, "eu")
            )
            gate.answers["/check"] = 500
            await gate.until("/check", 4)
            running.cancel()
        assert releases.runner is not None
        left = releases.runner.run
        assert not left.is_final
        before = live(releases, "us")
        assert before == 30
        gate.answers["/check"] = 200
        told = len(releases.listener.told)
        run = await releases.carry_out(left)
        assert run.status is RunStatus.SUCCEEDED, run.reason
        again = release_world.Listener(releases.listener.told[told:])
        assert any("going on at 30 % of the traffic" in each for each in again.lines)
        assert not any("0 failed checks so far" in each for each in again.lines_of("us"))
        assert releases.world.images("us") == "shop:v2 2/2"


async def test_a_weight_that_was_changed_by_hand_is_where_it_goes_on() -> None:
    async with release_world.gate() as gate, given("us") as releases:
        gate.answers["/gate"] = 403
        asked = hook(f"{gate.url}/gate", Hook.CONFIRM_TRAFFIC_INCREASE)
        options = Options(interval=FAST, step_weights=(10, 50, 60), webhooks=(asked,))
        async with asyncio.TaskGroup() as group:
            running = group.create_task(releases.carry_out(releases.planned(pipeline(options))))
            await gate.until("/gate", 1)
            await releases.world.run(
                traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(80, canary=20)
            )
            gate.answers["/gate"] = 200
        assert running.result().status is RunStatus.SUCCEEDED
        assert weights(releases, "us") == [0, 50, 60, 0]


async def test_blue_green_by_iterations_needs_no_weights() -> None:
    options = Options(interval=FAST, iterations=2)
    async with stage_world.world("us") as world:
        await world.deployed()
        releases = release_world.Releases(world)
        stages = pipeline(options)
        stages[2] = replace(stages[2], options=rollout_stages.PrimaryRolloutOptions())
        async with world.watched_traffic("us") as lost:
            run = await releases.carry_out(releases.planned(stages))
        assert run.status is RunStatus.SUCCEEDED, run.reason
        assert weights(releases, "us")[-2:] == [100, 0]
        assert world.images("us") == "shop:v2 2/2"
    assert lost == []


async def test_an_ab_test_sends_the_matched_requests_only() -> None:
    match = traffic.RequestMatch(headers={"x-beta": traffic.TextMatch("1")})
    async with release_world.gate() as gate, given("us") as releases:
        gate.answers["/gate"] = 403
        asked = hook(f"{gate.url}/gate", Hook.CONFIRM_PROMOTION)
        options = Options(interval=FAST, iterations=2, match=(match,), webhooks=(asked,))
        async with asyncio.TaskGroup() as group:
            running = group.create_task(releases.carry_out(releases.planned(pipeline(options))))
            await gate.until("/gate", 1)
            body = releases.world.get("us", "VirtualService.networking.istio.io", "shop")
            headers = [
                rule["headers"]
                for route in body["spec"]["http"]
                for rule in route.get("match", [])
                if "headers" in rule
            ]
            assert {"x-beta": {"exact": "1"}} in headers
            gate.answers["/gate"] = 200
        assert running.result().status is RunStatus.SUCCEEDED
        body = releases.world.get("us", "VirtualService.networking.istio.io", "shop")
        assert len(body["spec"]["http"]) == 1


async def test_a_mirror_comes_first_and_goes_with_the_first_step() -> None:
    async with release_world.gate() as gate, given("us") as releases:
        asked = hook(f"{gate.url}/check", Hook.ROLLOUT)
        options = Options(
            interval=FAST, step_weight=50, mirror=True, mirror_weight=30, webhooks=(asked,)
        )
        seen: list[tuple[int, object]] = []

        async def look(_: web.Request) -> web.StreamResponse:
            body = releases.world.get("us", "VirtualService.networking.istio.io", "shop")
            route = body["spec"]["http"][0]
            seen.append((live(releases, "us"), route.get("mirrorPercentage", {}).get("value")))
            return web.Response()

        gate.behaviours["/check"] = look
        run = await releases.carry_out(releases.planned(pipeline(options)))
        assert run.status is RunStatus.SUCCEEDED, run.reason
    assert seen == [(0, 30), (50, None), (100, None)]


async def test_canary_may_grow_with_its_share() -> None:
    options = Options(interval=FAST, step_weights=(25, 75), scale_canary=True)
    async with given("us") as releases, releases.world.watched_traffic("us") as lost:
        replicas: list[int] = []
        cluster = releases.world.running.clusters["us"]

        def look(_: object) -> None:
            body = releases.world.find("us", "Deployment", "shop-canary")
            count = body["spec"]["replicas"] if body else 0
            if not replicas or replicas[-1] != count:
                replicas.append(count)

        unsubscribe = cluster.registry.subscribe(look)
        run = await releases.carry_out(releases.planned(pipeline(options)))
        unsubscribe()
        assert run.status is RunStatus.SUCCEEDED, run.reason
    assert lost == []
    # Two pods of primary: a quarter is one, three quarters are two.
    assert [each for each in replicas if each] == [1, 2]
