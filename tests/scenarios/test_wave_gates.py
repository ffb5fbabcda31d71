"""What has to hold at the end of a wave, and what a person ends before its time."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import memory_journal
import process_time
from stage_world import World
from volary.engine.execution import runners
from volary.engine.observers import feed
from volary.engine.runs import rollback, state
from volary.engine.state_machine import events
from volary.model.objects import manifest
from volary.model.placement import rollouts
from volary.model.statuses import RunStatus, TaskStatus
from volary.stages import executor as stage_executor
from wave_world import NEW, OLD, Clock, Story, moved, world

PAIR = ("us", "eu")
FIRST = rollouts.Share(1)


def waves(soak: timedelta) -> rollouts.Waves:
    return rollouts.Waves((rollouts.Wave("first", size=FIRST, soak=soak), rollouts.Wave("rest")))


class Soaking(Story):
    """Says when the first wave begins to soak."""

    def __init__(self) -> None:
        super().__init__()
        self.soaks = asyncio.Event()

    def notify(self, event: feed.RunEvent) -> None:
        super().notify(event)
        if isinstance(event, feed.TaskProgressed) and "to go" in event.sentence:
            self.soaks.set()


async def meanwhile(
    given: World, soak: timedelta, happens: Callable[[Story], Awaitable[object]]
) -> state.Run:
    """When something happens while the first wave soaks."""
    story = Soaking()

    async def later() -> None:
        await story.soaks.wait()
        await happens(story)

    async with asyncio.timeout(process_time.HANG), asyncio.TaskGroup() as group:
        group.create_task(later())
        group.create_task(moved(given, waves(soak), story=story))
    assert story.run is not None
    return story.run


def gate(run: state.Run) -> state.TaskState:
    found = run.stage("first/2-WAVE_GATE")
    task = found.task("us") if found else None
    assert task is not None
    return task


async def test_another_release_brought_during_the_soak_is_not_this_one() -> None:
    async with world(*PAIR) as given:
        await given.deployed(OLD)

        async def overwrite(_: Story) -> None:
            await given.deployed(OLD, targets=("us",))

        run = await meanwhile(given, timedelta(seconds=1), overwrite)

        assert run.status is RunStatus.ROLLED_BACK, run.reason
        assert "not of this release" in gate(run).reason
        assert given.images("eu") == "shop:v1 2/2"


async def test_a_commit_that_changes_nothing_passes_the_gate() -> None:
    """The workloads say which commit changed them last, and are what this one says."""
    async with world(*PAIR) as given:
        await given.deployed(OLD)
        given.sources[NEW] = given.sources[OLD]
        before = given.get("us", "Deployment", "shop")["metadata"]

        story = await moved(given, waves(timedelta(seconds=0.1)))

        assert story.run is not None
        assert story.run.status is RunStatus.SUCCEEDED, story.run.reason
        after = given.get("us", "Deployment", "shop")["metadata"]
        assert after["resourceVersion"] == before["resourceVersion"]


async def test_a_break_begins_the_soak_again_and_is_told() -> None:
    async with world(*PAIR) as given:
        await given.deployed(OLD)

        async def lose_its_pods(_: Story) -> None:
            cluster = given.running.clusters["us"]
            kind = cluster.registry.kind("v1", "Pod")
            for each in cluster.view.list("Pod", "default"):
                cluster.registry.delete(kind, "default", each["metadata"]["name"])

        run = await meanwhile(given, timedelta(seconds=1), lose_its_pods)

        assert run.status is RunStatus.SUCCEEDED, run.reason
        assert gate(run).reason == "healthy on this release for 1s; the soak began again 1 time"
        assert any("did not stay healthy" in line for line in gate(run).details)


async def test_a_promotion_ends_a_long_soak_and_the_cluster_is_seen_once_more() -> None:
    async with world(*PAIR) as given:
        await given.deployed(OLD)

        async def promote(story: Story) -> None:
            assert story.runner is not None
            event = events.PromoteWave(Clock().now(), "ana", "the fix is urgent")
            assert not await story.runner.request(event)

        run = await meanwhile(given, timedelta(hours=1), promote)

        assert run.status is RunStatus.SUCCEEDED, run.reason
        assert (gate(run).attempt, gate(run).status) == (2, TaskStatus.SUCCEEDED)
        assert run.reason.endswith("(wave first promoted by ana: the fix is urgent)")
        assert {given.images(name) for name in PAIR} == {"shop:v2 2/2"}


async def test_a_release_that_is_done_goes_back_the_last_wave_first() -> None:
    names = ("us", "eu", "asia")
    async with world(*names) as given:
        await given.deployed(OLD)
        done = await moved(given, waves(timedelta()))
        assert done.run is not None
        assert {given.images(name) for name in names} == {"shop:v2 2/2"}

        story = Story()

        async def render(commit: str, _: str) -> list[manifest.Manifest]:
            return given.sources[commit]

        back = rollback.rollback_run(done.run, "run-2", "rolled back by ana", Clock().now())
        carrying = stage_executor.ClusterExecutor(
            given.application, given.clients, render, Clock(), given.options
        )
        kept = memory_journal.MemoryJournal()
        ended = await runners.Runner(
            back, carrying, clock=Clock(), keeper=kept, observers=(story,)
        ).carry_out()

        assert ended.status is RunStatus.SUCCEEDED, ended.reason
        assert ended.reason == "rolled back by ana; rollback verified on eu, asia and us"
        assert [target for _, target in story.started()] == ["eu", "asia", "us"]
        assert {given.images(name) for name in names} == {"shop:v1 2/2"}
