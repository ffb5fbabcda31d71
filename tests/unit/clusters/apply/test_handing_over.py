"""Fields are handed over in one write of exactly what was read, or not at all."""

from typing import Any

import pytest

import memory_client
from volary.clusters.api import api_errors
from volary.clusters.apply import handing_over
from volary.clusters.client import resource_mapping
from volary.model import errors, json
from volary.model.objects import manifest, ownership

CONFIG_MAPS = memory_client.CONFIG_MAPS
RULE = handing_over.Rule("volary")
REFUSE = ownership.Conflicts(ownership.ConflictPolicy.REFUSE)
PERSON = {
    "manager": "k9s",
    "operation": "Update",
    "apiVersion": "v1",
    "fieldsV1": {"f:data": {"f:a": {}}},
}


def config(**data: str) -> json.JsonObject:
    metadata: json.JsonObject = {"name": "c", "namespace": "default", "managedFields": [PERSON]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


MAPPED = resource_mapping.MappedManifest(manifest.Manifest(config(a="2")), CONFIG_MAPS)


def managers(body: json.JsonObject | None) -> list[str]:
    assert body is not None
    return [entry["manager"] for entry in body["metadata"]["managedFields"]]


def at_version_of(after: json.JsonObject | None, before: json.JsonObject) -> json.JsonObject:
    assert after is not None
    version = after["metadata"]["resourceVersion"]
    assert version != before["metadata"]["resourceVersion"]
    return {**before, "metadata": {**before["metadata"], "resourceVersion": version}}


def pass_all(_: json.JsonObject) -> None:
    return


async def test_who_owned_it_owns_it_no_more_and_the_object_is_as_it_was() -> None:
    cluster = memory_client.MemoryCluster()
    live = cluster.put(CONFIG_MAPS, config(a="1"))

    before = await handing_over.hand_over(cluster.client, MAPPED, live, RULE, pass_all)

    after = cluster.find(CONFIG_MAPS, "c")
    assert before == at_version_of(after, live)
    assert (managers(after), after and after["data"]) == (["volary"], {"a": "1"})


@pytest.mark.parametrize("metadata", [{}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}])
async def test_what_is_not_ours_to_take_is_left(metadata: Any) -> None:
    cluster = memory_client.MemoryCluster()
    body = config(a="1")
    live = cluster.put(CONFIG_MAPS, {**body, "metadata": {**body["metadata"], **metadata}})
    rule = RULE if metadata else handing_over.Rule("volary", REFUSE)

    assert await handing_over.hand_over(cluster.client, MAPPED, live, rule, pass_all) == live
    assert cluster.find(CONFIG_MAPS, "c") == live


async def test_what_has_changed_meanwhile_is_looked_at_again() -> None:
    cluster = memory_client.MemoryCluster()
    stale = cluster.put(CONFIG_MAPS, config(a="1"))
    newer = cluster.put(CONFIG_MAPS, config(a="3"))
    seen: list[Any] = []

    before = await handing_over.hand_over(cluster.client, MAPPED, stale, RULE, seen.append)

    assert (before, seen) == (at_version_of(cluster.find(CONFIG_MAPS, "c"), newer), [newer])
    assert managers(cluster.find(CONFIG_MAPS, "c")) == ["volary"]


@pytest.mark.looptime
async def test_what_has_gone_meanwhile_is_said_and_what_never_rests_is_given_up() -> None:
    cluster = memory_client.MemoryCluster()
    live = cluster.put(CONFIG_MAPS, config(a="1"))
    cluster.refusals["patch configmaps"] = api_errors.Conflict("it has changed", status=409)

    with pytest.raises(errors.TemporaryError, match="it kept changing"):
        await handing_over.hand_over(cluster.client, MAPPED, live, RULE, pass_all)

    cluster.remove(CONFIG_MAPS, "c")
    assert await handing_over.hand_over(cluster.client, MAPPED, live, RULE, pass_all) is None


async def test_what_a_handover_and_an_apply_give_is_foreseen() -> None:
    """Git has `a` only; what the person owned beside it goes with the handover."""
    cluster = memory_client.MemoryCluster()
    owner = {**PERSON, "fieldsV1": {"f:data": {"f:a": {}, "f:b": {}}}}
    ours = {**PERSON, "manager": "volary", "operation": "Apply"}
    live = config(a="1", b="1")
    live["metadata"]["managedFields"] = [owner]
    live = cluster.put(CONFIG_MAPS, live)
    answer = {**live, "metadata": {**live["metadata"], "managedFields": [owner, ours]}}
    answer["data"] = {"a": "2", "b": "1"}

    seen = await handing_over.foresee(cluster.client, MAPPED, live, answer, RULE)

    assert seen["data"] == {"a": "2"}
    assert cluster.find(CONFIG_MAPS, "c") == live


async def test_a_handover_that_takes_nothing_away_is_not_tried_again() -> None:
    cluster = memory_client.MemoryCluster()
    live = cluster.put(CONFIG_MAPS, config(a="1"))
    ours = {**PERSON, "manager": "volary", "operation": "Apply"}
    answer = {**live, "metadata": {**live["metadata"], "managedFields": [PERSON, ours]}}
    cluster.refusals["dry patch configmaps"] = errors.PermanentError("not asked")

    assert await handing_over.foresee(cluster.client, MAPPED, live, answer, RULE) == answer
