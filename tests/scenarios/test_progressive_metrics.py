"""Metrics inside progressive traffic: what they say decides, and silence is no consent."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import timedelta

import release_world
import stage_world
from release_world import ISTIO, live, meshed, reason_of, weights
from volary.analysis.metering import meters
from volary.model import analysis
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind, traffic_stages
from volary.model.statuses import RunStatus

Options = traffic_stages.ProgressiveTrafficOptions
FAST = timedelta(seconds=0.15)


@dataclass
class Shop:
    """Keeps one metric, `errors`: what each cluster answers is told by a function."""

    answer: Callable[[meters.Question], float | None]
    asked: list[meters.Question] = field(default_factory=list)

    async def measure(self, question: meters.Question) -> analysis.Measurement:
        if question.rule.name != "errors":
            return question.nothing(question.rule.name, "nothing is kept of that")
        self.asked.append(question)
        value = self.answer(question)
        return question.answer("errors", () if value is None else (value,))


def errors(**more: object) -> analysis.Rule:
    return analysis.Rule(
        "errors",
        "prometheus",
        "errors",
        interval=FAST,
        expected=analysis.Range(maximum=1.0),
        **more,  # type: ignore[arg-type]
    )


@contextlib.asynccontextmanager
async def given(
    *names: str, answer: Callable[[meters.Question], float | None]
) -> AsyncIterator[release_world.Releases]:
    async with stage_world.world(*names, application=ISTIO, istio=True) as world:
        world.sources = {stage_world.OLD: meshed("shop:v1"), stage_world.NEW: meshed("shop:v2")}
        await world.deployed()
        yield release_world.Releases(world, meter=Shop(answer))


def pipeline(options: Options) -> list[pipelines.Stage]:
    one = rollout_stages.VariantRolloutOptions(replicas=rollout_stages.Replicas(1))
    return [
        release_world.step(rollout_stages.CANARY_ROLLOUT.name, one),
        release_world.step(
            traffic_stages.PROGRESSIVE_TRAFFIC.name, options, timeout=timedelta(seconds=40)
        ),
        release_world.step(
            rollout_stages.PRIMARY_ROLLOUT.name,
            rollout_stages.PrimaryRolloutOptions(add_variant_label_to_selector=True),
        ),
        release_world.step(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions()),
    ]


async def test_good_numbers_let_it_through_and_are_kept() -> None:
    async with given("us", answer=lambda _: 0.2) as releases:
        options = Options(interval=FAST, step_weight=50, metrics=(errors(),))
        run = await releases.carry_out(releases.planned(pipeline(options)))
        assert run.status is RunStatus.SUCCEEDED, run.reason
        assert weights(releases, "us") == [50, 100, 0]
        assert isinstance(releases.meter, Shop)
        # Nothing is measured before canary gets traffic.
        assert len(releases.meter.asked) == 2
        assert {each.side.value for each in releases.meter.asked} == {"canary"}


async def test_bad_numbers_take_the_traffic_back_and_are_named() -> None:
    async with given("us", answer=lambda _: 5.0) as releases:
        options = Options(interval=FAST, step_weight=10, threshold=3, metrics=(errors(),))
        run = await releases.carry_out(releases.planned(pipeline(options)))
        assert run.status is RunStatus.ROLLED_BACK
        assert weights(releases, "us")[0] == 10
        assert max(weights(releases, "us")) == 10
        assert live(releases, "us") == 0
        assert releases.world.images("us") == "shop:v1 2/2"
    assert reason_of(run, 1, "us") == (
        "3 failed checks, 3 allow no more: errors: 5 is outside the expected ≤ 1"
        "; traffic is back at primary"
    )


async def test_silence_holds_the_weight_and_is_the_end_at_last() -> None:
    async with given("us", answer=lambda _: None) as releases:
        options = Options(
            interval=FAST,
            step_weight=10,
            metrics=(errors(),),
            progress_deadline=timedelta(seconds=0.8),
        )
        run = await releases.carry_out(releases.planned(pipeline(options)))
        assert run.status is RunStatus.ROLLED_BACK
        assert max(weights(releases, "us")) == 10
    reason = reason_of(run, 1, "us")
    assert "nothing could be judged for 0.8 seconds" in reason
    assert "failed check" not in reason


async def test_a_rule_may_let_silence_pass_or_fail() -> None:
    for policy, status in (
        (analysis.NoData.PASS, RunStatus.SUCCEEDED),
        (analysis.NoData.FAIL, RunStatus.ROLLED_BACK),
    ):
        async with given("us", answer=lambda _: None) as releases:
            rule = errors(no_data=policy)
            options = Options(interval=FAST, step_weight=100, metrics=(rule,))
            run = await releases.carry_out(releases.planned(pipeline(options)))
            assert run.status is status, run.reason


async def test_a_dry_run_decides_nothing() -> None:
    async with given("us", answer=lambda _: 5.0) as releases:
        options = Options(interval=FAST, step_weight=100, metrics=(errors(dry_run=True),))
        run = await releases.carry_out(releases.planned(pipeline(options)))
        assert run.status is RunStatus.SUCCEEDED, run.reason


async def test_without_a_provider_nothing_passes() -> None:
    async with given("us", answer=lambda _: 0.0) as releases:
        releases.meter = meters.NoMeter()
        options = Options(
            interval=FAST,
            step_weight=100,
            metrics=(errors(),),
            progress_deadline=timedelta(seconds=0.5),
        )
        run = await releases.carry_out(releases.planned(pipeline(options)))
        assert run.status is RunStatus.ROLLED_BACK
    assert "the settings have no analysisProviders to query" in reason_of(run, 1, "us")


async def test_one_bad_region_is_named_to_all_who_go_in_step() -> None:
    def answer(question: meters.Question) -> float:
        return 9.0 if question.target == "ap" else 0.1

    async with given("us", "eu", "ap", answer=answer) as releases:
        options = Options(
            interval=FAST,
            step_weight=10,
            threshold=2,
            metrics=(errors(),),
            scope=stage_kind.Scope.FLEET,
        )
        run = await releases.carry_out(releases.planned(pipeline(options)))
        assert run.status is RunStatus.ROLLED_BACK
        for target in releases.world.names:
            assert max(weights(releases, target)) == 10
            assert live(releases, target) == 0
    reasons = [reason_of(run, 1, target) for target in ("us", "eu", "ap")]
    assert any("ap: errors: 9 is outside the expected ≤ 1" in each for each in reasons)


async def test_failed_checks_are_remembered_over_a_restart() -> None:
    bad = True

    def answer(_: meters.Question) -> float:
        return 5.0 if bad else 0.1

    async with given("us", answer=answer) as releases:
        options = Options(interval=FAST, step_weight=50, threshold=3, metrics=(errors(),))
        async with asyncio.TaskGroup() as group:
            running = group.create_task(releases.carry_out(releases.planned(pipeline(options))))
            await releases.listener.until(
                lambda: any("failed check 2 of 3" in each for each in releases.listener.lines)
            )
            running.cancel()
        assert releases.runner is not None
        run = await releases.carry_out(releases.runner.run)
        assert run.status is RunStatus.ROLLED_BACK
        measured = releases.meter
        assert isinstance(measured, Shop)
        # Two before, one after: not three again.
        assert len(measured.asked) == 3
