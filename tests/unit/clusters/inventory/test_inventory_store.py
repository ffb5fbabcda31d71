"""Who writes an inventory that has changed meanwhile changes what it was to change, no more."""

from dataclasses import replace
from typing import Any

import pytest

from memory_client import CONFIG_MAPS, MemoryCluster
from volary.clusters.api import api_errors
from volary.clusters.apply import preconditions
from volary.clusters.client import write_rules
from volary.clusters.inventory import inventory, inventory_store
from volary.model import errors
from volary.model.objects import manifest, ownership

SHOP = ownership.Owner("shop", "0123456789abcdef")
EMPTY = inventory.Inventory(SHOP, "default")


def reference(name: str) -> inventory.Reference:
    return inventory.Reference(manifest.ResourceKey("", "ConfigMap", "default", name), "v1")


A, B, C = map(reference, "abc")


async def load(cluster: MemoryCluster) -> inventory.Inventory:
    return await inventory_store.load(cluster.client, SHOP, namespaces=(), home="default")


async def record(cluster: MemoryCluster, known: Any, **changes: Any) -> inventory.Inventory:
    return await inventory_store.record(cluster.client, known, replace(known, **changes))


@pytest.fixture
async def cluster() -> MemoryCluster:
    made = MemoryCluster()
    await record(made, EMPTY, references=frozenset({A, B}), begun="c1", commit="c1")
    made.asked.clear()
    return made


async def test_what_others_wrote_meanwhile_stays(cluster: MemoryCluster) -> None:
    seen = await load(cluster)
    await record(cluster, seen, references=frozenset({A, B, C}), commit="c3")

    stored = await record(cluster, seen, references=frozenset({A}), has_snapshot=True)

    assert stored == await load(cluster)
    assert (stored.references, stored.commit, stored.has_snapshot) == ({A, C}, "c3", True)


async def test_an_inventory_as_it_was_read_costs_one_request(cluster: MemoryCluster) -> None:
    seen = await load(cluster)
    cluster.asked.clear()

    stored = await record(cluster, seen, commit="c2")
    await record(cluster, stored, commit="c3")

    assert [asked.split()[0] for asked in cluster.asked] == ["patch", "patch"]
    assert (await load(cluster)).commit == "c3"


async def test_two_that_begin_at_once_forget_nothing_of_each_other() -> None:
    cluster = MemoryCluster()

    await record(cluster, EMPTY, references=frozenset({A}), begun="c1")
    await record(cluster, EMPTY, references=frozenset({B}), begun="c2")

    stored = await load(cluster)
    assert (stored.references, stored.begun) == ({A, B}, "c1")


async def test_what_arrives_late_is_not_written(cluster: MemoryCluster) -> None:
    """The request alone: who sent it does not look again any more."""
    seen = await load(cluster)
    newer = await record(cluster, seen, references=frozenset({C}), commit="c3")
    late = inventory.to_object(replace(seen, commit="c2"))
    live = {"metadata": {"uid": seen.uid, "resourceVersion": seen.version}}

    with pytest.raises(api_errors.Conflict):
        await preconditions.apply(cluster.client, CONFIG_MAPS, late, live, force=True)

    assert await load(cluster) == newer


async def test_an_inventory_that_is_used_again_is_not_deleted(cluster: MemoryCluster) -> None:
    seen = await load(cluster)
    await record(cluster, seen, references=frozenset({A, B, C}))

    await inventory_store.forget(cluster.client, seen, seen.without([A.key, B.key]))
    assert (await load(cluster)).references == {C}

    now = await load(cluster)
    await inventory_store.forget(cluster.client, now, now.without([C.key]))
    await inventory_store.forget(cluster.client, seen, seen.without([A.key, B.key]))
    assert cluster.objects == {}


async def test_one_that_does_not_say_whose_it_is_is_written_over(cluster: MemoryCluster) -> None:
    body = cluster.find(CONFIG_MAPS, inventory.name(SHOP))
    assert body is not None
    cluster.put(CONFIG_MAPS, {**body, "metadata": {**body["metadata"], "annotations": {}}})

    await record(cluster, EMPTY, references=frozenset({A}))

    assert (await load(cluster)).references == {A}


@pytest.mark.looptime
async def test_what_never_rests_is_given_up(cluster: MemoryCluster) -> None:
    seen = await load(cluster)
    changed = api_errors.Conflict("it has changed", status=409)
    cluster.refusals |= {"patch configmaps": changed, "delete configmaps": changed}

    with pytest.raises(errors.TemporaryError, match="the inventory kept changing"):
        await record(cluster, seen, commit="c2")
    with pytest.raises(errors.TemporaryError, match="the inventory kept changing"):
        await inventory_store.forget(cluster.client, seen, seen.without([A.key, B.key]))


async def test_what_is_in_a_namespace_of_others_says_nothing(cluster: MemoryCluster) -> None:
    """Who may make a ConfigMap in another namespace could name any object in it, to be pruned."""
    before = await load(cluster)
    theirs = replace(before, namespace="a-theirs", references=frozenset({C}), commit="forged")
    for namespace, name in (("a-theirs", inventory.name(SHOP)), ("default", "any-name")):
        body = inventory.to_object(replace(theirs, namespace=namespace))
        body["metadata"]["name"] = name
        cluster.put(CONFIG_MAPS, body)

    cluster.rule = lambda write: "" if write.namespace == "default" else "it is somebody else's"

    assert await load(cluster) == before
    cluster.rule = write_rules.refuse_own_writes
    assert (await load(cluster)).references == {A, B, C}, "the server itself looks at all"
