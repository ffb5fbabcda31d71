"""Agents in the store: each kind of database keeps them alike."""

from dataclasses import replace

import store_fixtures as given
from volary.store import records, stores

US = records.AgentRecord(
    "us",
    "hash-1",
    created=given.BEGINNING,
    rotated=given.BEGINNING,
    sealing_key="key-1",
    document={"clusters": ["us"]},
)


async def test_what_is_kept_is_what_is_read(store: stores.Store) -> None:
    assert await store.agents.add(US)
    assert not await store.agents.add(replace(US, hash="hash-2")), "one of each name"

    assert await store.agents.list() == (US,)
    assert await store.agents.find("hash-1") == US
    assert await store.agents.find("") is None
    assert await store.agents.find("hash-2") is None


async def test_rotation_keeps_what_is_in_use(store: stores.Store) -> None:
    await store.agents.add(US)
    for digest in ("hash-2", "hash-3"):
        assert await store.agents.rotate(
            "us", digest=digest, sealing_key=f"key of {digest}", at=given.at(1)
        )
    rotated = await store.agents.get("us")

    assert rotated == replace(
        US,
        hash="hash-3",
        previous="hash-1",
        sealing_key="key of hash-3",
        previous_sealing_key="key-1",
        rotated=given.at(1),
    )
    assert await store.agents.find("hash-1") == rotated
    assert await store.agents.find("hash-2") is None
    assert not await store.agents.confirm("us", digest="hash-2")
    assert await store.agents.confirm("us", digest="hash-3")
    assert await store.agents.find("hash-1") is None


async def test_a_cluster_is_pinned_once(store: stores.Store) -> None:
    await store.agents.add(US)

    assert await store.agents.pin("us", cluster_uid="a")
    assert await store.agents.pin("us", cluster_uid="a")
    assert not await store.agents.pin("us", cluster_uid="b")
    assert not await store.agents.pin("eu", cluster_uid="a")


async def test_what_it_said_is_kept(store: stores.Store) -> None:
    await store.agents.add(US)
    document = {"clusters": ["us"], "policy": ["reads nothing"]}
    await store.agents.note(
        "us", seen=given.at(2), reason="no", version="0.2.0", protocol=1, document=document
    )
    await store.agents.note("us", seen=given.at(3), reason="")

    assert await store.agents.get("us") == replace(
        US, seen=given.at(3), version="0.2.0", protocol=1, document=document
    )
    assert await store.agents.remove("us")
    assert not await store.agents.remove("us")
    assert not await store.agents.note("us", seen=given.at(4), reason="")
    assert await store.agents.list() == ()
