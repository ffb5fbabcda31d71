"""Canary gets more and more traffic, in memory and in virtual time."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

import memory_cluster
import stage_contexts
from memory_cluster import pod, split
from memory_world import World, now
from volary.clusters.api import api_errors
from volary.concurrency import single_flight
from volary.model import analysis, errors, json
from volary.model.pipeline import traffic, webhook
from volary.model.pipeline.stage_kinds import stage_kind, traffic_stages
from volary.stages.kinds import progressive_traffic
from volary.stages.runtime import execution, rendezvouses, stage_runners, task_states

pytestmark = pytest.mark.looptime
Options = traffic_stages.ProgressiveTrafficOptions
MINUTE = timedelta(minutes=1)
CLUSTER, FLEET = stage_kind.Scope.CLUSTER, stage_kind.Scope.FLEET
#: Is not called at all, which is a refusal.
REFUSED = "http://169.254.169.254/"
BETA = traffic.RequestMatch(headers={"x": traffic.TextMatch("1")})
RULE = analysis.Rule("errors", "prom", "q", interval=MINUTE, expected=analysis.Range(maximum=0.05))


def options(**given: Any) -> Options:
    return Options(**{"interval": MINUTE, "step_weight": 20, "max_weight": 60, **given})


def hook(kind: webhook.WebhookType, name: str = "gate") -> webhook.Webhook:
    return webhook.Webhook(name=name, type=kind, url=REFUSED)


class Meter:
    """Answers with the values in turn; the last one again and again."""

    def __init__(self, *values: float | None) -> None:
        self.values = list(values)

    async def measure(self, question: Any) -> analysis.Measurement:
        value = self.values.pop(0) if len(self.values) > 1 else self.values[0]
        return question.answer("query", () if value is None else (value,))  # type: ignore[no-any-return]


def world(**given: Any) -> World:
    made = World(**given)
    made.cluster.put(memory_cluster.deployment("canary"))
    return made


async def carry_out(given: World, chosen: Options, seconds: float = 6000, **more: Any) -> str:
    async def source() -> Any:
        return given.source

    given.done = given.work(seconds, target_source=source, **more)  # type: ignore[attr-defined]
    return await progressive_traffic.run(given.done, chosen)  # type: ignore[attr-defined]


def canaries(given: World) -> list[int]:
    """Then: canary's observed percentages, without what was only said again."""
    found: list[int] = []
    for progress in given.report.progress_said:
        weights = dict(progress.observed_weights or {})
        if weights and found[-1:] != [weights.get("canary", 0)]:
            found.append(weights.get("canary", 0))
    return found


async def test_traffic_goes_up_an_interval_at_a_time() -> None:
    given = world()

    said = await carry_out(given, options())

    assert said == "canary has 60 % of the traffic: every check passed: ready to be promoted"
    assert canaries(given) == [20, 40, 60]
    assert given.weights == {"shop": 40, "shop-canary": 60}
    assert now() == 180
    assert "advance: " in given.report.lines[1]


@pytest.mark.parametrize(
    ("more", "steps_up"),
    [
        ({"step_weight": 50}, [50, 60]),
        ({"step_weight": 50, "overshoot": True}, [50, 100]),
        ({"step_weight": 0, "step_weights": (5, 30, 80)}, [5, 30, 80]),
        ({"step_weight": 100, "max_weight": 100}, [100]),
    ],
)
async def test_steps_are_those_that_are_asked_for(
    more: dict[str, Any], steps_up: list[int]
) -> None:
    given = world()
    await carry_out(given, options(**more))
    assert canaries(given) == steps_up


async def test_failed_checks_hold_the_steps_and_then_give_the_traffic_back() -> None:
    given = world()
    chosen = options(metrics=(RULE,), threshold=2)

    with pytest.raises(execution.StageFailedError) as failed:
        await carry_out(given, chosen, meter=Meter(0.01, 0.5))

    reason = "errors: 0.5 is outside the expected ≤ 0.05"
    assert str(failed.value) == (
        f"2 failed checks, 2 allow no more: {reason}; traffic is back at primary"
    )
    assert given.weights == {"shop": 100}
    assert given.report.warnings == [
        f"halted: failed check 1 of 2 ({reason})",
        f"halted: failed check 2 of 2 ({reason})",
        f"canary failed: 2 failed checks, 2 allow no more: {reason}",
    ]
    assert canaries(given) == [20, 40, 0]


