"""Clusters that hang, that are slow, and many that are lost at once: what holds all the time."""

import asyncio
import dataclasses
import re
from datetime import timedelta

import process_time
import stage_world
from volary.clusters.transport import transports
from volary.engine.observers import feed
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.placement import rollouts
from volary.model.statuses import RunStatus
from wave_invariants import Allowed, watched
from wave_world import NEW, OLD, Reacting, Story, begins, moved, world

QUICK = (
    pipelines.Stage(
        rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(seconds=20)
    ),
)
DEADLINE = timedelta(seconds=1.5)
ONE_UNREACHABLE = Allowed(unreachable=1)
TEN = tuple(f"c-{number}" for number in range(10))


def waves(*groups: tuple[str, ...], **more: object) -> rollouts.Waves:
    """Waves of these clusters, of each of which one may be unreachable."""
    rules = {
        "budget": rollouts.Budget(unreachable=rollouts.Share(1)),
        "on_unreachable": rollouts.OnWaveUnreachable.SKIP,
        **more,
    }
    return rollouts.Waves(
        tuple(
            rollouts.Wave(f"wave-{number}", rollouts.ClusterSelector(names=names), **rules)  # type: ignore[arg-type]
            for number, names in enumerate(groups, start=1)
        )
    )


def lose(given: stage_world.World, names: tuple[str, ...], how: str) -> None:
    for name in names:
        given.running.clusters[name].faults.change({"lost": how})


def seconds(story: Story, stage_id: str, target: str) -> float:
    """How long a cluster took, from the beginning of its stage."""
    assert story.run is not None
    found = story.run.stage(stage_id)
    assert found is not None
    assert found.started is not None
    task = found.task(target)
    assert task is not None
    assert task.finished is not None
    return (task.finished - found.started).total_seconds()


async def hangs(limits: transports.Limits, moment: str) -> tuple[Story, float]:
    """Have eu-1 hang at a moment; returns what was told and how long its wave waited for it."""
    given_waves = waves(("us-1", "us-2"), ("eu-1", "eu-2"), ("asia-1",), progress_deadline=DEADLINE)
    async with world("us-1", "us-2", "eu-1", "eu-2", "asia-1", limits=limits) as given:
        await given.deployed(OLD)
        story = Reacting(begins(moment), lambda _: lose(given, ("eu-1",), "hang"))

        with watched(given, story, allowed=ONE_UNREACHABLE):
            await moved(given, given_waves, stages=QUICK, story=story)

        lose(given, ("eu-1",), "")
        others = {given.images(name) for name in given.names if name != "eu-1"}
        assert others == {"shop:v2 2/2"}
    assert story.run is not None
    assert story.run.status is RunStatus.SUCCEEDED_WITH_EXCEPTIONS
    assert "went on without eu-1 (unreachable: " in story.run.reason
    return story, seconds(story, moment, "eu-1")


async def test_a_cluster_that_hangs_costs_its_place_in_the_budget_and_the_deadline() -> None:
    """It takes connections and answers nothing; a request alone would wait half a minute."""
    assert stage_world.LIMITS.timeout == 30
    story, waited = await hangs(stage_world.LIMITS, "wave-2/1-K8S_SYNC")

    assert story.run is not None
    assert "timed out after " in story.run.reason
    assert "no answer in time" in story.run.reason
    assert DEADLINE.total_seconds() <= waited < 4


async def test_a_cluster_that_hangs_before_its_proof_is_waited_for_as_long_as_requests_are() -> (
    None
):
    """Soaking has no deadline of its own: the tries of a request bound it, scaled down here."""
    limits = dataclasses.replace(stage_world.LIMITS, timeout=0.2)
    _, waited = await hangs(limits, "wave-2/2-WAVE_GATE")

    assert waited < 4


async def test_five_of_ten_are_lost_at_once_and_the_budget_stops_the_run() -> None:
    """Nothing is deleted anywhere, no later wave begins, and the sentence says why."""
    given_waves = waves(TEN[:1], TEN[1:9], TEN[9:], on_failure=rollouts.OnWaveFailure.STOP)
    async with world(*TEN) as given:
        await given.deployed(OLD)
        gone = TEN[2:7]
        story = Reacting(begins("wave-2/1-K8S_SYNC"), lambda _: lose(given, gone, "refuse"))

        with watched(given, story, allowed=ONE_UNREACHABLE):
            await moved(given, given_waves, stages=QUICK, story=story)

        assert story.run is not None
        assert story.run.status is RunStatus.FAILED
        # Two are enough; who was only told to stop then is not among them.
        said = re.search(r"wave-2: (\d) unreachable, 1 may be; c-[2-6]: ", story.run.reason)
        assert said is not None, story.run.reason
        assert 2 <= int(said[1]) <= 5
        assert not [each for each, _ in story.started() if each.startswith("wave-3")]
        lose(given, gone, "")
        assert given.images(TEN[0]) == "shop:v2 2/2"
        assert {given.images(name) for name in (*gone, TEN[9])} == {"shop:v1 2/2"}
        assert all(given.count(name, "Deployment") == 1 for name in TEN)


