"""A stage on one cluster: what it did, and how it waits."""

import asyncio
import types
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest

import memory_cluster
import memory_world
from stage_contexts import said, work
from volary.clusters.client import clients
from volary.engine import executor
from volary.model.objects import apply_results, manifest
from volary.stages.runtime import cluster_changes, contexts, execution, rendezvouses

A = apply_results.Action
KEY = manifest.ResourceKey("", "ConfigMap", "default", "settings")


def raised(reason: str = "cancelled by ana") -> executor.StopFlag:
    stop = executor.StopFlag()
    stop.raise_flag(reason)
    return stop


def change(action: apply_results.Action, reason: str = "", *, written: bool = False) -> Any:
    return apply_results.Change(KEY, action, reason, written)


async def test_changes_are_noted_where_there_is_something_to_say() -> None:
    made = work()

    made.record(
        [
            change(A.CREATED),
            change(A.CONFIGURED, "spec"),
            change(A.UNCHANGED),
            change(A.DELETED),
            change(A.SKIPPED),
            change(A.SKIPPED, "it is another's"),
        ]
    )

    title = "ConfigMap default/settings"
    assert made.lines == [
        f"created {title}",
        f"configured {title} (spec)",
        f"deleted {title}",
        f"skipped {title} (it is another's)",
    ]
    assert not made.touched


@pytest.mark.parametrize(("count", "lines"), [(25, 25), (26, 1)])
async def test_many_changes_are_counted(count: int, lines: int) -> None:
    made = work()

    made.record([change(A.CREATED)] * count)

    assert len(made.lines) == lines
    assert made.lines[-1] == ("26 created" if lines == 1 else "created ConfigMap default/settings")


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("written", [False, True])
async def test_a_cluster_is_touched_once_something_was_written(before: bool, written: bool) -> None:
    made = work()
    made.touched = before

    made.record([change(A.UNCHANGED), change(A.UNCHANGED, written=written)])

    assert made.touched == (before or written)


@pytest.mark.looptime
async def test_a_pause_lasts_as_long_as_it_says() -> None:
    loop = asyncio.get_running_loop()
    made, begun = work(), loop.time()

    await made.pause(timedelta(seconds=30))

    assert loop.time() - begun == 30


@pytest.mark.looptime
async def test_a_pause_ends_when_somebody_stops_the_stage() -> None:
    stop = executor.StopFlag()
    made = work(stop=stop)
    asyncio.get_running_loop().call_later(3, stop.raise_flag, "cancelled by ana")

    with pytest.raises(execution.StoppedError, match=r"^cancelled by ana; no longer waiting$"):
        await made.pause(timedelta(seconds=30))

    assert asyncio.get_running_loop().time() == 3


async def test_a_stage_that_was_asked_to_stop_goes_no_further() -> None:
    work().check_stop()
    with pytest.raises(execution.StoppedError, match=r"^cancelled by ana$"):
        work(stop=raised()).check_stop()
    with pytest.raises(execution.StoppedError, match=r"^asked to stop$"):
        work(stop=raised("")).check_stop()
    with pytest.raises(execution.StoppedError, match=r"^cancelled by ana$"):
        await cluster_changes.apply(work(stop=raised()), [])


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("changed", "patience", "limit", "passed"),
    [(True, 3, 100, 3), (True, 3, 2, 2), (False, 3, 100, 0), (True, 0, 100, 0)],
)
async def test_proxies_get_time_to_follow_a_change_of_routes(
    changed: bool, patience: float, limit: float, passed: float
) -> None:
    propagation = contexts.RoutePropagation(timedelta(seconds=patience))
    if changed:
        propagation.note()
    made = work(limit, propagation=propagation)

    await made.settle()

    assert asyncio.get_running_loop().time() == pytest.approx(passed)
    assert bool(said(made).progress_said) == bool(passed)


@pytest.mark.looptime
async def test_what_has_passed_since_the_change_counts() -> None:
    propagation = contexts.RoutePropagation(timedelta(seconds=3))
    assert propagation.left == timedelta(0)
    propagation.note()
    assert propagation.left == timedelta(seconds=3)
    await asyncio.sleep(1)
    assert propagation.left == timedelta(seconds=2)
    await asyncio.sleep(10)
    assert propagation.left == timedelta(0)


