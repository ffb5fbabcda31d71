"""Pods that answer, from their start to their end."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

import sandbox_world as world
from kube_sandbox import errors, fleet
from kube_sandbox.apiserver.storage import verbs
from kube_sandbox.dataplane import load


@pytest.fixture
async def running() -> AsyncIterator[fleet.Fleet]:
    settings = fleet.Settings(speed=20, tls=False, seed=1, traffic=True, drain=0.2)
    async with fleet.start(["us", "eu"], settings=settings) as made:
        yield made


def create(cluster: fleet.Cluster, *bodies: dict[str, Any]) -> None:
    for body in bodies:
        cluster.registry.create(cluster.registry.kind_of(body), "default", body)


async def ready(cluster: fleet.Cluster, count: int) -> None:
    def holds(view: Any) -> bool:
        slices = view.list("EndpointSlice", "default")
        listed = [each for one in slices for each in one.get("endpoints") or ()]
        return sum(each["conditions"]["ready"] for each in listed) == count

    await cluster.until(holds)


async def ask(cluster: fleet.Cluster, count: int = 40, **headers: str) -> load.Tally:
    aim = load.Aim(cluster.traffic.gateway, "shop", headers=headers)
    return await load.Load(aim, rate=400).run(count=count)


async def test_pods_say_who_they_are(running: fleet.Fleet) -> None:
    cluster = running.clusters["eu"]
    create(cluster, world.shop("shop:v7"), world.shop_service())
    await ready(cluster, 2)

    async with aiohttp.ClientSession() as session:
        answers = []
        for _ in range(4):
            async with session.get(
                cluster.traffic.gateway, headers={"host": "shop.default.svc.cluster.local"}
            ) as response:
                answers.append(await response.json())

    assert {each["version"] for each in answers} == {"v7"}
    assert {each["cluster"] for each in answers} == {"eu"}
    assert len({each["pod"] for each in answers}) == 2
    nowhere = await ask(running.clusters["us"], 1)
    assert [kind.status for kind in nowhere.answers] == [404]
    assert nowhere.failures[0][1] == "404: no Service and no route for shop"


async def test_faults_are_felt_at_once_and_counted(running: fleet.Fleet) -> None:
    cluster = running.clusters["us"]
    create(cluster, world.shop("shop:v2"), world.shop_service())
    await ready(cluster, 2)
    assert (await ask(cluster)).failed == 0

    cluster.faults.images.add("*:v2", "error-rate=100%,latency=30ms")
    broken = await ask(cluster)
    cluster.faults.images.clear()

    assert broken.failed == 40
    median = broken.quantile(0.5)
    assert median is not None
    assert median > 0.02
    assert (await ask(cluster)).failed == 0
    async with aiohttp.ClientSession() as session:
        query = {"cluster": "us", "workload": "shop", "window": "60s"}
        async with session.get(
            f"{running.required_metrics_url}/counters", params=query
        ) as response:
            counted = await response.json()
        async with session.get(f"{running.required_metrics_url}/targets") as response:
            targets = await response.json()
        async with session.get(f"http://{targets[0]['targets'][0]}/metrics") as response:
            metrics = await response.text()
    assert (counted["requests"], counted["errors"]) == (120, 40)
    assert counted["errorRate"] == pytest.approx(1 / 3)
    assert 22 < counted["p90Milliseconds"] < 200
    assert [each["labels"]["cluster"] for each in targets] == ["us", "us"]
    assert targets[0]["labels"]["workload"] == "shop"
    for name in ("http_request_duration_seconds_bucket", "istio_requests_total"):
        assert f"{name}{{" in metrics
    assert 'response_total{direction="inbound",namespace="default",deployment="shop"' in metrics
    assert 'classification="failure",status_code="500"} ' in metrics


async def test_the_metrics_endpoint_says_what_it_does_not_know(running: fleet.Fleet) -> None:
    async with aiohttp.ClientSession() as session:
        url = running.required_metrics_url
        async with session.get(f"{url}/counters", params={"cluster": "us"}) as response:
            empty = await response.json()
        async with session.get(f"{url}/counters", params={"moon": "x"}) as response:
            unknown = (response.status, await response.json())
        async with session.get(f"{url}/other") as response:
            assert response.status == 404

    assert (empty["requests"], empty["errorRate"], empty["p99Milliseconds"]) == (0, None, None)
    assert unknown[0] == 400
    assert "'moon' is not known" in unknown[1]["error"]


async def test_scaling_down_and_rolling_lose_nothing(running: fleet.Fleet) -> None:
    cluster = running.clusters["us"]
    create(cluster, world.shop("shop:v1", replicas=4), world.shop_service())
    await ready(cluster, 4)
    kind = cluster.registry.kind("apps/v1", "Deployment")
    users = load.Load(load.Aim(cluster.traffic.gateway, "shop"), rate=200)
    async with asyncio.TaskGroup() as group:
        steady = group.create_task(users.run())
        change = world.shop("shop:v2", replicas=2)
        options = verbs.Options(manager="test", force=True)
        cluster.registry.apply(kind, "default", "shop", change, options)
        await asyncio.sleep(1.2)
        steady.cancel()

    assert users.tally.failed == 0, users.tally.failures
    assert users.tally.by_version()["v2"] > 0
    assert users.tally.sent > 150
    await ready(cluster, 2)
    addresses = [address for address, _ in cluster.traffic.pods.servers()]
    assert len(addresses) == len(set(addresses)) == 2


async def test_a_pod_that_ends_without_a_moment_loses_requests(running: fleet.Fleet) -> None:
    """What the counting is for: it sees connections that break."""
    cluster = running.clusters["us"]
    hasty = world.shop("shop:v1")
    hasty["spec"]["template"]["metadata"]["annotations"] = {"kube-sandbox/crash-after": "4s"}
    create(cluster, hasty, world.shop_service())
    await ready(cluster, 2)

    users = load.Load(load.Aim(cluster.traffic.gateway, "shop"), rate=200)
    tally = await users.run(seconds=0.5)

    assert tally.failed > 0
    assert {kind.status for kind in tally.answers} >= {200, 503}


async def test_a_fleet_without_traffic_says_so() -> None:
    async with fleet.start(["us"], settings=fleet.Settings(tls=False)) as plain:
        with pytest.raises(errors.UserError, match="no real traffic"):
            _ = plain.required_metrics_url
        with pytest.raises(errors.UserError, match="no real traffic"):
            _ = plain.clusters["us"].traffic


async def test_fleets_do_not_meet() -> None:
    """The same container port in every cluster of two fleets."""
    settings = fleet.Settings(speed=20, tls=False, seed=1, traffic=True)
    async with (
        fleet.start(["us", "eu"], settings=settings) as first,
        fleet.start(["us", "eu"], settings=settings) as second,
    ):
        clusters = [*first.clusters.values(), *second.clusters.values()]
        for number, each in enumerate(clusters):
            create(each, world.shop(f"shop:v{number}"), world.shop_service())
        for number, each in enumerate(clusters):
            await ready(each, 2)
            assert (await ask(each, 10)).by_version() == {f"v{number}": 10}
        assert len({each.traffic.address for each in clusters}) == 4
