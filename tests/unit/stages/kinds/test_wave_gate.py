"""A wave is over when its clusters run this release and stay healthy: in virtual time."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import memory_cluster
import stage_contexts
from memory_world import SHOP, World, now
from volary.manifests.ownership import tracking
from volary.model import json
from volary.model.objects import object_health
from volary.model.pipeline.stage_kinds import added_stages
from volary.stages.kinds import wave_gate
from volary.stages.runtime import execution, rendezvouses, task_states

pytestmark = pytest.mark.looptime


def running(commit: str = "new", *, ready: int = 2, since: str = "") -> json.JsonObject:
    body = memory_cluster.deployment("primary", ready=ready)
    body["metadata"]["annotations"] = {tracking.COMMIT: commit}
    if since:
        body["status"]["conditions"] = [
            {"type": "Progressing", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"},
            {"type": "Available", "status": "True", "lastTransitionTime": since},
        ]
    return body


class Gate(World):
    """A cluster of a wave."""

    async def open(
        self,
        soak: float = 0,
        *,
        seconds: float = 1000,
        known: json.JsonObject | None = None,
        **given: Any,
    ) -> str:
        async def source() -> Any:
            return self.source

        self.keeper = task_states.InProcessStore()
        self.state = task_states.TaskState(keeper=self.keeper)
        if known:
            await self.state.save(known)
        work = self.work(seconds, target_source=source, task_state=self.state, **given)
        options = added_stages.WaveGateOptions(timedelta(seconds=soak))
        return await wave_gate.run(work, options)


def world(body: json.JsonObject | None = None) -> Gate:
    given = Gate()
    given.cluster.put(body or running())
    return given


async def test_without_a_soak_it_opens_at_once() -> None:
    given = world()
    assert await given.open() == "healthy on this release"
    assert now() == 0
    assert given.cluster.writes == []


async def test_the_soak_is_as_long_as_it_says() -> None:
    given = world()
    assert await given.open(90) == "healthy on this release for 1m30s"
    assert now() == pytest.approx(90)
    assert (await given.state.load())["since"] == stage_contexts.START.isoformat()


@pytest.mark.parametrize(
    ("commit", "said"),
    [
        ("0123456789", "Deployment default/shop is of 0123456, not of this release (new)"),
        ("", "Deployment default/shop is of an unknown commit, not of this release (new)"),
    ],
)
async def test_another_release_does_not_count(commit: str, said: str) -> None:
    with pytest.raises(execution.StageFailedError) as failed:
        await world(running(commit)).open()
    assert str(failed.value) == said


async def test_a_workload_that_is_not_there_does_not_count() -> None:
    given = world()
    given.cluster.remove("Deployment", "shop")
    with pytest.raises(execution.StageFailedError, match="Deployment default/shop is not there"):
        await given.open()


async def test_the_release_is_looked_at_again_after_the_soak() -> None:
    given = world()
    given.later(30, lambda: given.cluster.put(running("older")))
    with pytest.raises(execution.StageFailedError, match="not of this release"):
        await given.open(60)


@pytest.mark.parametrize(("breaks", "said"), [(1, "1 time"), (2, "2 times")])
async def test_a_soak_begins_again_after_each_break(breaks: int, said: str) -> None:
    given = world()
    for number in range(breaks):
        given.later(30 + 40 * number, lambda: given.cluster.put(running(ready=0)))
        given.later(40 + 40 * number, lambda: given.cluster.put(running()))

    found = await given.open(60)

    assert found == f"healthy on this release for 1m; the soak began again {said}"
    assert now() == pytest.approx(40 * breaks + 60, abs=2)
    assert len(given.report.warnings) == breaks
    assert given.report.warnings[0].endswith("; the soak begins again")
    since = datetime.fromisoformat((await given.state.load())["since"])
    assert since - stage_contexts.START == pytest.approx(
        timedelta(seconds=40 * breaks), abs=timedelta(seconds=2)
    )


async def test_without_time_left_it_fails() -> None:
    with pytest.raises(execution.StageFailedError) as failed:
        await world().open(100, seconds=99)
    assert str(failed.value) == "there is no time left to be healthy for 1m40s"


async def test_without_time_left_after_a_break_that_is_said() -> None:
    given = world()
    given.later(30, lambda: given.cluster.put(running(ready=0)))
    given.later(40, lambda: given.cluster.put(running()))
    with pytest.raises(execution.StageFailedError) as failed:
        await given.open(60, seconds=90)
    assert str(failed.value).endswith("healthy for 1m; it was not 1 time")


async def test_a_soak_can_be_stopped() -> None:
    given = world()
    given.later(10, lambda: given.stop.raise_flag("by ana"))
    with pytest.raises(execution.StoppedError, match=r"^by ana; no longer soaking$"):
        await given.open(60)


async def test_the_last_cluster_of_the_wave_begins_the_soak() -> None:
    meeting = rendezvouses.Rendezvous()
    us, eu = world(), world(running(ready=0))
    eu.later(50, lambda: eu.cluster.put(running()))

    async def one(given: Gate, target: str) -> str:
        meeting.join(target)
        try:
            return await given.open(60, target=target, rendezvous=meeting)
        finally:
            meeting.leave(target)

    await asyncio.gather(one(us, "us"), one(eu, "eu"))

    assert now() == pytest.approx(110, abs=1)


@pytest.mark.parametrize("available", ["", "2026-03-01T13:00:00Z"])
async def test_a_soak_that_began_by_a_clock_that_was_ahead_lasts_no_longer(available: str) -> None:
    """That of a process before this one, or the cluster's."""
    given = world(running(since=available))
    ahead = stage_contexts.START + timedelta(hours=1)

    await given.open(120, known={"since": ahead.isoformat()})

    assert now() == pytest.approx(120)
    assert (await given.state.load())["since"] == stage_contexts.START.isoformat()


