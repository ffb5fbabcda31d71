"""What is kept of adopted objects is not lost to somebody who writes it at the same time."""

from typing import Any

import pytest

from memory_client import SECRETS, MemoryCluster
from volary.clusters.api import api_errors
from volary.clusters.inventory import snapshot_store, snapshots
from volary.model import errors, json
from volary.model.objects import ownership

SHOP = ownership.Owner("shop", "0123456789abcdef")


def config(name: str) -> json.JsonObject:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": "old"}}


async def keep(cluster: MemoryCluster, *names: str) -> None:
    bodies = [config(name) for name in names]
    await snapshot_store.keep(cluster.client, SHOP, "default", bodies, "run-1")


async def kept(cluster: MemoryCluster) -> list[str]:
    stored = await snapshot_store.load(cluster.client, SHOP, namespaces=["default"])
    return sorted(one.body["metadata"]["name"] for one in stored)


async def test_what_is_kept_meanwhile_is_kept_too() -> None:
    cluster = MemoryCluster()
    await keep(cluster, "a")
    between = iter([keep(cluster, "b")])

    def first(asked: str) -> None:
        if not asked.startswith("patch secrets"):
            return
        for one in between:
            with pytest.raises(StopIteration):
                one.send(None)

    cluster.before = first
    await keep(cluster, "c")

    assert await kept(cluster) == ["a", "b", "c"]


@pytest.mark.looptime
async def test_what_never_rests_is_given_up() -> None:
    cluster = MemoryCluster()
    cluster.refusals["patch secrets"] = api_errors.Conflict("it has changed", status=409)

    with pytest.raises(errors.TemporaryError, match="kept changing"):
        await keep(cluster, "a")


async def test_what_is_kept_anew_is_not_let_go_of() -> None:
    cluster = MemoryCluster()
    await keep(cluster, "a")
    secret: Any = next(iter(cluster.objects.values()))

    def touch(asked: str) -> None:
        if asked.startswith("delete"):
            cluster.put(SECRETS, secret)

    cluster.before = touch
    with pytest.raises(api_errors.Conflict):
        await snapshot_store.forget(cluster.client, SHOP, namespaces=["default"])

    assert await kept(cluster) == ["a"]


async def test_what_others_left_in_their_namespace_is_brought_back_to_nobody() -> None:
    """Who may make a Secret in another namespace, or have one deployed there."""
    cluster = MemoryCluster()
    await keep(cluster, "a")
    forged = snapshots.pack([snapshots.Snapshot(config("forged"), "run-1")])[0]
    for namespace, name in (("theirs", snapshots.name(SHOP, 0)), ("default", "any-name")):
        body = snapshots.to_object(SHOP, namespace, 0, forged)
        body["metadata"]["name"] = name
        cluster.put(SECRETS, body)

    cluster.rule = lambda write: "" if write.namespace == "default" else "it is somebody else's"

    assert await kept(cluster) == ["a"]