async def test_a_release_that_is_condemned_fails_at_once() -> None:
    given = world()
    rule = replace(
        RULE,
        kind=analysis.Kind.PROPORTION,
        total_query="t",
        judgement=analysis.Judgement.SEQUENTIAL,
    )

    class Bad:
        async def measure(self, question: Any) -> analysis.Measurement:
            return question.answer("query", (90.0,), (100.0,))  # type: ignore[no-any-return]

    with pytest.raises(execution.StageFailedError, match=r"^stopped: errors on us"):
        await carry_out(given, options(metrics=(rule,), threshold=5), meter=Bad())
    assert canaries(given) == [20, 0]


async def test_nothing_to_judge_by_holds_the_steps_up_to_a_limit() -> None:
    given = world()
    chosen = options(metrics=(RULE,), progress_deadline=timedelta(minutes=5))

    with pytest.raises(execution.StageFailedError, match="nothing could be judged for 300 seconds"):
        await carry_out(given, chosen, meter=Meter(0.01, None))

    assert canaries(given) == [20, 40, 0]
    assert given.weights == {"shop": 100}


async def test_too_few_pods_hold_the_steps_and_are_not_measured() -> None:
    given = world()
    given.cluster.put(memory_cluster.deployment("canary", ready=1))
    given.later(150, lambda: given.cluster.put(memory_cluster.deployment("canary")))

    await carry_out(given, options())

    assert now() == 180 + 180
    said = {progress.sentence for progress in given.report.progress_said}
    assert "1 of 2 canary pods ready" in said


async def test_pods_that_stay_too_few_give_the_traffic_back() -> None:
    given = world()
    given.later(90, lambda: given.cluster.put(memory_cluster.deployment("canary", ready=1)))

    with pytest.raises(execution.StageFailedError, match="1 of 2 canary pods ready, for 600 seco"):
        await carry_out(given, options())

    assert given.weights == {"shop": 100}


async def test_a_canary_that_goes_down_gives_the_traffic_back_within_seconds() -> None:
    given = world()
    given.later(90, lambda: given.cluster.put(pod("new", "canary", ready=False)))

    with pytest.raises(execution.StageFailedError) as failed:
        await carry_out(given, options())

    assert str(failed.value) == (
        "canary gets traffic, but none of its pods is ready any more; traffic is back at primary"
    )
    assert given.weights == {"shop": 100}
    assert now() == 100


async def test_traffic_that_cannot_be_given_back_is_left_to_the_rollback() -> None:
    given = world()

    def down() -> None:
        given.cluster.put(pod("new", "canary", ready=False), pod("old", "primary", ready=False))

    given.later(90, down)
    with pytest.raises(execution.StageFailedError) as failed:
        await carry_out(given, options())

    assert "traffic is back" not in str(failed.value)
    assert given.weights == {"shop": 60, "shop-canary": 40}
    assert given.report.warnings[-1].startswith("canary's traffic could not be given back yet: ")


async def test_a_step_that_cannot_be_written_gives_the_traffic_back() -> None:
    given = world()

    def fail() -> None:
        raise api_errors.ServerError("etcd is slow", status=504)

    given.later(90, lambda: given.cluster.before_write.append(fail))
    with pytest.raises(execution.StageFailedError) as failed:
        await carry_out(given, options())

    assert str(failed.value) == "etcd is slow; traffic is back at primary"
    assert canaries(given) == [20, 40, 0]
    assert given.weights == {"shop": 100}
    assert now() == 120


async def test_nothing_begins_before_the_rollout_is_confirmed() -> None:
    given = world()
    chosen = options(webhooks=(hook(webhook.WebhookType.CONFIRM_ROLLOUT),))
    given.later(250, lambda: given.stop.raise_flag("by ana"))

    with pytest.raises(execution.StoppedError):
        await carry_out(given, chosen)

    assert given.cluster.writes == []
    waits = [each.sentence for each in given.report.progress_said]
    assert (
        len([each for each in waits if each.startswith("waiting for confirm-rollout: gate")]) == 5
    )


