"""What clusters have left for pods; one that does not tell is no trouble of the others."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

import pytest

from fixed_clock import FixedClock
from memory_client import PODS, MemoryCluster, kind
from volary.clusters.api import api_errors
from volary.clusters.client import client_pool
from volary.clusters.observe import cluster_facts, free_capacity
from volary.model import json
from volary.placement.replicas import capacity

pytestmark = pytest.mark.looptime

NODES = kind("", "Node", "nodes", namespaced=False)


@dataclass
class Pool:
    """The clients of some clusters."""

    clusters: dict[str, MemoryCluster | client_pool.Unavailable]
    clock: FixedClock = field(default_factory=FixedClock)

    async def client(self, name: str) -> Any:
        found = self.clusters[name]
        return found.client if isinstance(found, MemoryCluster) else found


def node(name: str) -> json.JsonObject:
    room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    ready = {"type": "Ready", "status": "True"}
    return {
        "metadata": {"name": name},
        "spec": {},
        "status": {"allocatable": room, "conditions": [ready]},
    }


def pod(name: str, phase: str = "Running") -> json.JsonObject:
    container = {"name": "main", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    spec = {"nodeName": "one", "containers": [container]}
    return {"metadata": {"name": name}, "spec": spec, "status": {"phase": phase}}


def cluster() -> MemoryCluster:
    made = MemoryCluster(resources=[NODES, PODS])
    made.put(NODES, node("one"))
    made.put(PODS, pod("a"))
    made.put(PODS, pod("done", "Succeeded"))
    made.put(PODS, pod("failed", "Failed"))
    return made


async def read(
    clusters: dict[str, MemoryCluster | client_pool.Unavailable], **more: Any
) -> free_capacity.FreeCapacities:
    pool = cast("client_pool.ClientPool", Pool(clusters))
    return await free_capacity.read(pool, tuple(clusters), **more)


async def test_what_is_left_is_read_without_pods_that_ended() -> None:
    made = cluster()
    result = await read({"us": made})

    expected = capacity.cluster_capacity(
        [made.objects["nodes", "", "one"]],
        [made.objects["pods", "default", "a"]],
        FixedClock().now(),
    )
    assert result == free_capacity.FreeCapacities({"us": expected})


async def test_who_does_not_tell_is_named_and_the_others_are_read() -> None:
    refused, bare = cluster(), MemoryCluster(resources=[PODS])
    refused.refusals["list nodes"] = api_errors.Forbidden("not you", status=403)
    result = await read(
        {
            "us": cluster(),
            "refused": refused,
            "bare": bare,
            "lost": client_pool.Unavailable("lost", "no kubeconfig"),
        }
    )

    assert set(result.rooms) == {"us"}
    assert result.unreadable == {
        "refused": "its free capacity cannot be read: not you",
        "bare": "its free capacity cannot be read: it serves neither nodes nor pods",
        "lost": "no kubeconfig",
    }


class Slow(MemoryCluster):
    """Takes its time for every list, and counts who waits at once."""

    waiting = 0
    most = 0

    async def list(self, *words: Any, **more: Any) -> Any:
        Slow.waiting += 1
        Slow.most = max(Slow.most, Slow.waiting)
        try:
            await asyncio.sleep(5)
        finally:
            Slow.waiting -= 1
        return await super().list(*words, **more)


async def test_a_cluster_that_takes_too_long_is_left_out() -> None:
    slow = Slow(resources=[NODES, PODS])
    result = await read({"slow": slow, "us": cluster()}, patience=timedelta(seconds=7))

    assert result.unreadable == {"slow": "no answer within 7 s"}
    assert set(result.rooms) == {"us"}


async def test_a_few_clusters_are_read_at_a_time() -> None:
    Slow.most = 0
    result = await read({f"c{number}": Slow(resources=[NODES, PODS]) for number in range(20)})

    assert len(result.rooms) == 20
    assert Slow.most == 8


# What a cluster is made of: bounded, so that of very many pods nobody says what they leave.


async def facts_of(**clusters: object) -> cluster_facts.ClusterFacts:
    pool = Pool(clusters)  # type: ignore[arg-type] # as it takes them
    return await cluster_facts.read(pool, "us", patience=timedelta(seconds=1))  # type: ignore[arg-type] # a pool of its own


async def test_a_node_that_is_not_ready_holds_nothing() -> None:
    made = cluster()
    broken = node("two")
    broken["status"]["conditions"][0]["status"] = "False"
    made.put(NODES, broken)
    facts = await facts_of(us=made)

    assert (facts.nodes, facts.ready_nodes) == (2, 1)
    assert facts.capacity == cluster_facts.Resources(10, 4.0, 2**33)
    assert facts.free == cluster_facts.Resources(9, 3.0, 2**33 - 2**30)


async def test_too_many_pods_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_facts, "_MOST_PODS", 2)
    made = cluster()
    for number in range(3):
        made.put(PODS, pod(f"more-{number}"))
    facts = await facts_of(us=made)

    assert (facts.capacity, facts.free) == (cluster_facts.Resources(10, 4.0, 2**33), None)
    assert facts.problem == "there are more than 2 pods"


async def test_a_cluster_without_a_client_says_why() -> None:
    facts = await facts_of(us=client_pool.Unavailable("us", "no such context"))

    assert (facts.version, facts.problem) == ("", "no such context")
