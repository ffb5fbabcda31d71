"""All traffic at once, and back at once, in memory and in virtual time."""

from datetime import timedelta
from typing import Any

import pytest

import memory_cluster
import stage_contexts
from memory_cluster import pod, split
from memory_world import SELECTING, World, now
from volary.clusters.api import api_errors
from volary.model import analysis, errors, json
from volary.model.pipeline import webhook
from volary.model.pipeline.stage_kinds import traffic_stages
from volary.stages.kinds import blue_green, traffic_routing
from volary.stages.runtime import execution, stage_runners, task_states

pytestmark = pytest.mark.looptime
Checks, Hook = traffic_stages.Checks, webhook.WebhookType
MINUTE = timedelta(minutes=1)
RULE = analysis.Rule("errors", "prom", "q", interval=MINUTE, expected=analysis.Range(maximum=0.05))
BAD = "errors: 0.5 is outside the expected ≤ 0.05"
DONE = "all traffic goes to canary; the old version stands by at primary"


def options(**given: Any) -> traffic_stages.BlueGreenOptions:
    known = {"preview": False, "scale_down_delay": timedelta(0)}
    return traffic_stages.BlueGreenOptions(**{**known, **given})


def hook(kind: Hook) -> webhook.Webhook:
    """One that is not called at all, which is a refusal."""
    return webhook.Webhook(name="gate", type=kind, url="http://169.254.169.254/")


class Meter:
    """Answers with the values in turn; the last one again and again."""

    def __init__(self, *values: float | None) -> None:
        self.values, self.times = list(values), [0.0]

    async def measure(self, question: Any) -> analysis.Measurement:
        self.times.append(now())
        value = self.values.pop(0) if len(self.values) > 1 else self.values[0]
        measured: analysis.Measurement = question.answer("q", () if value is None else (value,))
        return measured


class Remembered(task_states.InProcessStore):
    """What an earlier process remembered, and everything since."""

    def __init__(self, document: json.JsonObject) -> None:
        super().__init__()
        self.document = document
        self.saved: list[json.JsonObject] = []

    async def load(self, place: task_states.TaskAttempt) -> json.JsonObject:
        return self.document

    async def save(self, place: task_states.TaskAttempt, document: json.JsonObject) -> None:
        self.saved.append(document)


class Switched(World):
    """A shop whose canary runs at full size."""

    async def carry_out(
        self,
        chosen: traffic_stages.BlueGreenOptions,
        known: json.JsonObject | None = None,
        **more: Any,
    ) -> str:
        async def source() -> Any:
            return self.source

        self.kept = Remembered(known or {})
        state = task_states.TaskState(keeper=self.kept)
        self.done = self.work(6000, target_source=source, task_state=state, **more)
        return await blue_green.run(self.done, chosen)

    @property
    def is_switched(self) -> bool:
        return self.weights == {"shop": 0, "shop-canary": 100}


def world() -> Switched:
    made = Switched()
    made.cluster.put(memory_cluster.deployment("canary"))
    return made


async def test_everything_is_switched_at_once() -> None:
    given = world()

    assert await given.carry_out(options()) == DONE

    assert given.is_switched
    assert now() == 0
    shown = [(each.sentence, each.observed_weights) for each in given.report.progress_said]
    assert ("all traffic goes to canary", {"canary": 100}) in shown
    assert given.kept.saved == [
        {"started": "", "done": 0, "failed": 0, "title": "switch", "switched": True}
    ]


async def test_canary_has_to_be_ready_first() -> None:
    given = world()
    given.cluster.put(memory_cluster.deployment("canary", ready=1))
    given.later(30, lambda: given.cluster.put(memory_cluster.deployment("canary")))

    await given.carry_out(options())

    assert 30 <= now() <= 31
    said = [each.sentence for each in given.report.progress_said]
    assert "waiting for canary: 1 of 2 canary pods ready" in said


@pytest.mark.parametrize(("count", "times"), [(1, [0, 60]), (3, [0, 60, 120, 180])])
async def test_checks_come_after_an_interval_each(count: int, times: list[float]) -> None:
    given, meter = world(), Meter(0.01)
    checks = Checks(MINUTE, count, metrics=(RULE,))

    await given.carry_out(options(pre_promotion=checks), meter=meter)

    assert meter.times == times
    assert given.report.lines[0] == "pre-promotion analysis passed, 0 failed checks"
    assert given.is_switched
    counted = [(each["done"], each["failed"]) for each in given.kept.saved[:-1]]
    assert counted == [(number, 0) for number in range(count + 1)]
    assert given.kept.saved[0] == {
        "started": stage_contexts.START.isoformat(),
        "done": 0,
        "failed": 0,
        "title": "pre-promotion",
        "switched": False,
    }


