"""Project files of every store."""

from dataclasses import replace
from datetime import timedelta

import pytest

import store_fixtures as given
from volary.store import fencing, records, stores

FOUND = records.ProjectFilesRecord("git main teams", "a" * 40, "", {"files": []}, given.at(1))


async def test_the_files_of_a_source_come_back_as_they_were_kept_last(store: stores.Store) -> None:
    broken = replace(FOUND, problem="a.yaml: it is broken", updated=given.at(2))
    await store.project_files.keep(FOUND, fence=None)
    await store.project_files.keep(broken, fence=None)

    assert await store.project_files.get(FOUND.source) == broken


async def test_of_another_source_nothing_is_kept(store: stores.Store) -> None:
    other = replace(FOUND, source="git main others")
    await store.project_files.keep(FOUND, fence=None)
    await store.project_files.keep(other, fence=None)

    assert await store.project_files.get(FOUND.source) is None
    assert await store.project_files.get(other.source) == other


async def test_who_was_overtaken_keeps_no_project_files(store: stores.Store) -> None:
    old = await store.leases.acquire("drive", "a", timedelta(minutes=1))
    assert old is not None
    await store.leases.release(old)
    await store.leases.acquire("drive", "b", timedelta(minutes=1))

    with pytest.raises(fencing.LeaseLost):
        await store.project_files.keep(FOUND, fence=old.fence)
    assert await store.project_files.get(FOUND.source) is None
