"""Waits for endpoints and ready pods: one list where all is well, else a watch until it is."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memory_client import PODS, SERVICES, SLICES, MemoryCluster
from volary.clusters.api import api_errors
from volary.clusters.watching import endpoints, list_snapshot
from volary.model import errors, json

pytestmark = pytest.mark.looptime

CANARY = {"app": "shop", "variant": "canary"}
PRIMARY = {"app": "shop", "variant": "primary"}
FORBIDDEN = api_errors.Forbidden("no", status=403)
LONG = timedelta(seconds=30)


def pod(name: str, labels: dict[str, str], *, ready: bool = True) -> json.JsonObject:
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    return {"metadata": {"name": name, "labels": labels}, "status": {"conditions": [condition]}}


def piece(*names: str, ready: bool = True) -> json.JsonObject:
    return {
        "metadata": {"name": "shop-1", "labels": {"kubernetes.io/service-name": "shop"}},
        "endpoints": [
            {"targetRef": {"kind": "Pod", "name": name}, "conditions": {"ready": ready}}
            for name in names
        ],
    }


def service(**selector: str) -> json.JsonObject:
    return {"metadata": {"name": "shop"}, "spec": {"selector": selector}}


@pytest.fixture
def cluster() -> MemoryCluster:
    """Canary and primary have a pod each, and the Service leads to primary's."""
    made = MemoryCluster()
    made.put(SERVICES, service(app="shop"))
    made.put(PODS, pod("canary-a", CANARY))
    made.put(PODS, pod("primary-a", PRIMARY))
    made.put(SLICES, piece("primary-a"))
    return made


def later(seconds: float, act: Callable[[], object]) -> None:
    asyncio.get_running_loop().call_later(seconds, act)


def without(cluster: MemoryCluster, plural: str) -> None:
    cluster.resources = [one for one in cluster.resources if one.plural != plural]


async def followed(cluster: MemoryCluster, timeout: timedelta = LONG) -> str:
    return await endpoints.wait_followed(cluster.client, "default", "shop", CANARY, timeout=timeout)


async def serving(cluster: MemoryCluster, timeout: timedelta = LONG, **more: Any) -> str:
    return await endpoints.wait_serving(
        cluster.client, "default", "shop", CANARY, timeout=timeout, **more
    )


async def test_endpoints_that_follow_end_the_wait(cluster: MemoryCluster) -> None:
    later(4, lambda: cluster.put(SLICES, piece("canary-a")))
    began = asyncio.get_running_loop().time()

    assert await followed(cluster) == ""
    assert asyncio.get_running_loop().time() - began == pytest.approx(4)


async def test_endpoints_that_do_not_follow_are_named(cluster: MemoryCluster) -> None:
    began = asyncio.get_running_loop().time()

    assert await followed(cluster) == "its endpoints still lead to primary-a"
    assert asyncio.get_running_loop().time() - began == pytest.approx(30)


async def test_endpoints_of_other_services_do_not_matter(cluster: MemoryCluster) -> None:
    cluster.put(SLICES, piece("canary-a"))
    other = piece("primary-a")
    other["metadata"] = {"name": "x", "labels": {"kubernetes.io/service-name": "other"}}
    cluster.put(SLICES, other)

    assert await followed(cluster) == ""


@pytest.mark.parametrize("plural", ["pods", "endpointslices"])
async def test_without_endpoints_nobody_waits(cluster: MemoryCluster, plural: str) -> None:
    without(cluster, plural)

    assert await followed(cluster) == ""
    assert await serving(cluster) == ""
    assert cluster.asked == []


async def test_without_services_nobody_waits_for_one(cluster: MemoryCluster) -> None:
    without(cluster, "services")

    assert await serving(cluster) == ""


async def test_who_may_not_see_endpoints_does_not_wait(cluster: MemoryCluster) -> None:
    cluster.refusals = {
        "watch endpointslices": FORBIDDEN,
        "list endpointslices": FORBIDDEN,
    }

    assert await followed(cluster) == ""
    assert await serving(cluster) == ""


async def test_a_service_that_serves_already_costs_two_lists(cluster: MemoryCluster) -> None:
    cluster.put(SLICES, piece("canary-a", "primary-a"))

    assert await serving(cluster) == ""
    assert cluster.asked == ["list endpointslices/default", "list pods/default"]