@pytest.mark.looptime
async def test_what_another_process_may_have_done_counts_as_done_when_this_one_took_up() -> None:
    propagation = contexts.RoutePropagation(timedelta(seconds=3))
    propagation.note_earlier()
    assert propagation.left == timedelta(0), "this process was there from the beginning"
    propagation.take_up()
    assert propagation.left == timedelta(0), "there may be no routes"
    await asyncio.sleep(1)
    propagation.note_earlier()
    assert propagation.left == timedelta(seconds=2)
    propagation.note()
    propagation.note_earlier()
    assert propagation.left == timedelta(seconds=3)
    await asyncio.sleep(1)
    propagation.take_up()
    propagation.note_earlier()
    assert propagation.left == timedelta(seconds=3)


@pytest.mark.looptime
async def test_settling_ends_when_somebody_stops_the_stage() -> None:
    stop = executor.StopFlag()
    propagation = contexts.RoutePropagation(timedelta(seconds=30))
    propagation.note()
    asyncio.get_running_loop().call_later(2, stop.raise_flag, "by ana")

    await work(stop=stop, propagation=propagation).settle()

    assert asyncio.get_running_loop().time() == 2


@pytest.mark.looptime
async def test_waiting_for_pods_says_how_far_they_are_and_ends_when_the_stage_is_stopped() -> None:
    given = memory_world.World()
    given.cluster.put(memory_cluster.deployment("primary", ready=1))
    given.later(5, lambda: given.stop.raise_flag("by ana"))

    with pytest.raises(execution.StoppedError, match=r"^by ana; no longer waiting: .*1 of 2"):
        await given.work().wait_ready(given.source[1:2])

    assert memory_world.now() == 5
    assert [(step.ready, step.total) for step in given.report.progress_said] == [(1, 2)]


@pytest.mark.looptime
async def test_a_question_is_broken_off_when_the_stage_is_stopped() -> None:
    stop = executor.StopFlag()
    asyncio.get_running_loop().call_later(2, stop.raise_flag, "by ana")

    assert await work(stop=stop).unless_stopped(asyncio.sleep(1, "yes")) == "yes"
    with pytest.raises(execution.StoppedError, match=r"^by ana; no longer waiting$"):
        await work(stop=stop).unless_stopped(asyncio.sleep(10, "yes"))


@pytest.mark.looptime
async def test_clusters_wait_for_each_other_as_long_as_the_stage_may_take() -> None:
    meeting = rendezvouses.Rendezvous()
    meeting.join("us")
    meeting.join("eu")
    meeting.post("us", "healthy", 1)
    asyncio.get_running_loop().call_later(5, meeting.post, "eu", "healthy", 2)

    assert await work(rendezvous=meeting).gather("healthy", "late") == {
        "us": 1,
        "eu": 2,
    }
    with pytest.raises(execution.StageFailedError, match=r"^they were late$"):
        await work(30, rendezvous=meeting).gather("other", "they were late")
    assert asyncio.get_running_loop().time() == 35
    with pytest.raises(execution.StoppedError, match=r"^by ana; no longer waiting$"):
        await work(rendezvous=meeting, stop=raised("by ana")).gather("other", "late")


async def test_the_namespaces_of_what_was_loaded_are_remembered() -> None:
    async def source() -> list[manifest.Manifest]:
        return [
            manifest.Manifest({"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x"}}),
            manifest.Manifest({"kind": "ConfigMap", "metadata": {"name": "b"}}),
        ]

    client = types.SimpleNamespace(namespace="home")
    made = work(client=cast("clients.Client", client))

    assert len(await made.load(source)) == 2
    assert made.places == {"x", "home"}


async def test_what_goes_without_saying_is_not_noted() -> None:
    made = work()

    made.record([change(A.UNCHANGED), change(A.SKIPPED), change(A.UNCHANGED, "as it should be")])

    assert made.lines == ["unchanged ConfigMap default/settings (as it should be)"]


async def test_every_take_over_has_its_line_however_many_changes_there_are() -> None:
    made = work()
    taken = apply_results.Change(KEY, A.CONFIGURED, written=True, taken_from="Argo CD's shop")
    others = [
        apply_results.Change(replace(KEY, name=f"more-{number}"), A.CREATED) for number in range(40)
    ]

    made.record([*others, taken])

    assert made.lines == [
        "takes ConfigMap default/settings over from Argo CD's shop",
        "40 created, 1 configured",
    ]
    assert said(made).taken == [("ConfigMap default/settings", "Argo CD's shop")]