@pytest.mark.parametrize(
    ("kind", "reached", "said"),
    [
        (webhook.WebhookType.CONFIRM_TRAFFIC_INCREASE, [], "waiting for confirm-traffic-increase"),
        (webhook.WebhookType.CONFIRM_PROMOTION, [20, 40, 60], "waiting for confirm-promotion"),
    ],
)
async def test_a_gate_that_is_closed_keeps_the_step(
    kind: webhook.WebhookType, reached: list[int], said: str
) -> None:
    given = world()
    given.later(590, lambda: given.stop.raise_flag("by ana"))

    with pytest.raises(execution.StoppedError):
        await carry_out(given, options(webhooks=(hook(kind),)))

    assert [weight for weight in canaries(given) if weight] == reached
    last = given.report.progress_said[-1].sentence
    assert last.startswith(f"{said} (gate is not called")


@pytest.mark.parametrize(
    ("kind", "reached"),
    [(webhook.WebhookType.PRE_ROLLOUT, []), (webhook.WebhookType.ROLLOUT, [20])],
)
async def test_a_webhook_that_refuses_is_a_failed_check(
    kind: webhook.WebhookType, reached: list[int]
) -> None:
    given = world()

    with pytest.raises(execution.StageFailedError, match="3 failed checks, 3 allow no more"):
        await carry_out(given, options(threshold=3, webhooks=(hook(kind),)))

    assert [weight for weight in canaries(given) if weight] == reached
    assert given.weights == {"shop": 100}


async def test_a_rollback_webhook_that_does_not_agree_stops_nothing() -> None:
    given = world()
    await carry_out(given, options(webhooks=(hook(webhook.WebhookType.ROLLBACK),)))
    assert canaries(given) == [20, 40, 60]


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


async def test_a_new_process_goes_on_from_the_weight_it_finds() -> None:
    keeper = Remembered({"started": "", "confirmed": True, "failed": 2})
    given = world()
    given.cluster.put(split(shop=60, shop_canary=40))
    refuses = hook(webhook.WebhookType.CONFIRM_ROLLOUT)

    await carry_out(
        given,
        options(webhooks=(refuses,), threshold=5),
        task_state=task_states.TaskState(keeper=keeper),
    )

    assert canaries(given) == [60]
    assert now() == 120, "what was measured before the pause says nothing about the time since"
    assert given.report.lines[0] == "going on at 40 % of the traffic, 2 failed checks so far"
    assert given.done.touched  # type: ignore[attr-defined]
    assert keeper.saved[-1] == {
        "started": stage_contexts.START.isoformat(),
        "confirmed": True,
        "failed": 2,
        "iterations": 0,
        "waiting": False,
    }


async def test_what_an_earlier_process_did_counts_also_when_nothing_more_is_done() -> None:
    given = world()
    given.later(30, lambda: given.stop.raise_flag("by ana"))
    keeper = Remembered({"confirmed": True})

    with pytest.raises(execution.StoppedError):
        await carry_out(given, options(), task_state=task_states.TaskState(keeper=keeper))

    assert given.cluster.writes == []
    assert given.done.touched  # type: ignore[attr-defined]


async def test_what_is_not_remembered_is_counted_anew() -> None:
    keeper = Remembered({"confirmed": True})
    given = world()
    refuses = hook(webhook.WebhookType.CONFIRM_ROLLOUT)
    state = task_states.TaskState(keeper=keeper)

    await carry_out(given, options(webhooks=(refuses,)), task_state=state)

    assert given.report.lines[0] == "going on at 0 % of the traffic, 0 failed checks so far"
    assert keeper.saved[0]["iterations"] == 0
    assert not keeper.saved[0]["waiting"]


async def test_a_new_process_still_waits_for_what_the_one_before_waited_for() -> None:
    keeper = Remembered({"confirmed": True, "iterations": 3, "waiting": True})
    given = world()

    await carry_out(given, options(), task_state=task_states.TaskState(keeper=keeper))

    assert (keeper.saved[0]["iterations"], keeper.saved[0]["waiting"]) == (3, True)


