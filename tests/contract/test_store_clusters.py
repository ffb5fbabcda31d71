"""Clusters of every store."""

from dataclasses import replace
from datetime import timedelta

import pytest

import store_fixtures as given
from volary.model.runs import run_records
from volary.store import fencing, records, stores

US = records.ClusterRecord("us", "ready", {"since": "x"}, given.at(1))
EU = records.ClusterRecord("eu", "unreachable", {}, given.at(2))


async def test_clusters_come_back_by_name_as_they_were_kept_last(store: stores.Store) -> None:
    await store.clusters.keep([US, EU], fence=None)
    await store.clusters.keep([replace(US, state="notReady"), US], fence=None)
    await store.clusters.keep([], fence=None)

    assert await store.clusters.list() == (EU, US)


async def test_clusters_are_forgotten(store: stores.Store) -> None:
    await store.clusters.keep([US, EU], fence=None)
    await store.clusters.forget(["us", "nothing"], fence=None)

    assert await store.clusters.list() == (EU,)


async def test_who_was_overtaken_keeps_no_cluster(store: stores.Store) -> None:
    old = await store.leases.acquire("drive", "a", timedelta(minutes=1))
    assert old is not None
    await store.leases.release(old)
    await store.leases.acquire("drive", "b", timedelta(minutes=1))
    fence: run_records.Fence = old.fence

    with pytest.raises(fencing.LeaseLost):
        await store.clusters.keep([US], fence=fence)
    with pytest.raises(fencing.LeaseLost):
        await store.clusters.forget(["us"], fence=fence)
    assert await store.clusters.list() == ()