async def test_a_canary_that_fails_before_gets_no_traffic() -> None:
    given = world()
    checks = Checks(MINUTE, 3, threshold=2, metrics=(RULE,))

    with pytest.raises(execution.StageFailedError) as failed:
        await given.carry_out(options(pre_promotion=checks), meter=Meter(0.5))

    assert str(failed.value) == f"pre-promotion analysis failed: {BAD}"
    assert given.cluster.writes == []
    assert now() == 120
    assert given.report.warnings == [f"pre-promotion: {BAD}"] * 2
    assert [each["failed"] for each in given.kept.saved] == [0, 1, 2]


async def test_a_failed_check_that_is_allowed_is_said() -> None:
    given = world()
    checks = Checks(MINUTE, 3, threshold=2, metrics=(RULE,))

    await given.carry_out(options(pre_promotion=checks), meter=Meter(0.01, 0.5, 0.01))

    assert given.report.lines[0] == "pre-promotion analysis passed, 1 failed checks"
    said = [each.sentence for each in given.report.progress_said]
    assert f"pre-promotion: 2 of 3 checks, 1 failed: {BAD}" in said
    assert "pre-promotion: 3 of 3 checks, 1 failed" in said


async def test_a_canary_that_fails_after_is_switched_back() -> None:
    given = world()
    checks = Checks(MINUTE, 2, metrics=(RULE,))

    with pytest.raises(execution.StageFailedError) as failed:
        await given.carry_out(options(post_promotion=checks), meter=Meter(0.5))

    reason = f"post-promotion analysis failed: {BAD}"
    assert str(failed.value) == f"{reason}; traffic is back at primary"
    assert given.weights == {"shop": 100}
    assert given.report.warnings[-1] == f"switched back: {reason}"
    assert now() == 60


async def test_what_cannot_be_judged_does_not_count_and_is_borne_for_ten_minutes() -> None:
    given = world()
    checks = Checks(MINUTE, 1, metrics=(RULE,))

    with pytest.raises(execution.StageFailedError, match="nothing could be judged for 600 seconds"):
        await given.carry_out(options(post_promotion=checks), meter=Meter(None))

    assert now() == 60 + 600
    assert given.weights == {"shop": 100}


async def test_a_canary_that_goes_down_is_switched_back_within_seconds() -> None:
    given = world()
    given.later(90, lambda: given.cluster.put(pod("new", "canary", ready=False)))

    with pytest.raises(execution.StageFailedError) as failed:
        await given.carry_out(options(scale_down_delay=timedelta(minutes=10)))

    assert str(failed.value) == (
        "canary gets traffic, but none of its pods is ready any more; traffic is back at primary"
    )
    assert now() == 100


async def test_too_few_pods_are_a_failed_check() -> None:
    given = world()
    given.later(30, lambda: given.cluster.put(memory_cluster.deployment("canary", ready=1)))
    checks = Checks(MINUTE, 2, metrics=(RULE,))

    with pytest.raises(execution.StageFailedError, match="failed: 1 of 2 canary pods ready; traff"):
        await given.carry_out(options(post_promotion=checks), meter=Meter(0.01))


async def test_one_that_cannot_be_switched_back_is_left_to_the_rollback() -> None:
    given = world()

    def down() -> None:
        given.cluster.put(pod("new", "canary", ready=False), pod("old", "primary", ready=False))

    given.later(90, down)
    with pytest.raises(execution.StageFailedError) as failed:
        await given.carry_out(options(scale_down_delay=timedelta(minutes=10)))

    assert "traffic is back" not in str(failed.value)
    assert given.is_switched
    assert given.report.warnings[-1].startswith("canary's traffic could not be given back yet: ")


@pytest.mark.parametrize("is_written", [True, False])
async def test_a_switch_that_fails_is_switched_back_as_far_as_it_went(is_written: bool) -> None:
    given = world()

    def fail() -> None:
        if is_written:
            given.cluster.put(split(shop=0, shop_canary=100))
        raise api_errors.ServerError("etcd is slow", status=504)

    given.cluster.before_write = [fail]
    with pytest.raises(execution.StageFailedError) as failed:
        await given.carry_out(options())

    assert str(failed.value) == "etcd is slow" + "; traffic is back at primary" * is_written
    assert given.weights == {"shop": 100}
    assert given.report.warnings == ["switched back: etcd is slow"] * is_written


async def test_a_cluster_out_of_reach_is_no_reason_to_switch_back() -> None:
    given = world()

    def fail() -> None:
        given.cluster.put(split(shop=0, shop_canary=100))
        raise api_errors.Unreachable("no route to host")

    given.cluster.before_write = [fail]
    with pytest.raises(api_errors.Unreachable):
        await given.carry_out(options())

    assert given.is_switched
    assert given.report.warnings == []