async def test_what_a_snapshot_holds_is_not_listed_again(cluster: MemoryCluster) -> None:
    cluster.put(SLICES, piece("canary-a"))
    snapshot = list_snapshot.ListSnapshot(cluster.client)

    assert await serving(cluster, snapshot=snapshot) == ""
    assert await serving(cluster, snapshot=snapshot) == ""
    assert len(cluster.asked) == 2


async def test_a_snapshot_is_emptied_by_a_wait(cluster: MemoryCluster) -> None:
    snapshot = list_snapshot.ListSnapshot(cluster.client)
    later(4, lambda: cluster.put(SLICES, piece("canary-a")))

    assert await serving(cluster, snapshot=snapshot) == ""
    cluster.asked.clear()
    await serving(cluster, snapshot=snapshot)

    assert cluster.asked == ["list endpointslices/default", "list pods/default"]


async def test_a_service_that_serves_later_ends_the_wait(cluster: MemoryCluster) -> None:
    later(4, lambda: cluster.put(SLICES, piece("canary-a")))
    began = asyncio.get_running_loop().time()

    assert await serving(cluster) == ""
    assert asyncio.get_running_loop().time() - began == pytest.approx(4)


async def test_an_endpoint_that_is_not_ready_serves_nobody(cluster: MemoryCluster) -> None:
    cluster.put(SLICES, piece("canary-a", ready=False))

    assert await serving(cluster, timedelta(seconds=3)) == (
        "the Service shop has no ready endpoint among the pods app=shop,variant=canary"
    )


async def test_a_selector_that_can_never_match_is_said(cluster: MemoryCluster) -> None:
    cluster.put(SERVICES, service(app="shop", variant="primary", tier="web"))

    assert await serving(cluster, timedelta(seconds=3)) == (
        "the Service shop has no ready endpoint among the pods app=shop,variant=canary: in the"
        " cluster it selects variant=primary; if Git's selector is another one, a quick sync"
        " brings it"
    )


async def test_a_service_that_is_not_there_is_said_at_once(cluster: MemoryCluster) -> None:
    cluster.remove(SERVICES, "shop")
    began = asyncio.get_running_loop().time()

    assert await serving(cluster) == "there is no Service shop"
    assert asyncio.get_running_loop().time() == began


async def test_a_stop_ends_the_wait_for_a_service(cluster: MemoryCluster) -> None:
    async def stop() -> None:
        await asyncio.sleep(2)

    began = asyncio.get_running_loop().time()

    assert (await serving(cluster, stop=stop)).startswith("the Service shop has no ready endpoint")
    assert asyncio.get_running_loop().time() - began == pytest.approx(2)


async def ready(cluster: MemoryCluster, timeout: timedelta = LONG, **more: Any) -> int:
    return await endpoints.wait_ready_pods(
        cluster.client, "default", CANARY, timeout=timeout, **more
    )


async def test_ready_pods_are_counted(cluster: MemoryCluster) -> None:
    cluster.put(PODS, pod("canary-b", CANARY))
    cluster.put(PODS, pod("canary-c", CANARY, ready=False))

    assert await endpoints.count_ready_pods(cluster.client, "default", CANARY) == 2
    assert await ready(cluster) == 2
    assert cluster.asked == ["list pods/default", "list pods/default"]


async def test_the_first_ready_pod_ends_the_wait(cluster: MemoryCluster) -> None:
    cluster.put(PODS, pod("canary-a", CANARY, ready=False))
    snapshot = list_snapshot.ListSnapshot(cluster.client)
    later(4, lambda: cluster.put(PODS, pod("canary-a", CANARY)))
    began = asyncio.get_running_loop().time()

    assert await ready(cluster, snapshot=snapshot) == 1
    assert asyncio.get_running_loop().time() - began == pytest.approx(4)
    assert await ready(cluster, snapshot=snapshot) == 1


async def test_without_a_ready_pod_there_are_none(cluster: MemoryCluster) -> None:
    cluster.remove(PODS, "canary-a")

    assert await ready(cluster, timedelta(seconds=3)) == 0


async def test_a_list_that_fails_for_a_moment_is_waited_out(cluster: MemoryCluster) -> None:
    cluster.refusals = {"list pods": errors.TemporaryError("busy")}

    assert await ready(cluster) == 1
    assert "watch pods/default" in cluster.asked


async def test_a_cluster_without_pods_is_an_error(cluster: MemoryCluster) -> None:
    without(cluster, "pods")

    with pytest.raises(errors.PermanentError, match="cluster us does not serve Pods"):
        await ready(cluster)
