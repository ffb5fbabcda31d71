"""Objects as they were seconds ago: when that is enough to apply one, and when not."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from memory_client import CONFIG_MAPS, DEPLOYMENTS, MemoryCluster
from volary.clusters.apply import steps, trials
from volary.clusters.client import recent_objects, resource_mapping
from volary.manifests.ownership import field_managers
from volary.model import json
from volary.model.objects import manifest, ownership

OWNER = ownership.Owner("shop", "0123456789abcdef")
MARKS = {"volary.dev/managed-by": "volary", "volary.dev/application-id": OWNER.id}
OURS = {"name": "a", "namespace": "default", "labels": MARKS, "annotations": MARKS}
REPLICAS = {"manager": "volary", "operation": "Apply", "fieldsV1": {"f:spec": {"f:replicas": {}}}}


def is_enough(kind: str, desired: json.JsonObject, live: json.JsonObject, **more: Any) -> bool:
    resource = DEPLOYMENTS if kind == "Deployment" else CONFIG_MAPS
    item = manifest.Manifest({"apiVersion": resource.api_version, "kind": kind, **desired})
    options: dict[str, Any] = {"force": False, "timeout": timedelta(1), "owner": OWNER, **more}
    tools = steps.Tools(MemoryCluster().client, field_managers.MANAGER, **options)
    return trials.is_enough(resource_mapping.MappedManifest(item, resource), live, tools)


def test_our_own_object_may_be_applied_by_how_it_was() -> None:
    assert is_enough("ConfigMap", {"metadata": OURS}, {"metadata": OURS})


@pytest.mark.parametrize(
    ("annotations", "live", "more"),
    [
        ({}, {**OURS, "labels": {}}, {}),
        ({}, {**OURS, "deletionTimestamp": "now"}, {}),
        ({"volary.dev/force-conflicts": "enabled"}, OURS, {}),
        ({"pipecd.dev/sync-by-replace": "enabled"}, OURS, {}),
        ({"pipecd.dev/force-sync-by-replace": "enabled"}, OURS, {}),
        ({}, OURS, {"force": True}),
        ({}, OURS, {"owner": ownership.Owner("shop", "other")}),
        ({}, OURS, {"owner": None}),
    ],
)
def test_whatever_takes_something_from_somebody_is_read_anew(
    annotations: dict[str, str], live: json.JsonObject, more: dict[str, Any]
) -> None:
    desired = {"metadata": {**OURS, "annotations": annotations}}

    assert not is_enough("ConfigMap", desired, {"metadata": live}, **more)


@pytest.mark.parametrize(
    ("wanted", "live", "owned", "enough"),
    [(2, 2, True, True), (3, 2, True, False), (2, 2, False, False), (None, 2, True, False)],
)
def test_replicas_that_somebody_may_scale_are_read_anew(
    wanted: int | None, live: int, owned: bool, enough: bool
) -> None:
    spec = {} if wanted is None else {"replicas": wanted}
    metadata = {**OURS, "managedFields": [REPLICAS] if owned else []}
    there = {"metadata": metadata, "spec": {"replicas": live}}

    assert is_enough("Deployment", {"metadata": OURS, "spec": spec}, there) is enough


@pytest.mark.looptime
async def test_few_objects_are_known_and_for_seconds_only() -> None:
    known = recent_objects.RecentObjects()
    for number in range(100):
        known.keep(CONFIG_MAPS, {"metadata": {"name": f"a{number}", "namespace": "default"}})

    def take(number: int) -> json.JsonObject | None:
        return known.take(CONFIG_MAPS, f"a{number}", "default")

    assert [number for number in range(90) if take(number)] == list(range(36, 90))
    assert take(40) is None, "once"
    known.forget(CONFIG_MAPS, "a90", "default")
    assert take(90) is None
    known.keep(CONFIG_MAPS, {"metadata": {"name": "a91", "namespace": "default"}}, written=True)
    assert take(91) is None, "what was written since is not what was previewed"
    assert known.written(CONFIG_MAPS, "a91", "default")
    await asyncio.sleep(11)
    assert take(92) is None
    assert known.written(CONFIG_MAPS, "a91", "default") is None
