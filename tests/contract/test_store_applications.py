"""Applications, commits, inventories and requests of every store."""

from dataclasses import replace
from datetime import timedelta

import pytest

import store_fixtures as given
from volary.store import fencing, records, stores


async def test_an_application_comes_back(store: stores.Store) -> None:
    version = await store.applications.keep(given.SHOP, fence=None)

    assert version == 1
    assert await store.applications.get("shop") == replace(given.SHOP, version=1)
    assert await store.applications.get("nothing") is None


async def test_only_a_change_makes_a_new_version(store: stores.Store) -> None:
    await store.applications.keep(given.SHOP, fence=None)
    same = await store.applications.keep(replace(given.SHOP, updated=given.at(2)), fence=None)
    changed = await store.applications.keep(replace(given.SHOP, labels={"team": "api"}), fence=None)

    assert (same, changed) == (1, 2)
    found = await store.applications.get("shop")
    assert found is not None
    assert found.labels == {"team": "api"}


async def test_an_application_is_forgotten_with_all_but_its_runs(store: stores.Store) -> None:
    commit = records.CommitRecord("shop", "abc", given.at(1))
    for name in ("shop", "cart"):
        application, its = replace(given.SHOP, name=name), replace(commit, application=name)
        await store.applications.keep(application, commits=[its], fence=None)
        await store.memories.keep(name, "us", "primary", {"replicas": 2}, fence=None)

    await store.applications.forget("shop", fence=None)
    await store.applications.forget("nothing", fence=None)

    assert await store.applications.get("shop") is None
    wanted = records.ApplicationFilter(labels=given.SHOP.labels)
    assert [each.name for each in (await store.applications.list(wanted)).items] == ["cart"]
    assert await store.commits.get("shop", "abc") is None
    assert await store.memories.recall("shop", "us", "primary") == {}
    assert await store.commits.get("cart", "abc") is not None
    assert await store.memories.recall("cart", "us", "primary") == {"replicas": 2}


async def test_who_was_overtaken_forgets_no_application(store: stores.Store) -> None:
    old = await store.leases.acquire("drive", "a", timedelta(minutes=1))
    assert old is not None
    await store.leases.release(old)
    await store.leases.acquire("drive", "b", timedelta(minutes=1))
    await store.applications.keep(given.SHOP, fence=None)

    with pytest.raises(fencing.LeaseLost):
        await store.applications.forget("shop", fence=old.fence)
    assert await store.applications.get("shop") is not None


async def test_a_commit_keeps_the_time_it_was_seen_first(store: stores.Store) -> None:
    first = records.CommitRecord("shop", "abc", given.at(1), "Fix", "ana", "queued", "newest")
    version = await store.applications.keep(given.SHOP, commits=[first], fence=None)
    later = replace(first, seen=given.at(9), status="succeeded", reason="", run_id="run-1")
    # The application is what it was, so its version stays.
    assert await store.applications.keep(given.SHOP, commits=[later], fence=None) == version

    assert await store.commits.get("shop", "abc") == replace(later, seen=given.at(1))
    assert await store.commits.get("cart", "abc") is None


async def test_requests_of_an_application_keep_their_order_by_whichever_clock(
    store: stores.Store,
) -> None:
    """They come in through processes whose clocks differ, or are set back."""
    first = records.RequestRecord("a", "approve", "ana", given.at(60), "shop")
    second = records.RequestRecord("b", "cancel", "bo", given.at(1), "shop")
    other = records.RequestRecord("c", "cancel", "bo", given.at(2), "cart")

    for request in (first, second, other):
        assert await store.requests.ask(request)

    waiting = await store.requests.unanswered()
    assert [request.id for request in waiting] == ["a", "b", "c"]


async def test_a_request_waits_until_it_is_answered_once(
    store: stores.Store, turned_clock: given.TurnedClock
) -> None:
    late = records.RequestRecord("a", "approve", "ana", given.at(2), "shop", "run-1", {"x": 1})
    early = records.RequestRecord("b", "cancel", "bo", given.at(1))

    # In this order, though the clock of whoever took the second is behind.
    assert await store.requests.ask(late)
    assert await store.requests.ask(early)
    assert not await store.requests.ask(replace(late, by="somebody else"))
    waiting = await store.requests.unanswered()
    assert waiting == (late, early)
    assert await store.requests.unanswered(after=waiting[0].position) == (early,)
    assert await store.requests.unanswered(limit=1) == (late,)
    await store.requests.answer("b", refusal="it has ended", fence=None)
    await store.requests.answer("b", refusal="", fence=None)
    await store.requests.answer("unknown", refusal="", fence=None)
    assert await store.requests.unanswered() == (late,)
    assert await store.requests.get("b") == replace(
        early, answered=turned_clock.now(), refusal="it has ended"
    )
    assert await store.requests.get("unknown") is None
