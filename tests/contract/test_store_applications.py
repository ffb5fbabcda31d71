"""Applications, commits, inventories and requests of every store."""

from dataclasses import replace

import store_fixtures as given
from volary.model import resource
from volary.store import protocol, records

SHOP = records.ApplicationRecord(
    "shop",
    repository="git.example/shop",
    path="deploy/volary.yaml",
    branch="main",
    labels={"team": "web", "env": "prod"},
    status="synced",
    reason="up to date",
    running_commit="abc",
    document={"targets": ["us", "eu"]},
    updated=given.at(1),
)


async def test_an_application_comes_back(store: protocol.Store) -> None:
    version = await store.applications.keep(SHOP, fence=None)

    assert version == 1
    assert await store.applications.get("shop") == replace(SHOP, version=1)
    assert await store.applications.get("nothing") is None


async def test_only_a_change_makes_a_new_version(store: protocol.Store) -> None:
    await store.applications.keep(SHOP, fence=None)
    same = await store.applications.keep(replace(SHOP, updated=given.at(2)), fence=None)
    changed = await store.applications.keep(replace(SHOP, labels={"team": "api"}), fence=None)

    assert (same, changed) == (1, 2)
    found = await store.applications.get("shop")
    assert found is not None
    assert found.labels == {"team": "api"}


async def test_a_commit_keeps_the_time_it_was_seen_first(store: protocol.Store) -> None:
    first = records.CommitRecord("shop", "abc", given.at(1), "Fix", "ana", "queued", "newest")
    await store.commits.keep(first, fence=None)
    later = replace(first, seen=given.at(9), status="succeeded", reason="", run_id="run-1")
    await store.commits.keep(later, fence=None)

    assert await store.commits.get("shop", "abc") == replace(later, seen=given.at(1))
    assert await store.commits.get("cart", "abc") is None


async def test_an_inventory_is_replaced(store: protocol.Store) -> None:
    def item(kind: str, name: str, commit: str) -> records.InventoryItem:
        key = resource.ResourceKey("", kind, "shop", name)
        return records.InventoryItem(key, "v1", commit)

    await store.inventory.replace("shop", "eu", [item("Service", "eu", "a")], fence=None)
    old = [item("Service", "web", "a"), item("ConfigMap", "web", "a")]
    await store.inventory.replace("shop", "us", old, fence=None)
    new = [item("Service", "web", "b"), item("ConfigMap", "more", "b"), item("Service", "web", "c")]
    await store.inventory.replace("shop", "us", new, fence=None)

    assert await store.inventory.list("shop", "us") == (new[1], new[2])
    await store.inventory.replace("shop", "us", [], fence=None)
    assert await store.inventory.list("shop", "us") == ()
    assert await store.inventory.list("shop", "eu") == (item("Service", "eu", "a"),)


async def test_a_request_waits_until_it_is_answered_once(
    store: protocol.Store, turned_clock: given.TurnedClock
) -> None:
    late = records.RequestRecord("a", "approve", "ana", given.at(2), "shop", "run-1", {"x": 1})
    early = records.RequestRecord("b", "cancel", "bo", given.at(1))

    assert await store.requests.ask(late)
    assert await store.requests.ask(early)
    assert not await store.requests.ask(replace(late, by="somebody else"))
    assert await store.requests.unanswered() == (early, late)
    await store.requests.answer("b", refusal="it has ended", fence=None)
    await store.requests.answer("b", refusal="", fence=None)
    await store.requests.answer("unknown", refusal="", fence=None)
    assert await store.requests.unanswered() == (late,)
    assert await store.requests.get("b") == replace(
        early, answered=turned_clock.now(), refusal="it has ended"
    )
    assert await store.requests.get("unknown") is None
