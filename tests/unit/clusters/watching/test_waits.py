"""Waits end when objects are ready or gone, when waiting cannot help, late, or on request."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from memory_client import CONFIG_MAPS, DEPLOYMENTS, PODS, SERVICES, MemoryCluster, kind
from volary.clusters.api import api_errors, discovery
from volary.clusters.client import resource_mapping
from volary.clusters.watching import readiness, waits
from volary.model import json
from volary.model.objects import manifest

pytestmark = pytest.mark.looptime

End = waits.End
WIDGETS = discovery.Resource(
    "example.com", "v1", "Widget", "widgets", namespaced=True, subresources=frozenset({"status"})
)
PLAIN = kind("example.com", "Plain", "plains")


def deployment(name: str = "web", *, ready: int = 2, generation: int = 1) -> json.JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": "default",
            "generation": generation,
            "labels": {"app": name},
        },
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {"spec": {"containers": [{"name": "main", "image": "web:v1"}]}},
        },
        "status": {
            "observedGeneration": 1,
            "replicas": 2,
            "updatedReplicas": 2,
            "readyReplicas": ready,
            "availableReplicas": ready,
        },
    }


def pod(name: str, *, reason: str = "", app: str = "web") -> json.JsonObject:
    state = {"waiting": {"reason": reason, "message": "no"}} if reason else {"running": {}}
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"app": app, "pod-template-hash": "5f"},
            "ownerReferences": [{"kind": "ReplicaSet", "name": f"{app}-5f", "controller": True}],
        },
        "spec": {"containers": [{"name": "main", "image": "web:v1"}]},
        "status": {
            "phase": "Pending" if reason else "Running",
            "containerStatuses": [{"name": "main", "ready": not reason, "state": state}],
        },
    }


def custom(kind_name: str, **body: Any) -> json.JsonObject:
    metadata = {"name": "gear", "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": kind_name, "metadata": metadata, **body}


def after(seconds: float) -> Callable[[], Awaitable[None]]:
    async def stop() -> None:
        await asyncio.sleep(seconds)

    return stop


async def wait(
    cluster: MemoryCluster, *bodies: json.JsonObject, seconds: float = 60, **more: Any
) -> tuple[waits.WaitResult, float]:
    loop = asyncio.get_running_loop()
    began = loop.time()
    manifests = [manifest.Manifest(body) for body in bodies]
    result = await waits.wait_ready(
        cluster.client, manifests, timeout=timedelta(seconds=seconds), **more
    )
    return result, loop.time() - began


def later(seconds: float, act: Callable[[], object]) -> None:
    asyncio.get_running_loop().call_later(seconds, act)


async def test_what_is_ready_is_not_waited_for() -> None:
    cluster = MemoryCluster()
    cluster.put(DEPLOYMENTS, deployment())

    result, took = await wait(cluster, deployment())

    assert result == waits.WaitResult(End.READY, "2 of 2 ready", 2, 2)
    assert took == 0


async def test_kinds_that_need_no_wait_are_not_even_read() -> None:
    cluster = MemoryCluster()
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}

    result, _ = await wait(cluster, body)

    assert result == waits.WaitResult(End.READY, "nothing to wait for")
    assert cluster.asked == []


async def test_it_ends_the_moment_the_last_pod_is_ready() -> None:
    cluster = MemoryCluster()
    cluster.put(DEPLOYMENTS, deployment(ready=1))
    later(7.25, lambda: cluster.put(DEPLOYMENTS, deployment()))
    seen: list[readiness.Readiness] = []

    result, took = await wait(cluster, deployment(), progress=seen.append)

    assert result.end is End.READY
    assert took == pytest.approx(7.25)
    assert [(one.ready, one.total) for one in seen] == [(1, 2), (2, 2)]


async def test_an_old_generation_does_not_count() -> None:
    cluster = MemoryCluster()
    cluster.put(DEPLOYMENTS, deployment(generation=2))

    result, took = await wait(cluster, deployment(), seconds=5)

    assert result.end is End.TIMED_OUT
    assert result.sentence.startswith("not ready after 5 s: web: ")
    assert took == pytest.approx(5)


async def test_a_cluster_that_does_not_answer_is_said_to_be_silent() -> None:
    """What was seen last is not what is, and would hide why it takes so long."""
    cluster, said = MemoryCluster(), list[str]()
    cluster.put(DEPLOYMENTS, deployment(ready=1))

    async def lose_and_find() -> None:
        await asyncio.sleep(5)
        cluster.trouble = "connection refused"
        await asyncio.sleep(5)
        cluster.trouble = ""

    async with asyncio.TaskGroup() as group:
        group.create_task(lose_and_find())
        await wait(
            cluster, deployment(), seconds=15, progress=lambda seen: said.append(seen.sentence)
        )

    seen = "web: 1 of 2 pods available"
    silent = f"the cluster does not answer (connection refused); seen last: {seen}"
    assert said == [seen, silent, seen]


async def test_whoever_asks_ends_it_early() -> None:
    cluster = MemoryCluster()
    cluster.put(DEPLOYMENTS, deployment(ready=1))

    result, took = await wait(cluster, deployment(), stop=after(3))

    assert (result.end, result.ready, result.total) == (End.STOPPED, 1, 2)
    assert result.sentence.startswith("web: ")
    assert took == pytest.approx(3)


@pytest.mark.parametrize(("grace", "expected"), [(20.0, 20.0), (4.0, 4.0)])
async def test_an_image_that_cannot_be_pulled_gets_its_grace(grace: float, expected: float) -> None:
    cluster = MemoryCluster()
    cluster.put(DEPLOYMENTS, deployment(ready=0))
    cluster.put(PODS, pod("web-1", reason="ImagePullBackOff"))
    cluster.put(PODS, pod("other-1", reason="ErrImagePull", app="other"))

    result, took = await wait(cluster, deployment(), image_grace=timedelta(seconds=grace))

    assert result.end is End.FAILED
    assert "pod web-1: ImagePullBackOff" in result.sentence
    assert expected <= took <= expected + 1


async def test_an_image_that_is_there_after_all_begins_its_grace_anew() -> None:
    cluster = MemoryCluster()
    cluster.put(DEPLOYMENTS, deployment(ready=0))
    broken, well = pod("web-1", reason="ErrImagePull"), pod("web-1")
    cluster.put(PODS, broken)
    later(8, lambda: cluster.put(PODS, well))
    later(12, lambda: cluster.put(PODS, broken))

    result, took = await wait(cluster, deployment(), image_grace=timedelta(seconds=10))

    assert result.end is End.FAILED
    assert 22 <= took <= 23


def crashing(count: int) -> json.JsonObject:
    body = pod("web-1", reason="CrashLoopBackOff")
    body["metadata"]["uid"] = "1"
    body["status"]["containerStatuses"][0]["restartCount"] = count
    return body


@pytest.mark.parametrize(("counts", "ended"), [((0, 1, 2, 3), 30), ((4, 5, 6, 7), 30)])
async def test_a_crash_loop_ends_the_wait_when_it_is_plain(
    counts: tuple[int, ...], ended: float
) -> None:
    """What was before the wait does not count: somebody may have mended what it needs."""
    cluster = MemoryCluster()
    cluster.put(DEPLOYMENTS, deployment(ready=0))
    for number, count in enumerate(counts):
        later(number * 10, lambda count=count: cluster.put(PODS, crashing(count)))  # type: ignore[misc] # a default in a lambda

    result, took = await wait(cluster, deployment())

    assert result.end is End.FAILED
    assert result.sentence == (
        "web: 0 of 2 pods available; pod web-1: container main crashes: started again 3 times"
    )
    assert ended <= took <= ended + 1


async def test_pods_that_may_not_be_watched_are_done_without() -> None:
    cluster = MemoryCluster()
    cluster.refusals["watch pods"] = api_errors.Forbidden("no", status=403)
    cluster.put(DEPLOYMENTS, deployment(ready=1))
    later(2, lambda: cluster.put(DEPLOYMENTS, deployment()))

    assert (await wait(cluster, deployment()))[0].end is End.READY


async def test_an_object_that_is_deleted_meanwhile_can_never_be_ready() -> None:
    cluster = MemoryCluster()
    cluster.put(DEPLOYMENTS, deployment(ready=1))
    later(2, lambda: cluster.remove(DEPLOYMENTS, "web"))

    result, took = await wait(cluster, deployment())

    assert result.end is End.FAILED
    assert "Deployment default/web is gone" in result.sentence
    assert took == pytest.approx(2)


async def test_several_objects_of_a_kind_share_a_watch() -> None:
    cluster = MemoryCluster()
    for name in ("a", "b"):
        cluster.put(DEPLOYMENTS, deployment(name, ready=1))
    later(1, lambda: cluster.put(DEPLOYMENTS, deployment("a")))
    later(2, lambda: cluster.put(DEPLOYMENTS, deployment("b")))

    result, took = await wait(cluster, deployment("a"), deployment("b"))

    assert (result.end, result.ready, result.total) == (End.READY, 4, 4)
    assert took == pytest.approx(2)
    assert cluster.asked.count("watch deployments/default") == 1


async def test_a_controller_that_has_said_nothing_yet_gets_a_moment() -> None:
    cluster = MemoryCluster(resources=[WIDGETS, PODS])
    cluster.put(WIDGETS, custom("Widget", spec={}))

    result, took = await wait(cluster, custom("Widget", spec={}))

    assert result.end is End.READY
    assert result.unassessed
    assert 5 <= took <= 6


async def test_a_kind_without_status_is_ready_once_it_is_there() -> None:
    cluster = MemoryCluster(resources=[PLAIN, PODS])
    cluster.put(PLAIN, custom("Plain", spec={}))

    result, took = await wait(cluster, custom("Plain", spec={}))

    assert (result.end, took) == (End.READY, 0)
    assert len(result.unassessed) == 1


async def test_a_custom_object_that_is_degraded_gets_the_grace() -> None:
    broken = {"conditions": [{"type": "Ready", "status": "False", "reason": "No", "message": "n"}]}
    cluster = MemoryCluster(resources=[WIDGETS, PODS])
    cluster.put(WIDGETS, custom("Widget", status=broken))

    result, took = await wait(
        cluster, custom("Widget"), seconds=50, image_grace=timedelta(seconds=9)
    )

    assert result.end in (End.FAILED, End.TIMED_OUT)
    assert took == pytest.approx(9, abs=1) or result.end is End.TIMED_OUT


async def test_what_stays_ready_is_watched_for_the_whole_time() -> None:
    cluster = MemoryCluster()
    cluster.put(DEPLOYMENTS, deployment())
    loop = asyncio.get_running_loop()
    began = loop.time()

    result = await waits.stay_ready(
        cluster.client, [manifest.Manifest(deployment())], duration=timedelta(seconds=30)
    )

    assert (result.end, result.ready, result.total) == (End.READY, 2, 2)
    assert loop.time() - began == pytest.approx(30)


async def test_what_does_not_stay_ready_ends_the_watch_at_once() -> None:
    cluster = MemoryCluster()
    cluster.put(DEPLOYMENTS, deployment())
    later(4, lambda: cluster.put(DEPLOYMENTS, deployment(ready=1)))
    loop = asyncio.get_running_loop()
    began = loop.time()

    result = await waits.stay_ready(
        cluster.client, [manifest.Manifest(deployment())], duration=timedelta(seconds=30)
    )

    assert (result.end, result.ready) == (End.FAILED, 1)
    assert loop.time() - began == pytest.approx(4)


async def test_watching_what_is_ready_stops_on_request() -> None:
    cluster = MemoryCluster()
    cluster.put(DEPLOYMENTS, deployment())

    result = await waits.stay_ready(
        cluster.client,
        [manifest.Manifest(deployment())],
        duration=timedelta(seconds=30),
        stop=after(1),
    )

    assert result.end is End.STOPPED


def gone(body: json.JsonObject, resource: discovery.Resource = CONFIG_MAPS) -> Any:
    item = manifest.Manifest(body)
    return resource_mapping.MappedManifest(item, resource), body["metadata"]["uid"]


async def test_it_waits_until_all_are_gone() -> None:
    cluster = MemoryCluster()
    first = cluster.put(CONFIG_MAPS, {"metadata": {"name": "a"}})
    second = cluster.put(SERVICES, {"metadata": {"name": "b"}})
    later(1, lambda: cluster.remove(CONFIG_MAPS, "a"))
    later(3, lambda: cluster.remove(SERVICES, "b"))
    loop = asyncio.get_running_loop()
    began = loop.time()

    result = await waits.wait_deleted(
        cluster.client, [gone(first), gone(second, SERVICES)], timeout=timedelta(seconds=9)
    )

    assert result == waits.WaitResult(End.READY, "2 objects are gone")
    assert loop.time() - began == pytest.approx(3)


async def test_a_later_object_of_the_same_name_counts_as_gone() -> None:
    cluster = MemoryCluster()
    first = cluster.put(CONFIG_MAPS, {"metadata": {"name": "a"}})
    cluster.remove(CONFIG_MAPS, "a")
    cluster.put(CONFIG_MAPS, {"metadata": {"name": "a"}})

    result = await waits.wait_deleted(cluster.client, [gone(first)], timeout=timedelta(seconds=9))

    assert result.end is End.READY


async def test_what_is_still_there_is_named_with_what_holds_it() -> None:
    cluster = MemoryCluster()
    held = {"name": "a", "finalizers": ["example.com/hold", "example.com/too"]}
    first = cluster.put(CONFIG_MAPS, {"metadata": held})

    told: list[str] = []
    late = await waits.wait_deleted(
        cluster.client, [gone(first)], timeout=timedelta(seconds=4), progress=told.append
    )

    what = "ConfigMap default/a, held by example.com/hold, example.com/too"
    assert (late.end, late.sentence) == (End.TIMED_OUT, f"still there after 4 s: {what}")
    assert [key.name for key in late.held] == ["a"]
    assert told == [f"waiting until it is gone: {what}"]


async def test_watches_are_as_narrow_as_they_can_be() -> None:
    """And pods are only looked at where the workloads alone do not say that all is well."""
    one, two, ready = MemoryCluster(), MemoryCluster(), MemoryCluster()
    one.put(DEPLOYMENTS, deployment(ready=1))
    for name in ("a", "b"):
        two.put(DEPLOYMENTS, deployment(name, ready=1))
    ready.put(DEPLOYMENTS, deployment())

    await wait(one, deployment(), seconds=2)
    await wait(two, deployment("a"), deployment("b"), seconds=2)
    await wait(ready, deployment())

    assert ready.selectors == [("deployments", "", "metadata.name=web")]

    assert sorted(one.selectors) == [
        ("deployments", "", "metadata.name=web"),
        ("pods", "app=web", ""),
    ]
    assert sorted(two.selectors) == [
        ("deployments", "app in (a,b)", ""),
        ("pods", "app in (a,b)", ""),
    ]
