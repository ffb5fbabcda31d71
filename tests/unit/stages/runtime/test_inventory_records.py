"""What a stage writes into an inventory."""

import asyncio
from dataclasses import replace

import pytest

import memory_client
from stage_contexts import said, work
from volary.clusters.api import api_errors
from volary.clusters.inventory import inventory, inventory_store
from volary.model import applications
from volary.model.objects import manifest, ownership
from volary.stages.runtime import inventory_records

KEY = manifest.ResourceKey("", "ConfigMap", "default", "settings")


@pytest.mark.parametrize(
    ("wished", "used", "allowed", "home"),
    [
        ("", [], (), "default"),
        ("", ["b", "a"], (), "b"),
        ("shop", ["a"], (), "shop"),
        ("shop", ["a"], ("shop", "x"), "shop"),
        ("shop", ["a"], ("x", "shop"), "shop"),
        ("shop", ["a"], ("x", "y"), "x"),
        ("", ["a"], ("x", "a"), "a"),
    ],
)
async def test_an_inventory_lies_in_a_namespace_that_may_be_used(
    wished: str, used: list[str], allowed: tuple[str, ...], home: str
) -> None:
    app = applications.Application(name="shop", input=applications.Input(namespace=wished))

    assert inventory_records.home_of(work(application=app, namespaces=allowed), used) == home


SHOP = applications.Application(name="shop", origin=ownership.Origin("git.example.com/a", "shop"))


async def stored(cluster: memory_client.MemoryCluster) -> list[inventory.Inventory]:
    return await inventory_store.find(cluster.client, "shop", namespaces=())


async def test_an_inventory_says_what_runs_and_keeps_the_rest() -> None:
    cluster = memory_client.MemoryCluster()
    before = inventory.Inventory(
        SHOP.owner,
        "default",
        frozenset({inventory.Reference(KEY, "v1")}),
        SHOP.origin,
        begun="first",
        commit="second",
    )
    other = inventory.Inventory(
        ownership.Owner("shop", "another"), "default", before.references, commit="theirs"
    )
    for known in (before, other):
        await inventory_store.record(
            cluster.client, inventory.Inventory(known.owner, "default"), known
        )

    await inventory_records.record_running(work(application=SHOP, client=cluster), "third")
    cluster.asked.clear()
    await inventory_records.record_running(work(application=SHOP, client=cluster), "third")

    assert cluster.asked == ["list configmaps"], "what is known already costs no write"
    assert {known.owner.id: known for known in await stored(cluster)} == {
        SHOP.owner.id: replace(before, commit="third"),
        "another": other,
    }


async def test_of_an_application_that_is_gone_nothing_is_said_to_run() -> None:
    cluster = memory_client.MemoryCluster()

    await inventory_records.record_running(work(application=SHOP, client=cluster), "third")

    assert cluster.objects == {}


async def test_what_runs_is_written_over_the_inventory_that_was_read_and_no_other() -> None:
    """Somebody else may have added to it since."""
    cluster = memory_client.MemoryCluster()
    before = inventory.Inventory(SHOP.owner, "default", frozenset({inventory.Reference(KEY, "v1")}))
    await inventory_store.record(cluster.client, inventory.Inventory(SHOP.owner, "default"), before)
    cluster.asked.clear()

    await inventory_records.record_running(work(application=SHOP, client=cluster), "first")

    name = inventory.name(SHOP.owner)
    assert cluster.asked == [f"patch configmaps/{name}"]
    stored = cluster.find(memory_client.CONFIG_MAPS, name)
    assert stored is not None
    more = "v1:other:Kind:default:added"
    theirs = {**stored["data"], "objects": f"{stored['data']['objects']}\n{more}"}
    cluster.put(memory_client.CONFIG_MAPS, {**stored, "data": theirs})

    await inventory_records.record_running(work(application=SHOP, client=cluster), "second")

    now = cluster.find(memory_client.CONFIG_MAPS, name)
    assert now is not None
    assert now["metadata"]["annotations"]["volary.dev/commit"] == "second"
    assert more in now["data"]["objects"]


@pytest.mark.looptime
@pytest.mark.parametrize("verb", ["list", "patch"])
async def test_a_stage_succeeds_without_the_permission_to_say_what_runs(verb: str) -> None:
    cluster = memory_client.MemoryCluster()
    before = inventory.Inventory(SHOP.owner, "default", frozenset({inventory.Reference(KEY, "v1")}))
    await inventory_store.record(cluster.client, inventory.Inventory(SHOP.owner, "default"), before)
    refusal = api_errors.Forbidden("not you", status=403)
    places = ("", "/", "/default")
    cluster.refusals.update({f"{verb} configmaps{place}": refusal for place in places})
    made = work(application=SHOP, client=cluster)
    await asyncio.sleep(60)  # What was written is not remembered any more.

    await inventory_records.record_running(made, "0123456789")

    assert said(made).warnings == ["the inventory does not say that 0123456 runs: not you"]
