"""What a wave may do is withdrawn while it is under way: an approval, the time for it."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

import engine_fixtures
import process_time
from volary.engine.observers import feed
from volary.engine.state_machine import events
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, waiting_stages
from volary.model.placement import rollouts
from volary.model.statuses import RunStatus
from wave_invariants import watched
from wave_world import OLD, Clock, Reacting, Story, moved, starts, world

NAMES = ("us", "eu-1", "eu-2", "eu-3")
PATIENT = (
    pipelines.Stage(
        rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(minutes=5)
    ),
)
V1, V2 = "shop:v1 2/2", "shop:v2 2/2"


class Shifted(Clock):
    """A clock that stands elsewhere, and can be put forward."""

    def __init__(self, at: datetime) -> None:
        self._ahead = at - super().now()

    def now(self) -> datetime:
        return super().now() + self._ahead

    def put(self, at: datetime) -> None:
        assert at > self.now(), "it never goes back"
        self._ahead += at - self.now()


async def test_a_window_that_closes_in_mid_wave_lets_finish_what_runs_and_begins_nothing() -> None:
    """A freeze begins while the first of three is under way: the others come after it."""
    if engine_fixtures.settings().temporal is not None:
        pytest.skip("the freeze comes by the test's clock; with Temporal its service's counts")
    noon = datetime(2026, 11, 20, 12, tzinfo=UTC)
    lasting = timedelta(seconds=1)
    clock = Shifted(noon - timedelta(seconds=40))
    lunch = rollouts.Window("lunch", "0 12 * * *", lasting)
    waves = rollouts.Waves(
        (
            rollouts.Wave("first", rollouts.ClusterSelector(names=("us",))),
            rollouts.Wave("rest", max_concurrency=rollouts.Share(1)),
        ),
        windows=rollouts.Windows(deny=(rollouts.ClusterWindow(lunch, None),)),
    )
    async with world(*NAMES) as given:
        await given.deployed(OLD)
        frozen: list[str] = []

        def close(story: Reacting) -> None:
            clock.put(noon)

            def look(event: feed.RunEvent) -> None:
                if isinstance(event, feed.RunChanged) and event.status is RunStatus.WAITING:
                    frozen.extend(given.images(name) for name in given.names)

            story.heard_by.append(look)

        story = Reacting(starts("rest/1-K8S_SYNC", "eu-1"), close)
        with watched(given, story):
            await moved(given, waves, stages=PATIENT, story=story, clock=clock)

        assert frozen == [V2, V2, V1, V1]
        (told,) = {
            each.reason
            for each in story.told
            if isinstance(each, feed.RunChanged) and each.status is RunStatus.WAITING
        }
        assert "eu-2 and eu-3 wait until" in told
        assert "(denied by lunch)" in told
        assert not [
            (each.stage, each.target)
            for each in story.told
            if isinstance(each, feed.TaskStarted) and noon <= each.at < noon + lasting
        ]
        assert story.run is not None
        assert story.run.status is RunStatus.SUCCEEDED, story.run.reason
        assert {given.images(name) for name in NAMES} == {V2}


class Waiting(Story):
    """Says when the run waits for people."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = asyncio.Event()

    def notify(self, event: feed.RunEvent) -> None:
        super().notify(event)
        if isinstance(event, feed.StageWaiting):
            self.waits.set()


async def test_an_approval_that_is_withdrawn_holds_the_next_wave_up_again() -> None:
    """Two of three have to agree: ana did and thought better of it, so bo alone opens nothing."""
    approval = rollouts.Gate(waiting_stages.ApprovalOptions(("ana", "bo", "cy"), 2))
    waves = rollouts.Waves(
        (
            rollouts.Wave("first", rollouts.ClusterSelector(names=("us",)), gate=approval),
            rollouts.Wave("rest"),
        )
    )
    async with world(*NAMES) as given:
        await given.deployed(OLD)
        story = Waiting()

        async def decide() -> None:
            await story.waits.wait()
            assert story.runner is not None
            for event in (
                events.Approve(Clock().now(), "ana", "looks good"),
                events.Withdraw(Clock().now(), "ana", "the shop is slow"),
                events.Approve(Clock().now(), "bo"),
            ):
                assert not await story.runner.request(event)
            await asyncio.sleep(0.2)
            assert story.runner.run.status is RunStatus.WAITING
            assert [given.images(name) for name in NAMES] == [V2, V1, V1, V1]
            assert not await story.runner.request(events.Approve(Clock().now(), "cy"))
            late = await story.runner.request(events.Withdraw(Clock().now(), "cy"))
            assert late.startswith("too late: ")

        with watched(given, story):
            async with asyncio.timeout(process_time.HANG), asyncio.TaskGroup() as group:
                group.create_task(decide())
                group.create_task(moved(given, waves, stages=PATIENT, story=story))

        assert story.run is not None
        assert story.run.status is RunStatus.SUCCEEDED, story.run.reason
        assert {given.images(name) for name in NAMES} == {V2}
