"""Waves under faults: what runs where in the end, and who was waited for."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from stage_world import World
from volary.engine.observers import feed
from volary.engine.state_machine import events
from volary.model import json
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, waiting_stages
from volary.model.placement import rollouts
from volary.model.statuses import RunStatus
from wave_invariants import Allowed, watched
from wave_world import OLD, Clock, Reacting, Story, begins, moved, world

SIX = ("us-1", "us-2", "eu-1", "eu-2", "asia-1", "asia-2")
#: Every wave of two of them.
PAIRS = (SIX[:2], SIX[2:4], SIX[4:])
QUICK = (
    pipelines.Stage(
        rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(seconds=8)
    ),
)
ONE_UNREACHABLE = rollouts.Budget(unreachable=rollouts.Share(1))
ONE_FAILS = rollouts.Budget(failures=rollouts.Share(1))
ONE_LOST, ONE_FAILED = Allowed(unreachable=1), Allowed(failures=1)


def in_pairs(**more: object) -> rollouts.Waves:
    rules = {
        "budget": ONE_UNREACHABLE,
        "on_unreachable": rollouts.OnWaveUnreachable.SKIP,
        **more,
    }
    return rollouts.Waves(
        tuple(
            rollouts.Wave(f"wave-{number}", rollouts.ClusterSelector(names=names), **rules)  # type: ignore[arg-type]
            for number, names in enumerate(PAIRS, start=1)
        )
    )


@pytest.mark.parametrize(
    "moment",
    ["wave-1/1-K8S_SYNC", "wave-2/1-K8S_SYNC", "wave-2/2-WAVE_GATE", "wave-3/1-K8S_SYNC"],
)
async def test_a_cluster_is_lost_before_during_and_after_its_turn(moment: str) -> None:
    """Whenever eu-1 of the second wave is lost, all others get the release and it is named."""
    async with world(*SIX) as given:
        await given.deployed(OLD)
        faults = given.running.clusters["eu-1"].faults
        story = Reacting(begins(moment), lambda _: faults.change({"lost": "refuse"}))

        with watched(given, story, allowed=ONE_LOST):
            await moved(given, in_pairs(), stages=QUICK, story=story)

        run = story.run
        assert run is not None
        faults.change({"lost": ""})
        others = [name for name in SIX if name != "eu-1"]
        assert {given.images(name) for name in others} == {"shop:v2 2/2"}, run.reason
        if moment.startswith("wave-3"):
            # Its turn is over: it was proven healthy on this release.
            assert run.status is RunStatus.SUCCEEDED, run.reason
        else:
            assert run.status is RunStatus.SUCCEEDED_WITH_EXCEPTIONS
            assert "went on without eu-1 (unreachable: " in run.reason
            assert [each.name for each in run.clusters if each.left_out] == ["eu-1"]


async def test_a_lost_cluster_costs_nothing_where_the_budget_has_no_place_for_it() -> None:
    """Two of a wave are lost, one may be: the wave is rolled back, and what is lost is named."""
    waves = in_pairs(on_failure=rollouts.OnWaveFailure.ROLLBACK_WAVE)
    async with world(*SIX) as given:
        await given.deployed(OLD)
        for name in ("eu-1", "eu-2"):
            given.running.clusters[name].faults.change({"lost": "refuse"})
        story = Story()

        with watched(given, story, allowed=ONE_LOST):
            await moved(given, waves, stages=QUICK, story=story)

        assert story.run is not None
        assert story.run.status is RunStatus.FAILED
        assert {given.images(name) for name in PAIRS[0]} == {"shop:v2 2/2"}
        assert {given.images(name) for name in PAIRS[2]} == {"shop:v1 2/2"}
        assert not [each for each, _ in story.started() if each.startswith("wave-3")]


async def test_a_cluster_that_came_back_with_an_older_release_is_no_proof() -> None:
    """Between its turn and the wave's end eu-1 is lost, and restored from yesterday."""
    async with world(*SIX) as given:
        await given.deployed(OLD)
        yesterday = given.get("eu-1", "Deployment", "shop")
        faults = given.running.clusters["eu-1"].faults
        # The other one of its wave takes longer, so that there is time for it.
        given.running.clusters["eu-2"].faults.change({"latency": "150ms"})

        def lose(_: Reacting) -> None:
            faults.change({"lost": "refuse"})
            restore(given, "eu-1", yesterday)
            asyncio.get_running_loop().call_later(0.3, faults.change, {"lost": ""})

        story = Reacting(ends("wave-2/1-K8S_SYNC", "eu-1"), lose)
        with watched(given, story, allowed=ONE_FAILED):
            await moved(given, in_pairs(budget=ONE_FAILS), stages=QUICK, story=story)

        assert story.run is not None
        assert story.run.status is RunStatus.SUCCEEDED_WITH_EXCEPTIONS
        proof = story.run.stage("wave-2/2-WAVE_GATE")
        assert proof is not None
        task = proof.task("eu-1")
        assert task is not None
        assert "not of this release" in task.reason
        assert given.images("eu-1") == "shop:v1 2/2"