async def test_problems_of_users_are_kept_when_traffic_is_given_back() -> None:
    given_up: list[str] = []

    async def fail() -> str:
        raise errors.user_error("no such rule", hint="name another")

    async def give_up(sentence: str) -> str:
        given_up.append(sentence)
        return "traffic is back"

    with pytest.raises(errors.UserError) as failed:
        await traffic_routing.or_give_up(fail(), give_up)

    assert [problem.hint for problem in failed.value.problems] == ["name another"]
    assert len(given_up) == 1


async def test_the_old_version_stands_by_for_the_delay() -> None:
    given = world()

    await given.carry_out(options(scale_down_delay=timedelta(seconds=25)))

    assert now() == 25
    said = [each.sentence for each in given.report.progress_said]
    assert [each for each in said if "stands by for" in each] == [
        f"the old version stands by for {left}" for left in ("25s", "15s", "5s")
    ]


@pytest.mark.parametrize(
    ("kind", "switched"), [(Hook.CONFIRM_ROLLOUT, False), (Hook.CONFIRM_PROMOTION, False)]
)
async def test_a_gate_is_asked_until_it_agrees(kind: Hook, switched: bool) -> None:
    given = world()
    given.later(35, lambda: given.stop.raise_flag("by ana"))

    with pytest.raises(execution.StoppedError):
        await given.carry_out(options(webhooks=(hook(kind),)))

    said = [each.sentence for each in given.report.progress_said]
    waits = [each for each in said if each.startswith(f"waiting for {kind.value}: gate")]
    assert len(waits) == 4
    assert given.is_switched is switched


async def test_canary_goes_on_being_checked_at_a_gate() -> None:
    given = world()
    checks = Checks(MINUTE, 1, metrics=(RULE,))
    chosen = options(pre_promotion=checks, webhooks=(hook(Hook.CONFIRM_PROMOTION),))

    with pytest.raises(execution.StageFailedError) as failed:
        await given.carry_out(chosen, meter=Meter(0.01, 0.5))

    assert str(failed.value) == BAD
    assert now() == 70


@pytest.mark.parametrize(("kind", "at"), [(Hook.PRE_ROLLOUT, 0), (Hook.ROLLOUT, 0)])
async def test_a_webhook_of_the_checks_that_refuses_fails_one(kind: Hook, at: float) -> None:
    given = world()
    checks = Checks(MINUTE, 2, webhooks=(hook(kind),))
    with pytest.raises(execution.StageFailedError, match="pre-promotion analysis failed: gate is"):
        await given.carry_out(options(pre_promotion=checks))
    assert now() == at


async def test_the_first_check_alone_asks_before_the_rollout() -> None:
    given = world()
    checks = Checks(MINUTE, 3, threshold=2, webhooks=(hook(Hook.PRE_ROLLOUT),))
    await given.carry_out(options(pre_promotion=checks))
    assert "pre-promotion analysis passed, 1 failed checks" in given.report.lines
    assert now() == 120


@pytest.mark.parametrize(
    ("live", "switched", "writes"),
    [
        (split(shop=0, shop_canary=100), True, 0),
        (split(shop=0, shop_canary=100), False, 1),
        (split(shop=50, shop_canary=50), True, 1),
        (split(), True, 1),
    ],
)
async def test_a_new_process_goes_on_after_the_switch(
    live: json.JsonObject, switched: bool, writes: int
) -> None:
    given = world()
    given.cluster.put(live)

    await given.carry_out(options(), {"title": "switch", "switched": switched, "started": ""})

    assert given.is_switched
    assert len(given.cluster.writes) == writes
    assert given.done.touched


@pytest.mark.parametrize(("title", "left"), [("post-promotion", 1), ("pre-promotion", 3)])
async def test_a_new_process_goes_on_in_the_middle_of_an_analysis(title: str, left: int) -> None:
    given, meter = world(), Meter(0.01)
    given.cluster.put(split(shop=0, shop_canary=100))
    known = {
        "title": title,
        "switched": True,
        "started": stage_contexts.START.isoformat(),
        "done": 2,
        "failed": 1,
    }
    checks = Checks(MINUTE, 3, threshold=5, metrics=(RULE,))

    await given.carry_out(options(post_promotion=checks), known, meter=meter)

    assert len(meter.times) - 1 == left
    assert given.kept.saved[-1]["failed"] == (1 if left == 1 else 0)


def test_a_router_that_cannot_switch_is_refused_before_the_run() -> None:
    given = World()
    sources = stage_runners.Sources(given.application, given.source, "new")
    shown = blue_green.plan(sources, options(preview=True))

    assert [item.name for item in shown.manifests] == ["shop-preview"]
    assert blue_green.plan(sources, options()).manifests == []
    with pytest.raises(errors.UserError):
        blue_green._check(stage_runners.Sources(given.application, given.source[:1]), options())
    with pytest.raises(errors.UserError):
        blue_green._check(stage_runners.Sources(SELECTING, given.source[1:], "new"), options())
