"""Waves over sandbox clusters: what runs where while a release moves, and what a failure costs."""

import asyncio
from datetime import timedelta

import pytest

from volary.engine.observers import feed
from volary.model import errors
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind
from volary.model.placement import rollouts
from volary.model.statuses import RunStatus, TaskStatus
from wave_invariants import Allowed, watched
from wave_world import NEW, OLD, Story, moved, world

SIX = ("us-1", "us-2", "eu-1", "eu-2", "asia-1", "asia-2")
FIRST = rollouts.Wave("first", size=rollouts.Share(1))
REST = rollouts.Wave("rest")


def in_waves(*waves: rollouts.Wave, **more: object) -> rollouts.Waves:
    return rollouts.Waves(waves, **more)  # type: ignore[arg-type]


async def test_the_second_wave_waits_until_the_first_has_soaked() -> None:
    soaking = rollouts.Wave("first", size=rollouts.Share(2), soak=timedelta(seconds=1))
    async with world(*SIX) as given:
        await given.deployed(OLD)
        seen: list[tuple[str, ...]] = []

        class Watcher(Story):
            def notify(self, event: feed.RunEvent) -> None:
                super().notify(event)
                if isinstance(event, feed.TaskStarted) and event.stage.startswith("rest/"):
                    seen.append(tuple(given.images(name) for name in ("us-1", "us-2")))

        story = Watcher()
        with watched(given, story):
            await moved(given, in_waves(soaking, REST), story=story)

        assert story.run is not None
        assert story.run.status is RunStatus.SUCCEEDED, story.run.reason
        assert {given.images(name) for name in SIX} == {"shop:v2 2/2"}
        assert seen
        assert set(seen) == {("shop:v2 2/2", "shop:v2 2/2")}
        gate = story.run.stage("first/2-WAVE_GATE")
        assert gate is not None
        assert gate.finished is not None
        assert gate.started is not None
        assert gate.finished - gate.started >= timedelta(seconds=1)
        order = [stage_id.split("/")[0] for stage_id, _ in story.started()]
        assert order == sorted(order, key=("first", "rest").index)


async def test_a_failure_within_the_budget_is_taken_back_and_the_others_go_on() -> None:
    lenient = rollouts.Wave("rest", budget=rollouts.Budget(failures=rollouts.Share(1)))
    async with world(*SIX) as given:
        await given.deployed(OLD)
        given.running.clusters["eu-1"].faults.images.add("shop:v2", "bad")

        story = Story()
        with watched(given, story, allowed=Allowed(failures=1)):
            await moved(given, in_waves(FIRST, lenient), story=story)

        assert story.run is not None
        assert story.run.status is RunStatus.SUCCEEDED_WITH_EXCEPTIONS
        assert "went on without eu-1 (failed: " in story.run.reason
        assert "rollback verified" in story.run.reason
        assert given.images("eu-1") == "shop:v1 2/2"
        assert {given.images(name) for name in SIX if name != "eu-1"} == {"shop:v2 2/2"}


async def test_one_failure_more_takes_the_wave_back_and_no_other() -> None:
    careful = rollouts.Wave(
        "rest",
        budget=rollouts.Budget(failures=rollouts.Share(1)),
        on_failure=rollouts.OnWaveFailure.ROLLBACK_WAVE,
    )
    async with world(*SIX) as given:
        await given.deployed(OLD)
        for name in ("eu-1", "asia-2"):
            given.running.clusters[name].faults.images.add("shop:v2", "bad")

        story = Story()
        with watched(given, story, allowed=Allowed(failures=1)):
            await moved(given, in_waves(FIRST, careful), story=story)

        assert story.run is not None
        assert story.run.status is RunStatus.FAILED
        assert story.run.reason.endswith("us-1 keeps the new release")
        assert given.images("us-1") == "shop:v2 2/2"
        assert {given.images(name) for name in SIX[1:]} == {"shop:v1 2/2"}


async def test_all_waves_are_taken_back_the_last_one_first() -> None:
    async with world("us-1", "us-2", "eu-1") as given:
        await given.deployed(OLD)
        given.running.clusters["eu-1"].faults.images.add("shop:v2", "bad")
        waves = in_waves(
            rollouts.Wave("first", size=rollouts.Share(1)),
            rollouts.Wave("second", size=rollouts.Share(1)),
            rollouts.Wave("third"),
        )

        story = Story()
        with watched(given, story):
            await moved(given, waves, story=story)

        assert story.run is not None
        assert story.run.status is RunStatus.ROLLED_BACK
        back = [name for stage_id, name in story.started() if stage_id == "rollback"]
        assert back == ["eu-1", "us-2", "us-1"]
        assert {given.images(name) for name in given.names} == {"shop:v1 2/2"}


