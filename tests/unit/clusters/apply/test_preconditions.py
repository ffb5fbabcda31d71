"""A write is taken over exactly what was seen, and over nothing where nothing was."""

import pytest

from memory_client import CONFIG_MAPS, MemoryCluster
from volary.clusters.api import api_errors
from volary.clusters.apply import preconditions
from volary.model import errors, json


def config(value: str) -> json.JsonObject:
    metadata = {"name": "c", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": value}}


def value(cluster: MemoryCluster) -> str:
    body = cluster.find(CONFIG_MAPS, "c")
    return body["data"]["k"] if body else ""


async def test_what_arrives_after_somebody_elses_write_changes_nothing() -> None:
    cluster = MemoryCluster()
    seen = cluster.put(CONFIG_MAPS, config("1"))
    await preconditions.apply(cluster.client, CONFIG_MAPS, config("3"), seen)

    with pytest.raises(api_errors.Conflict):
        await preconditions.apply(cluster.client, CONFIG_MAPS, config("2"), seen, force=True)

    assert value(cluster) == "3"


async def test_what_arrives_after_a_delete_creates_nothing() -> None:
    cluster = MemoryCluster()
    seen = cluster.put(CONFIG_MAPS, config("1"))
    cluster.remove(CONFIG_MAPS, "c")

    with pytest.raises(api_errors.Conflict):
        await preconditions.apply(cluster.client, CONFIG_MAPS, config("2"), seen, force=True)

    assert value(cluster) == ""


async def test_what_was_to_be_created_does_not_change_what_somebody_else_created() -> None:
    cluster = MemoryCluster()
    await preconditions.apply(cluster.client, CONFIG_MAPS, config("3"), None)

    with pytest.raises(api_errors.Conflict):
        await preconditions.apply(cluster.client, CONFIG_MAPS, config("2"), None, force=True)

    assert value(cluster) == "3"


async def test_where_no_version_may_be_said_of_what_is_created_none_is() -> None:
    cluster = MemoryCluster()
    old = api_errors.VersionedCreation("no resourceVersion", status=500)
    cluster.refusals["patch configmaps"] = old
    cluster.before = lambda _: cluster.refusals.clear() if len(cluster.asked) > 1 else None

    made = await preconditions.apply(cluster.client, CONFIG_MAPS, config("1"), None)

    assert (made["data"]["k"], len(cluster.asked)) == ("1", 2)
    cluster.refusals["patch configmaps"] = old
    cluster.before = lambda _: None
    with pytest.raises(api_errors.VersionedCreation):
        await preconditions.apply(cluster.client, CONFIG_MAPS, config("2"), made)


async def test_fields_are_written_over_what_others_changed_as_long_as_that_is_due() -> None:
    cluster = MemoryCluster()
    seen = cluster.put(CONFIG_MAPS, config("1"))
    cluster.put(CONFIG_MAPS, {**config("1"), "data": {"k": "1", "other": "x"}})

    async def write(due: bool) -> bool:
        return await preconditions.apply_while(
            cluster.client,
            CONFIG_MAPS,
            config("2"),
            seen,
            lambda body: body is seen or due,
            field_manager="volary-scale",
        )

    assert not await write(due=False)
    assert value(cluster) == "1"
    assert await write(due=True)
    assert value(cluster) == "2"
    cluster.remove(CONFIG_MAPS, "c")
    assert not await write(due=True)


@pytest.mark.looptime
async def test_what_never_rests_is_given_up() -> None:
    cluster = MemoryCluster()
    seen = cluster.put(CONFIG_MAPS, config("1"))
    cluster.refusals["patch configmaps"] = api_errors.Conflict("it has changed", status=409)

    with pytest.raises(errors.TemporaryError, match="c kept changing"):
        await preconditions.apply_while(
            cluster.client, CONFIG_MAPS, config("2"), seen, lambda _: True, field_manager="m"
        )

    assert cluster.asked.count("patch configmaps/c") == preconditions.TRIES
