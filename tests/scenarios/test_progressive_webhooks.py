"""Webhooks beside progressive traffic on sandbox clusters: what they are asked and decide."""

import asyncio
from datetime import timedelta

import release_world
from progressive_world import FAST, Hook, Options, given, pipeline
from release_world import hook, live, reason_of, weights
from volary.model.statuses import RunStatus


async def test_what_the_webhooks_are_asked_and_when() -> None:
    async with release_world.gate() as gate, given("us") as releases:
        kinds = [each for each in Hook if each is not Hook.ROLLBACK]
        hooks = [hook(f"{gate.url}/{each.value}", each) for each in kinds]
        hooks.append(hook(f"{gate.url}/rollback", Hook.ROLLBACK))
        gate.answers["/rollback"] = 403
        options = Options(interval=FAST, step_weight=50, webhooks=tuple(hooks))
        run = await releases.carry_out(releases.planned(pipeline(options)))
        assert run.status is RunStatus.SUCCEEDED, run.reason
        asked = [each for each in gate.paths if each not in ("/rollback", "/event")]
        assert asked == [
            "/confirm-rollout",
            "/pre-rollout",
            "/confirm-traffic-increase",
            "/rollout",
            "/confirm-traffic-increase",
            "/rollout",
            "/confirm-promotion",
            "/post-rollout",
        ]
        assert gate.paths.count("/rollback") == 3
        (first, *_) = gate.of("/rollout")
        assert (first["phase"], first["canaryWeight"]) == ("Progressing", 50)
        assert gate.of("/confirm-rollout")[0]["phase"] == "Waiting"
        assert gate.of("/post-rollout")[0]["phase"] == "Succeeded"
        told = [each["metadata"]["eventMessage"] for each in gate.of("/event")]  # type: ignore[index]
        assert told[:2] == ["Advance shop: canary weight 50", "Advance shop: canary weight 100"]
        kind = gate.of("/event")[0]["metadata"]
        assert kind["eventType"] == "Normal"  # type: ignore[index]
        assert int(kind["timestamp"]) > 1_600_000_000_000  # type: ignore[index]


async def test_a_refused_increase_holds_the_weight_without_a_failed_check() -> None:
    async with release_world.gate() as gate, given("us") as releases:
        gate.answers["/x"] = 403
        asked = hook(f"{gate.url}/x", Hook.CONFIRM_TRAFFIC_INCREASE)
        options = Options(interval=FAST, step_weight=50, webhooks=(asked,))
        async with asyncio.TaskGroup() as group:
            running = group.create_task(releases.carry_out(releases.planned(pipeline(options))))
            await gate.until("/x", 4)
            assert live(releases, "us") == 0
            gate.answers["/x"] = 200
        assert running.result().status is RunStatus.SUCCEEDED
        assert all(each["failedChecks"] == 0 for each in gate.of("/x"))


async def test_a_shut_gate_never_suspends_the_checks() -> None:
    async with release_world.gate() as gate, given("us") as releases:
        gate.answers["/promote"] = 403
        options = Options(
            interval=FAST,
            step_weight=100,
            webhooks=(
                hook(f"{gate.url}/promote", Hook.CONFIRM_PROMOTION),
                hook(f"{gate.url}/check", Hook.ROLLOUT),
            ),
        )
        async with asyncio.TaskGroup() as group:
            running = group.create_task(releases.carry_out(releases.planned(pipeline(options))))
            await gate.until("/promote", 2)
            assert live(releases, "us") == 100
            gate.answers["/check"] = 500
        assert running.result().status is RunStatus.ROLLED_BACK
        assert live(releases, "us") == 0
        assert gate.of("/promote")[-1]["phase"] == "WaitingPromotion"


async def test_a_rollback_webhook_that_agrees_rolls_back() -> None:
    async with release_world.gate() as gate, given("us") as releases:
        gate.answers["/rollback"] = 403
        gate.answers["/shut"] = 403
        hooks = (
            hook(f"{gate.url}/rollback", Hook.ROLLBACK),
            hook(f"{gate.url}/shut", Hook.CONFIRM_PROMOTION),
            hook(f"{gate.url}/after", Hook.POST_ROLLOUT),
        )
        options = Options(interval=FAST, step_weight=100, webhooks=hooks)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(releases.carry_out(releases.planned(pipeline(options))))
            await gate.until("/rollback", 3)
            gate.answers["/rollback"] = 200
        run = running.result()
        assert run.status is RunStatus.ROLLED_BACK
        assert "stopped: rollback asked" in reason_of(run, 1, "us")
        assert gate.of("/after")[0]["phase"] == "Failed"


async def test_a_stage_that_fails_says_why_with_reports_of_events_too() -> None:
    async with release_world.gate() as gate, given("us") as releases:
        hooks = (
            hook(f"{gate.url}/back", Hook.ROLLBACK),
            hook(f"{gate.url}/told", Hook.EVENT),
        )
        options = Options(interval=FAST, step_weight=10, webhooks=hooks)
        run = await releases.carry_out(releases.planned(pipeline(options)))
        assert run.status is RunStatus.ROLLED_BACK
        assert "asked to roll back" in reason_of(run, 1, "us"), reason_of(run, 1, "us")


async def test_a_webhook_that_hangs_is_a_failed_check_after_its_timeout() -> None:
    async with release_world.gate() as gate, given("us") as releases:
        gate.behaviours["/x"] = gate.hang
        asked = hook(f"{gate.url}/x", Hook.PRE_ROLLOUT, timeout=timedelta(seconds=0.3))
        begin = asyncio.get_running_loop().time()
        options = Options(interval=FAST, step_weight=50, webhooks=(asked,))
        run = await releases.carry_out(releases.planned(pipeline(options)))
        assert asyncio.get_running_loop().time() - begin < 15
        assert run.status is RunStatus.ROLLED_BACK
        assert weights(releases, "us")[:1] in ([], [0])
    assert "gave no answer within 0.3 seconds" in reason_of(run, 1, "us")