async def test_no_more_clusters_than_allowed_are_worked_on_at_once() -> None:
    narrow = rollouts.Wave("all", max_concurrency=rollouts.Share(34, is_percentage=True))
    async with world(*SIX) as given:
        await given.deployed(OLD)

        class Counter(Story):
            running = 0
            most = 0

            def notify(self, event: feed.RunEvent) -> None:
                super().notify(event)
                if getattr(event, "stage", "").endswith("K8S_SYNC"):
                    self.running += isinstance(event, feed.TaskStarted)
                    self.running -= isinstance(event, feed.TaskFinished)
                    self.most = max(self.most, self.running)

        story = Counter()
        await moved(given, in_waves(narrow), story=story)

        assert story.run is not None
        assert story.run.status is RunStatus.SUCCEEDED
        assert story.most == 2


async def test_a_lost_cluster_is_waited_for_and_caught_up_when_it_returns() -> None:
    patient = rollouts.Wave(
        "all",
        budget=rollouts.Budget(unreachable=rollouts.Share(1)),
        on_unreachable=rollouts.OnWaveUnreachable.WAIT,
    )
    async with world("us", "eu") as given:
        await given.deployed(OLD)
        lost = given.running.clusters["eu"].faults
        lost.change({"lost": "refuse"})

        class Returner(Story):
            def notify(self, event: feed.RunEvent) -> None:
                super().notify(event)
                if isinstance(event, feed.TaskFinished) and event.target == "us":
                    asyncio.get_running_loop().call_later(1.0, lambda: lost.change({"lost": ""}))

        story = Returner()
        with watched(given, story, allowed=Allowed(unreachable=1)):
            await moved(given, in_waves(patient), story=story)

        assert story.run is not None
        assert story.run.status is RunStatus.SUCCEEDED, story.run.reason
        assert given.images("eu") == "shop:v2 2/2"


async def test_a_skipped_lost_cluster_costs_the_others_no_time() -> None:
    skipping = rollouts.Wave(
        "all",
        budget=rollouts.Budget(unreachable=rollouts.Share(1)),
        on_unreachable=rollouts.OnWaveUnreachable.SKIP,
    )
    async with world("us", "eu", "asia") as given:
        await given.deployed(OLD)
        given.running.clusters["eu"].faults.change({"lost": "refuse"})

        story = Story()
        with watched(given, story, allowed=Allowed(unreachable=1)):
            await moved(given, in_waves(skipping), story=story)

        assert story.run is not None
        assert story.run.status is RunStatus.SUCCEEDED_WITH_EXCEPTIONS
        assert "went on without eu (unreachable: " in story.run.reason
        assert given.images("us") == given.images("asia") == "shop:v2 2/2"
        first = next(each for each in story.run.stages if each.id == "all/1-K8S_SYNC")
        task = first.task("eu")
        assert task is not None
        assert task.status is TaskStatus.UNREACHABLE


async def test_canary_everywhere_first_then_promotion_in_waves() -> None:
    stages = (
        pipelines.Stage(
            rollout_stages.CANARY_ROLLOUT.name,
            rollout_stages.VariantRolloutOptions(replicas=rollout_stages.Replicas(1)),
            timeout=timedelta(seconds=20),
        ),
        pipelines.Stage(
            rollout_stages.PRIMARY_ROLLOUT.name,
            rollout_stages.PrimaryRolloutOptions(),
            timeout=timedelta(seconds=20),
        ),
        pipelines.Stage(
            rollout_stages.CANARY_CLEAN.name,
            stage_kind.NoOptions(),
            timeout=timedelta(seconds=20),
        ),
    )
    async with world("us", "eu") as given:
        await given.deployed(OLD)

        story = await moved(
            given, in_waves(FIRST, REST, over=rollouts.WavesOver.STAGE), stages=stages
        )

        assert story.run is not None
        assert story.run.status is RunStatus.SUCCEEDED, story.run.reason
        assert [stage_id for stage_id, _ in story.started()] == [
            "first/1-K8S_CANARY_ROLLOUT",
            "rest/1-K8S_CANARY_ROLLOUT",
            "first/2-K8S_PRIMARY_ROLLOUT",
            "first/4-WAVE_GATE",
            "rest/2-K8S_PRIMARY_ROLLOUT",
            "rest/4-WAVE_GATE",
            "first/3-K8S_CANARY_CLEAN",
            "rest/3-K8S_CANARY_CLEAN",
        ]


async def test_a_cluster_in_no_wave_is_named_and_nothing_starts() -> None:
    async with world("us", "eu") as given:
        await given.deployed(OLD)

        with pytest.raises(errors.UserError, match="eu is in no wave"):
            await moved(given, in_waves(FIRST))

        assert given.images("eu") == given.images("us") == "shop:v1 2/2"
        assert NEW not in str(given.get("us", "Deployment", "shop")["metadata"]["annotations"])
