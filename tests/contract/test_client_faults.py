"""What the client makes of a cluster that misbehaves; a healthy one beside it is unharmed."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import process_time
from kube_sandbox import fleet
from kube_sandbox.faults import faults
from sandbox_fixtures import FleetFactory
from volary.clusters.api import api_errors, discovery
from volary.clusters.client import client_pool, clients
from volary.clusters.transport import circuit_breaker, retries, transports
from volary.model.fleet import fleets

LIMITS = transports.Limits(
    timeout=0.5,
    retry=retries.Policy(tries=8, base=timedelta(milliseconds=5)),
    circuit=circuit_breaker.Rules(lasting=0.2, pause=0.5),
)
CONFIGMAPS = discovery.Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)


class WallClock:
    def now(self) -> datetime:
        return datetime.fromtimestamp(time.time(), UTC)


class Pair:
    """Two running clusters, ``us`` that is healthy and ``eu`` that will not be."""

    def __init__(self, running: fleet.Fleet, opened: client_pool.ClientPool) -> None:
        self._running = running
        self._opened = opened

    async def client(self, name: str) -> clients.Client:
        found = await self._opened.client(name)
        assert isinstance(found, clients.Client)
        return found

    def break_eu(self, **wanted: Any) -> None:
        self._running.clusters["eu"].faults.set(faults.Faults(**wanted))


@pytest.fixture
async def pair(fleet_of: FleetFactory) -> AsyncIterator[Pair]:
    running = await fleet_of(["us", "eu"])
    members = fleets.Fleet(
        tuple(
            fleets.Cluster(name, kubeconfig=(str(cluster.kubeconfig_path),))
            for name, cluster in running.clusters.items()
        )
    )
    async with client_pool.open_pool(
        members, clock=WallClock(), limits=LIMITS, environment={}
    ) as opened:
        yield Pair(running, opened)


def configmap(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "labels": {"test": "faults"}},
    }


async def test_throttled_requests_all_get_through(pair: Pair) -> None:
    client = await pair.client("eu")
    # Six tries each: at a higher rate one of forty would run out of them now and then.
    pair.break_eu(throttle_rate=0.15, retry_after=0.0)

    async with asyncio.TaskGroup() as group:
        for number in range(40):
            group.create_task(client.create(CONFIGMAPS, configmap(f"c{number}")))

    pair.break_eu()
    listed = await client.list(CONFIGMAPS, label_selector="test=faults")
    assert len(listed.items) == 40


async def test_server_errors_are_waited_out_where_it_is_safe(pair: Pair) -> None:
    client = await pair.client("eu")
    pair.break_eu(error_rate=0.3)

    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(client.apply(CONFIGMAPS, configmap(f"c{number}")))

    assert len((await client.list(CONFIGMAPS, label_selector="test=faults", page_size=3)).items)


async def test_what_is_denied_names_verb_and_resource(pair: Pair) -> None:
    client = await pair.client("eu")
    pair.break_eu(denied=(faults.Denial("patch", "configmaps"),))

    with pytest.raises(api_errors.Forbidden) as caught:
        await client.apply(CONFIGMAPS, configmap("a"))

    assert "patch" in str(caught.value)
    assert "configmaps" in str(caught.value)


async def test_an_expired_token(pair: Pair) -> None:
    client = await pair.client("eu")
    pair.break_eu(expired_tokens=True)

    with pytest.raises(api_errors.Unauthorized):
        await client.version()


@pytest.mark.parametrize("how", [faults.Lost.REFUSE, faults.Lost.HANG])
async def test_a_lost_cluster_is_left_alone_and_comes_back(pair: Pair, how: faults.Lost) -> None:
    lost, healthy = await pair.client("eu"), await pair.client("us")
    await lost.version()
    pair.break_eu(lost=how)

    with pytest.raises(api_errors.Unreachable, match="cluster eu at https://"):
        await lost.version()
    assert await healthy.version()
    await asyncio.sleep(LIMITS.circuit.lasting)
    with pytest.raises(api_errors.Unreachable):
        await lost.version()
    with pytest.raises(api_errors.CircuitOpen, match="has not answered for"):
        await lost.version()

    pair.break_eu()
    await asyncio.sleep(LIMITS.circuit.pause)
    assert await lost.version()


@pytest.mark.parametrize("fault", [{"cut_watches": 0.05}, {"expire_watches": True}])
async def test_a_watch_that_is_disturbed_misses_nothing(pair: Pair, fault: dict[str, Any]) -> None:
    client = await pair.client("eu")
    pair.break_eu(**fault)
    seen: set[str] = set()
    wanted = {f"c{number}" for number in range(15)}

    async def follow() -> None:
        following = client.watch(CONFIGMAPS, label_selector="test=faults")
        async with aclosing(following):
            async for event in following:
                for body in (*event.items, *([event.body] if event.body else [])):
                    seen.add(body["metadata"]["name"])
                if seen >= wanted:
                    return

    async with asyncio.timeout(process_time.HANG), asyncio.TaskGroup() as group:
        group.create_task(follow())
        for name in sorted(wanted):
            await client.apply(CONFIGMAPS, configmap(name))
            await asyncio.sleep(0.02)

    assert seen == wanted
