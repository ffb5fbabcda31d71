"""What was there before is kept as it was before it is written to, until the run has ended well."""

import base64
import random
from typing import Any

import pytest

import memory_client
from volary.clusters.inventory import inventory, inventory_store, snapshot_store
from volary.model import errors, json
from volary.model.objects import ownership
from volary.stages.runtime import adoptions

SHOP = ownership.Owner("shop", "0123456789abcdef")
EMPTY = inventory.Inventory(SHOP, "default")


def config(name: str) -> json.JsonObject:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


async def stored(cluster: memory_client.MemoryCluster) -> inventory.Inventory:
    return await inventory_store.load(cluster.client, SHOP, namespaces=["default"], home="default")


async def snapshots_of(cluster: memory_client.MemoryCluster) -> list[str]:
    kept = await snapshot_store.load(cluster.client, SHOP, namespaces=["default"])
    return sorted(snapshot.key.name for snapshot in kept)


async def test_what_is_adopted_is_kept_once_and_remembered_for_good() -> None:
    cluster, known = memory_client.MemoryCluster(), adoptions.Adoption()

    keys = await known.keep(cluster.client, EMPTY, [config("a"), config("b")], "run-1")
    more = await known.keep(cluster.client, EMPTY, [config("a"), config("c")], "run-1")

    assert ([key.name for key in keys], [key.name for key in more]) == (["a", "b"], ["c"])
    assert await snapshots_of(cluster) == ["a", "b", "c"]
    after = await stored(cluster)
    assert (after.adopted, after.has_snapshot) == ({*keys, *more}, True)
    cluster.refusals = {"list secrets": errors.PermanentError("not asked")}
    assert await known.keep(cluster.client, EMPTY, [config("b")], "run-1") == []


async def test_what_cannot_be_kept_is_not_adopted() -> None:
    cluster, known = memory_client.MemoryCluster(), adoptions.Adoption()
    cluster.refusals["patch secrets"] = errors.PermanentError("cannot patch secrets")
    bodies = [config(name) for name in "abcde"]

    with pytest.raises(errors.UserError) as refused:
        await known.keep(cluster.client, EMPTY, bodies, "run-1")

    told = "ConfigMap default/a, ConfigMap default/b, ConfigMap default/c and 2 more: not adopted"
    assert told in str(refused.value)
    assert "in namespace default" in str(refused.value)
    assert (await stored(cluster)).adopted == frozenset()


async def test_a_run_that_has_ended_well_lets_go_of_them() -> None:
    """What others have written into the inventory meanwhile stays there."""
    cluster, known = memory_client.MemoryCluster(), adoptions.Adoption()
    (key,) = await known.keep(cluster.client, EMPTY, [config("a")], "run-1")
    beside = adoptions.Adoption()
    beside.note(cluster.client, await stored(cluster))
    (other,) = await beside.keep(cluster.client, EMPTY, [config("b")], "run-1")

    await known.forget(["default"])

    after = await stored(cluster)
    assert (await snapshots_of(cluster), after.has_snapshot) == ([], False)
    assert after.adopted == {key, other}
    assert known.known == after


async def test_where_nothing_was_kept_nothing_is_asked() -> None:
    cluster, known = memory_client.MemoryCluster(), adoptions.Adoption()
    await known.forget()
    known.note(cluster.client, EMPTY)

    await known.forget()

    assert cluster.asked == []


def _relabel(cluster: memory_client.MemoryCluster, part: str, **labels: str) -> None:
    name = f"volary-snapshot-{SHOP.id}{part}"
    secret: Any = cluster.find(memory_client.SECRETS, name)
    assert secret is not None
    cluster.put(
        memory_client.SECRETS, {**secret, "metadata": {**secret["metadata"], "labels": labels}}
    )


@pytest.mark.parametrize("labels", [{}, {"volary.dev/snapshot": "another"}])
async def test_what_is_kept_is_not_written_over_when_somebody_changes_its_label(
    labels: dict[str, str],
) -> None:
    cluster = memory_client.MemoryCluster()
    await adoptions.Adoption().keep(cluster.client, EMPTY, [config("a")], "run-1")
    _relabel(cluster, "", **labels)

    await adoptions.Adoption().keep(cluster.client, EMPTY, [config("b")], "run-2")

    assert await snapshots_of(cluster) == ["a", "b"]


async def test_all_parts_are_found_without_their_labels_and_let_go_of() -> None:
    cluster, known = memory_client.MemoryCluster(), adoptions.Adoption()
    bulky = base64.b85encode(random.Random(7).randbytes(800_000)).decode()
    bodies = [{**config(name), "data": {"x": f"{name}{bulky}"}} for name in "ab"]
    await known.keep(cluster.client, EMPTY, bodies, "run-1")
    _relabel(cluster, "-2")

    assert await snapshots_of(cluster) == ["a", "b"]
    _relabel(cluster, "")
    assert await snapshots_of(cluster) == ["a", "b"]

    await known.forget(["default"])

    assert not [
        body
        for body in (await cluster.list(memory_client.SECRETS)).items
        if body["metadata"]["name"].startswith("volary-snapshot")
    ]


async def test_a_secret_of_somebody_else_by_that_name_is_none() -> None:
    cluster = memory_client.MemoryCluster()
    name = f"volary-snapshot-{SHOP.id}"
    metadata = {"name": name, "namespace": "default"}
    cluster.put(
        memory_client.SECRETS,
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "Opaque",
            "metadata": metadata,
            "data": {"a": ""},
        },
    )

    assert await snapshots_of(cluster) == []