def ends(stage_id: str, target: str) -> Callable[[feed.RunEvent], bool]:
    return lambda event: (
        isinstance(event, feed.TaskFinished) and (event.stage, event.target) == (stage_id, target)
    )


def restore(given: World, target: str, body: json.JsonObject) -> None:
    """When: somebody brings a Deployment back from a backup, in the cluster itself."""
    registry = given.running.clusters[target].registry
    now = given.get(target, "Deployment", "shop")["metadata"]["resourceVersion"]
    metadata = {**body["metadata"], "resourceVersion": now}
    kind = registry.kind_of(body)
    registry.update(kind, "default", "shop", {**body, "metadata": metadata})


async def test_a_cluster_that_answers_reads_but_not_writes_is_a_failure_of_its_own() -> None:
    async with world(*SIX) as given:
        await given.deployed(OLD)
        given.running.clusters["eu-1"].faults.change(
            {"denied": ["patch *", "create *", "update *", "delete *"]}
        )
        story = Story()

        with watched(given, story, allowed=ONE_FAILED):
            await moved(given, in_pairs(budget=ONE_FAILS), stages=QUICK, story=story)

        assert story.run is not None
        assert story.run.status is RunStatus.SUCCEEDED_WITH_EXCEPTIONS
        assert "went on without eu-1 (failed: " in story.run.reason
        assert "may not" in story.run.reason or "forbidden" in story.run.reason.lower()
        assert given.images("eu-1") == "shop:v1 2/2"
        assert {given.images(name) for name in SIX if name != "eu-1"} == {"shop:v2 2/2"}


async def test_rejected_at_the_gate_of_a_wave() -> None:
    """The wave goes back; the one before it keeps the release, the one after it never starts."""
    approval = rollouts.Gate(waiting_stages.ApprovalOptions(("ana", "bo"), 2))
    waves = in_pairs(on_failure=rollouts.OnWaveFailure.ROLLBACK_WAVE)
    gated = rollouts.Waves(
        (
            waves.waves[0],
            rollouts.Wave(
                "wave-2",
                waves.waves[1].targets,
                gate=approval,
                on_failure=rollouts.OnWaveFailure.ROLLBACK_WAVE,
            ),
            waves.waves[2],
        )
    )
    async with world(*SIX) as given:
        await given.deployed(OLD)

        def decide(story: Reacting) -> None:
            assert story.runner is not None
            story.runner.submit(events.Approve(Clock().now(), "ana"))
            story.runner.submit(events.Reject(Clock().now(), "bo", "too slow"))

        story = Reacting(lambda event: isinstance(event, feed.StageWaiting), decide)
        with watched(given, story):
            await moved(given, gated, stages=QUICK, story=story)

        assert story.run is not None
        assert story.run.status is RunStatus.FAILED
        assert "rejected by bo: too slow" in story.run.reason
        assert {given.images(name) for name in PAIRS[0]} == {"shop:v2 2/2"}
        assert {given.images(name) for name in SIX[2:]} == {"shop:v1 2/2"}


async def test_a_window_closes_over_a_wave_and_the_way_back_is_open() -> None:
    """eu may not be changed now: the others are, the run waits, and a cancel takes them back."""
    always = rollouts.Window("freeze", "* * * * *", timedelta(hours=2))
    waves = rollouts.Waves(
        (rollouts.Wave("all"),),
        windows=rollouts.Windows(
            deny=(rollouts.ClusterWindow(always, rollouts.ClusterSelector(names=("eu",))),)
        ),
    )
    async with world("us", "eu") as given:
        await given.deployed(OLD)
        seen: list[str] = []

        def give_up(story: Reacting) -> None:
            seen.extend(given.images(name) for name in given.names)
            assert story.runner is not None
            story.runner.submit(events.Cancel(Clock().now(), "ana", rollback=True))

        story = Reacting(
            lambda event: isinstance(event, feed.RunChanged) and event.status is RunStatus.WAITING,
            give_up,
        )
        with watched(given, story):
            await moved(given, waves, stages=QUICK, story=story)

        assert seen == ["shop:v2 2/2", "shop:v1 2/2"]
        (told,) = {
            each.reason
            for each in story.told
            if isinstance(each, feed.RunChanged) and each.status is RunStatus.WAITING
        }
        assert "eu waits until" in told
        assert "(denied by freeze)" in told
        assert story.run is not None
        assert story.run.status is RunStatus.ROLLED_BACK
        assert {given.images(name) for name in given.names} == {"shop:v1 2/2"}
