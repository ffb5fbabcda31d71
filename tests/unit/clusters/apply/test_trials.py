"""What a preview has tried is not tried again by who applies it at once, unless something moved."""

import asyncio

import pytest

from memory_client import CONFIG_MAPS, MemoryCluster
from volary.clusters.apply import applier, apply_errors
from volary.model import json
from volary.model.objects import manifest, ownership

pytestmark = pytest.mark.looptime


def config(name: str, value: str = "1") -> manifest.Manifest:
    body: json.JsonObject = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": {"k": value},
    }
    return manifest.Manifest(body)


def tries(cluster: MemoryCluster) -> int:
    return sum("try" in line or "dry" in line for line in cluster.asked)


async def world() -> MemoryCluster:
    """Two objects that are there."""
    cluster = MemoryCluster()
    await applier.SetApply(cluster.client).apply([config("a"), config("b")])
    cluster.asked.clear()
    return cluster


@pytest.mark.parametrize(
    ("waits", "value", "moves", "again"),
    [
        (1, "2", False, 0),
        (61, "2", False, 2),
        (1, "3", False, 2),
        (1, "2", True, 1),
    ],
    ids=["at once", "later", "something else", "one has moved"],
)
async def test_dry_runs_are_repeated_only_where_they_could_be_answered_otherwise(
    waits: float, value: str, *, moves: bool, again: int
) -> None:
    cluster = await world()
    changed = [config("a", "2"), config("b", "2")]
    await applier.SetApply(cluster.client).preview(changed)
    assert tries(cluster) == 2
    await asyncio.sleep(waits)
    if moves:
        live = cluster.find(CONFIG_MAPS, "a")
        assert live is not None
        cluster.put(CONFIG_MAPS, {**live, "data": {"k": "theirs"}})
    cluster.asked.clear()

    wanted = [config("a", value), config("b", value)]
    changes = await applier.SetApply(cluster.client).apply(wanted)

    assert tries(cluster) == again
    assert [change.action.value for change in changes.changes] == ["configured", "configured"]


async def test_what_is_not_there_is_tried_once_too() -> None:
    cluster = MemoryCluster()
    both = [config("a"), config("b")]
    await applier.SetApply(cluster.client).preview(both)
    cluster.asked.clear()

    options = applier.Options(commit="the run's")
    changes = await applier.SetApply(cluster.client, options).apply(both)

    assert tries(cluster) == 0
    assert [change.action.value for change in changes.changes] == ["created", "created"]


async def test_what_somebody_makes_and_claims_a_little_later_is_not_written() -> None:
    """No list by label shows it, and no field of it is in conflict: only a trial does."""
    cluster = MemoryCluster()
    labels = {"app": "shop"}
    every = [
        manifest.Manifest({**item.body, "metadata": {**item.body["metadata"], "labels": labels}})
        for item in (config("a"), config("b"), config("c"))
    ]
    options = applier.Options(owner=ownership.Owner("shop", "0123456789abcdef"))
    await applier.SetApply(cluster.client, options).preview(every)
    await asyncio.sleep(6)
    flux = {"kustomize.toolkit.fluxcd.io/name": "web", "kustomize.toolkit.fluxcd.io/namespace": "x"}
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "labels": flux}}
    live = cluster.put(CONFIG_MAPS, theirs)

    with pytest.raises(apply_errors.ApplyError, match="belongs to Flux' Kustomization x/web"):
        await applier.SetApply(cluster.client, options).apply(every)

    assert cluster.find(CONFIG_MAPS, "a") is None
    assert cluster.find(CONFIG_MAPS, "b") == live


async def test_another_preview_asks_again() -> None:
    """People who look at both sides want to see them."""
    cluster = await world()
    changed = [config("a", "2"), config("b", "2")]
    for _ in range(2):
        cluster.asked.clear()
        await applier.SetApply(cluster.client).preview(changed)
        assert tries(cluster) == 2