async def test_clusters_that_are_not_healthy_in_time_hold_the_wave_up() -> None:
    meeting = rendezvouses.Rendezvous()
    meeting.join("eu")
    with pytest.raises(execution.StageFailedError, match="the other clusters of the wave were not"):
        await world().open(60, seconds=100, rendezvous=meeting)
    assert now() == 100


@pytest.mark.parametrize(
    ("available", "warnings", "left"),
    [
        ("", 0, 60),
        ("2026-03-01T11:58:00Z", 0, 60),
        ("2026-03-01T11:59:00Z", 0, 60),
        ("2026-03-01T11:59:30Z", 1, 90),
    ],
)
async def test_a_new_process_goes_on_with_the_soak(
    available: str, warnings: int, left: float
) -> None:
    """It began a minute ago, of two; the cluster knows whether it broke since."""
    given = world(running(since=available))
    begun = stage_contexts.START - timedelta(minutes=1)

    await given.open(120, known={"since": begun.isoformat()})

    assert now() == pytest.approx(left)
    assert len(given.report.warnings) == warnings
    since = datetime.fromisoformat((await given.state.load())["since"])
    assert since == begun + timedelta(seconds=30 * warnings)


@pytest.mark.parametrize(
    ("kind", "status", "known"),
    [("Available", "True", True), ("Available", "False", False), ("Progressing", "True", False)],
)
def test_since_when_a_workload_is_available(kind: str, status: str, known: bool) -> None:
    condition = {"type": kind, "status": status, "lastTransitionTime": "2026-03-01T12:00:00Z"}
    found = wave_gate._available_since({"status": {"conditions": [condition]}})
    assert found == (datetime(2026, 3, 1, 12, tzinfo=UTC) if known else None)
    assert wave_gate._available_since({}) is None


async def test_the_soak_goes_by_the_applications_rules_of_health() -> None:
    rule = object_health.Rule("apps", "Deployment", healthy="object.status.errors == 0")
    given = Gate(application=replace(SHOP, health=(rule,)))

    def put(errors: int) -> None:
        body = running()
        body["status"]["errors"] = errors
        given.cluster.put(body)

    put(0)
    given.later(30, lambda: put(1))
    given.later(40, lambda: put(0))

    assert (await given.open(60)).endswith("; the soak began again 1 time")