@pytest.mark.parametrize("confirmed", [False, True])
async def test_a_new_process_asks_again_for_what_was_not_confirmed(confirmed: bool) -> None:
    keeper = Remembered({"confirmed": confirmed, "failed": 0})
    given = world()
    given.later(1000, lambda: given.stop.raise_flag("by ana"))
    chosen = options(webhooks=(hook(webhook.WebhookType.CONFIRM_ROLLOUT),))
    state = task_states.TaskState(keeper=keeper)

    if confirmed:
        await carry_out(given, chosen, task_state=state)
        return
    with pytest.raises(execution.StoppedError):
        await carry_out(given, chosen, task_state=state)


async def test_failed_checks_are_remembered_and_the_same_is_not_saved_again() -> None:
    keeper = Remembered({})
    given = world()
    with pytest.raises(execution.StageFailedError):
        await carry_out(
            given,
            options(metrics=(RULE,), threshold=2),
            meter=Meter(0.5),
            task_state=task_states.TaskState(keeper=keeper),
        )
    assert [document["failed"] for document in keeper.saved] == [0, 1, 2]


async def test_clusters_go_up_in_step() -> None:
    once, meeting = single_flight.SingleFlight(), rendezvouses.Rendezvous()
    us, eu = world(), world()
    eu.cluster.put(memory_cluster.deployment("canary", ready=1))
    eu.later(150, lambda: eu.cluster.put(memory_cluster.deployment("canary")))
    for name in ("us", "eu"):
        meeting.join(name)

    async def one(given: World, target: str) -> str:
        try:
            return await carry_out(
                given, options(scope=FLEET), target=target, once=once, rendezvous=meeting
            )
        finally:
            meeting.leave(target)

    await asyncio.gather(one(us, "us"), one(eu, "eu"))

    assert [canaries(each) for each in (us, eu)] == [[0, 20, 40, 60]] * 2
    said = [each.sentence for each in us.report.progress_said]
    assert said[0] == "eu: 1 of 2 canary pods ready"


async def test_by_itself_a_cluster_waits_for_nobody() -> None:
    meeting = rendezvouses.Rendezvous()
    meeting.join("eu")
    given = world()
    await carry_out(given, options(scope=CLUSTER), rendezvous=meeting)
    assert now() == 180


def test_how_traffic_is_divided_at_a_position() -> None:
    match = (BETA,)
    position = progressive_traffic.traffic_steps.Position
    affinity = traffic.SessionAffinity("cookie")
    plain = options(mirror=True, mirror_weight=30, session_affinity=affinity)
    by_request = Options(interval=MINUTE, iterations=5, match=match, session_affinity=affinity)
    divided = progressive_traffic.division.at

    assert divided(plain, position(weight=20), 10) == progressive_traffic.division.Division(
        70, 20, 10, affinity=affinity, interval=MINUTE
    )
    assert divided(plain, position(mirrored=True)).mirror == 30
    assert divided(plain, position(weight=20)).mirror == 0
    assert divided(by_request, position(weight=100)).match == match
    assert divided(by_request, position(weight=100)).primary == 100
    assert divided(by_request, position()).match == ()
    assert divided(by_request, position()).affinity == affinity
    assert divided(by_request, position()).interval == MINUTE


@pytest.mark.parametrize(
    "chosen",
    [
        options(mirror=True),
        Options(interval=MINUTE, iterations=2, match=(BETA,)),
    ],
)
def test_what_the_router_cannot_do_is_refused_before_the_run(chosen: Options) -> None:
    given = World()
    sources = stage_runners.Sources(given.application, given.source)
    progressive_traffic.check(sources, options())
    with pytest.raises(errors.UserError):
        progressive_traffic.check(sources, chosen)


def test_objections_name_the_cluster_where_there_are_several() -> None:
    def report(reason: str) -> progressive_traffic.Report:
        steps = progressive_traffic.traffic_steps
        return progressive_traffic.Report(steps.Position(), steps.Answers(), True, reason)

    objections = progressive_traffic._objections
    assert objections({"us": report("bad")}) == "bad"
    assert objections({"us": report("")}) == ""
    assert objections({"us": report("bad"), "eu": report(""), "a": report("worse")}) == (
        "us: bad; a: worse"
    )
