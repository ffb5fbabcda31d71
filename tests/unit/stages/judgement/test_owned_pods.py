"""Whose pods are looked at: those of what was applied for a variant, on a cluster in memory."""

import asyncio

import pytest

import memory_client
from pods_world import APP, CANARY, KINDS, World, applied, deployment
from volary.clusters.api import discovery
from volary.model import applications, routing_options
from volary.model.objects import manifest, ownership
from volary.model.pipeline import variant
from volary.stages.judgement import owned_pods

V = variant.Variant
WANTED = [manifest.Manifest(deployment("web", {"app": "web"}))]


async def test_strangers_with_canarys_labels_are_not_canarys() -> None:
    given = World()
    given.put(applied("web-canary", V.CANARY, CANARY), "mine")
    given.put(deployment("of-nobody", CANARY), "theirs")
    other = applications.Application(name="shop", known_owner=ownership.Owner("shop", "1" * 16))
    given.put(applied("web-canary-2", V.CANARY, CANARY, other), "of-the-other-shop")
    copied = applied("web-canary", V.CANARY, CANARY)
    copied["metadata"] = {**copied["metadata"], "name": "copy"}
    given.put(copied, "of-a-copy")
    given.pod("by-hand", CANARY)
    given.pod("of-a-tool", CANARY, [{"uid": "some", "controller": True}])

    assert await given.find(V.CANARY) == ["mine"]
    assert await given.find(V.BASELINE) == []


async def test_a_canary_that_another_release_has_put_in_its_place_is_not_this_ones() -> None:
    given = World()
    given.put(applied("web-canary", V.CANARY, CANARY), "c1")
    mine, unknown, later = (
        owned_pods.OwnedPods(given.cluster.client, APP, WANTED, [], "default", commit)
        for commit in ("new", "", "later")
    )
    for pods in (mine, unknown, later):
        # One that was left by an earlier release, and is as this one wants it, is this one's too.
        [group] = await pods.find(V.CANARY, is_new=True)
        assert len(group.pods) == 1
    live = given.cluster.find(memory_client.DEPLOYMENTS, "web-canary")
    assert live is not None
    [container] = live["spec"]["template"]["spec"]["containers"]
    container["image"] = "web:v77"

    changed = "Deployment web-canary was changed while its pods were measured"
    for pods, why in (
        (mine, changed),
        (later, "Deployment web-canary is of commit new and runs web:v77: another release has"),
        (owned_pods.OwnedPods(given.cluster.client, APP, WANTED, [], "default", "later"), "v77"),
    ):
        with pytest.raises(owned_pods.ReplacedError, match=why):
            await pods.find(V.CANARY, is_new=True)
    assert await mine.find(V.CANARY, is_new=False), "somebody else is compared with it"


async def test_primarys_selector_finds_canarys_pods_too_and_they_are_not_primarys() -> None:
    given = World()
    given.put(applied("web", V.PRIMARY, {"app": "web"}), "p1", "p2")
    given.put(applied("web-canary", V.CANARY, CANARY), "c1")

    assert await given.find(V.PRIMARY) == ["p1", "p2"]
    assert await given.find(V.CANARY) == ["c1"]


async def test_primary_that_was_there_before_volary_is_known_by_its_name() -> None:
    given = World()
    given.put(deployment("web", {"app": "web"}), "p1")
    given.put(deployment("another", {"app": "web"}), "theirs")

    assert await given.find(V.PRIMARY) == ["p1"]


async def test_pods_that_end_or_have_ended_are_not_looked_at() -> None:
    given = World()
    given.put(applied("web-canary", V.CANARY, CANARY), "c1", "c2", "c3")
    pods = [given.cluster.find(memory_client.PODS, name) for name in ("c2", "c3")]
    assert pods[0] is not None
    assert pods[1] is not None
    pods[0]["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    pods[1]["status"] = {"phase": "Failed"}

    assert await given.find(V.CANARY) == ["c1"]


async def test_of_a_service_that_is_rolled_out_canary_has_what_primary_has_not() -> None:
    app = applications.Application(
        name="shop", workloads=(routing_options.ObjectReference("Service", "web"),)
    )
    given = World()
    manifests = {}
    for name, pods in (("both", ["b1"]), ("v1", ["o1"]), ("v2", ["n1"])):
        body = deployment(name, {"app": "web", "version": name})
        given.put(body, *pods)
        manifests[name] = manifest.Manifest(body)
    service = manifest.Manifest(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web"},
            "spec": {"selector": {"app": "web"}},
        }
    )
    versions = {
        "running": [service, manifests["both"], manifests["v1"]],
        "target": [service, manifests["both"], manifests["v2"]],
    }

    assert await given.find(V.CANARY, app, **versions) == ["n1"]
    assert await given.find(V.PRIMARY, app, is_new=False, **versions) == ["b1", "o1"]
    # After the promotion primary is the new version.
    assert await given.find(V.PRIMARY, app, **versions) == ["b1", "n1"]


class SlowCluster(memory_client.MemoryCluster):
    async def discover(self, *, refresh: bool = False) -> discovery.Catalog:
        await asyncio.sleep(0)
        return await super().discover(refresh=refresh)


async def test_who_asks_at_the_same_time_asks_the_cluster_once() -> None:
    given = World()
    given.cluster = SlowCluster(resources=list(KINDS))
    given.put(applied("web-canary", V.CANARY, CANARY), "c1")
    target = [manifest.Manifest(deployment("web", {"app": "web"}))]
    pods = owned_pods.OwnedPods(given.cluster.client, APP, target, [], "default")

    found = await asyncio.gather(*(pods.find(V.CANARY, is_new=True) for _ in range(3)))

    assert [len(groups) for groups in found] == [1, 1, 1]
    assert given.cluster.asked.count("list pods/default") == 1