async def test_forty_nine_do_not_wait_for_a_slow_fiftieth_beyond_the_deadline() -> None:
    """No call ends in time: its wave goes on without it when its time is over.

    How long that is follows from how long this machine takes for fifty quick ones just now.
    """
    names = tuple(f"c-{number:02}" for number in range(50))
    slow = "c-17"
    async with world(*names) as given:
        begin = asyncio.get_running_loop().time()
        await given.deployed(OLD)
        deadline = max(3.0, 4 * (asyncio.get_running_loop().time() - begin))
        stages = (dataclasses.replace(QUICK[0], timeout=timedelta(seconds=4 * deadline)),)
        given_waves = waves(names, progress_deadline=timedelta(seconds=deadline))
        faults = given.running.clusters[slow].faults
        faults.change({"latency": f"{10 * deadline:.0f}s"})
        story = Story()

        with watched(given, story, allowed=ONE_UNREACHABLE):
            await moved(given, given_waves, stages=stages, story=story)

        assert story.run is not None
        assert [each.name for each in story.run.clusters if each.left_out] == [slow]
        # It is quick again, so that what it was asked is answered before it goes.
        faults.clear()
        await asyncio.sleep(0.1)
        assert {given.images(name) for name in names if name != slow} == {"shop:v2 2/2"}
        others = [seconds(story, "wave-1/1-K8S_SYNC", name) for name in names if name != slow]
        waited = seconds(story, "wave-1/1-K8S_SYNC", slow)
        assert max(others) < waited < 2 * deadline


async def test_an_application_does_not_wait_for_a_cluster_that_only_another_one_is_on() -> None:
    """Both are released at once with the same clients; only the first one has the dead cluster."""
    async with world("us", "eu", "asia") as given:
        await given.deployed(OLD)
        there = _on(given, "us", "asia")
        await there.deployed(OLD)
        lose(given, ("eu",), "hang")
        first, second = Story(), Story()
        deadline = timedelta(seconds=2)

        with (
            watched(given, first, allowed=ONE_UNREACHABLE),
            watched(there, second, application="pay"),
        ):
            async with asyncio.timeout(process_time.HANG), asyncio.TaskGroup() as group:
                everywhere = waves(("us", "eu", "asia"), progress_deadline=deadline)
                group.create_task(moved(given, everywhere, stages=QUICK, story=first))
                group.create_task(moved(there, waves(("us", "asia")), stages=QUICK, story=second))

        assert first.run is not None
        assert second.run is not None
        assert [each.name for each in first.run.clusters if each.left_out] == ["eu"]
        assert second.run.status is RunStatus.SUCCEEDED
        assert first.run.finished is not None
        assert second.run.finished is not None
        # It was done with all of its stages while the other one still waited for its first.
        (late,) = [
            each.at
            for each in first.told
            if isinstance(each, feed.TaskFinished) and each.target == "eu" and "SYNC" in each.stage
        ]
        assert second.run.finished < late
        assert {there.images(name, "pay") for name in there.names} == {"pay:v2 2/2"}


def _on(given: stage_world.World, *names: str) -> stage_world.World:
    """Another application on some of the clusters, carried out with the same clients."""
    sources = {
        commit: [
            stage_world.made(
                stage_world.deployment(f"pay:{version}", name="pay", app="pay"), "pay.yaml"
            ),
            stage_world.made({**stage_world.service(app="pay"), "metadata": {"name": "pay"}}),
        ]
        for commit, version in ((OLD, "v1"), (NEW, "v2"))
    }
    running = dataclasses.replace(
        given.running, clusters={name: given.running.clusters[name] for name in names}
    )
    application = dataclasses.replace(given.application, name="pay")
    return dataclasses.replace(
        given, running=running, application=application, sources=sources, reports={}, stops={}
    )
