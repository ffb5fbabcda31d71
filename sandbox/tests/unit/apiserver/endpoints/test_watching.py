"""Watches over a real socket."""

import asyncio
from typing import Any

import pytest

import process_time
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.storage import verbs

MAPS = "/api/v1/namespaces/a/configmaps"
CONFIG_MAP = kinds.built_in("", "v1", "ConfigMap")
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


def _create(api: Any, name: str, **labels: str) -> None:
    api.registry.create(CONFIG_MAP, "a", {"metadata": {"name": name, "labels": labels}})


def _seen(events: list[Any]) -> list[tuple[str, str]]:
    return [(each["type"], each["object"]["metadata"].get("name", "")) for each in events]


async def test_without_a_version_all_there_is_comes_first(api: Any) -> None:
    _create(api, "x")
    _create(api, "y")

    events = await api.watch(f"{MAPS}?watch=1", 2)

    assert _seen(events) == [("ADDED", "x"), ("ADDED", "y")]


async def test_from_a_version_what_came_after_is_told(api: Any) -> None:
    _create(api, "x")
    version = api.registry.storage.revision
    _create(api, "y")
    api.registry.delete(CONFIG_MAP, "a", "x")

    events = await api.watch(f"{MAPS}?watch=true&resourceVersion={version}", 2)

    assert _seen(events) == [("ADDED", "y"), ("DELETED", "x")]
    assert int(events[1]["object"]["metadata"]["resourceVersion"]) == version + 2


async def test_initial_events_end_with_a_bookmark(api: Any) -> None:
    _create(api, "x")
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"

    events = await api.watch(f"{MAPS}?{query}&allowWatchBookmarks=true", 2)

    assert _seen(events) == [("ADDED", "x"), ("BOOKMARK", "")]
    metadata = events[1]["object"]["metadata"]
    assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert metadata["resourceVersion"] == str(api.registry.storage.revision)


async def test_a_version_nobody_remembers_is_gone(api: Any) -> None:
    for number in range(12):
        _create(api, f"x{number}")

    code, text = await api.ask("GET", f"{MAPS}?watch=1&resourceVersion=1&timeoutSeconds=1")

    assert code == 200
    assert text["type"] == "ERROR"
    assert (text["object"]["code"], text["object"]["reason"]) == (410, "Expired")


@pytest.mark.parametrize(
    "query",
    [
        "sendInitialEvents=true",
        "resourceVersionMatch=NotOlderThan",
        "resourceVersion=x",
        "labelSelector=a=(b",
        "fieldSelector=spec.x=y",
    ],
)
async def test_watches_that_make_no_sense_are_refused(api: Any, query: str) -> None:
    code, _ = await api.ask("GET", f"{MAPS}?watch=1&{query}")

    assert code in (400, 422)


async def test_a_watch_ends_when_its_time_is_over(api: Any) -> None:
    async with asyncio.timeout(process_time.HANG):
        async with api.request("GET", f"{MAPS}?watch=1&timeoutSeconds=1") as response:
            assert await response.text() == ""


async def test_watches_end_when_the_server_stops(api: Any) -> None:
    async with asyncio.timeout(5):
        async with api.request("GET", f"{MAPS}?watch=1") as response:
            await api.server.stop()
            assert await response.text() == ""


async def test_one_object_can_be_watched(api: Any) -> None:
    _create(api, "x")
    _create(api, "y")

    events = await api.watch(f"{MAPS}/y?watch=1", 1)

    assert _seen(events) == [("ADDED", "y")]


async def test_tables_say_their_columns_once(api: Any) -> None:
    _create(api, "x")
    _create(api, "y")

    events = await api.watch(f"{MAPS}?watch=1", 2, headers=TABLE)

    tables = [each["object"] for each in events]
    assert [each["rows"][0]["cells"][0] for each in tables] == ["x", "y"]
    assert tables[0]["columnDefinitions"][0]["name"] == "Name"
    assert tables[1]["columnDefinitions"] is None


async def test_other_namespaces_and_kinds_stay_out(api: Any) -> None:
    api.registry.create(kinds.NAMESPACE, "", {"metadata": {"name": "b"}})
    version = api.registry.storage.revision
    api.registry.create(CONFIG_MAP, "b", {"metadata": {"name": "elsewhere"}})
    api.registry.create(
        kinds.built_in("", "v1", "ServiceAccount"), "a", {"metadata": {"name": "another"}}
    )
    _create(api, "here")

    events = await api.watch(f"{MAPS}?watch=1&resourceVersion={version}", 1)

    assert _seen(events) == [("ADDED", "here")]


async def test_changes_flow_while_one_watches(api: Any) -> None:
    async with api.request("GET", f"{MAPS}?watch=1&labelSelector=w") as response:
        _create(api, "x", w="1")
        first = await response.content.readline()
        change = {"metadata": {"labels": {"w": None}}}
        api.registry.patch(CONFIG_MAP, "a", "x", change, verbs.PatchType.MERGE)
        second = await response.content.readline()

    assert first.startswith(b'{"type":"ADDED"')
    assert second.startswith(b'{"type":"DELETED"')
    assert b'"w":"1"' in second
