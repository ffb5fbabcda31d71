"""When an adopted object is what it was, and whose it has to be to be written over."""

from typing import Any

import pytest

import memory_client
from volary.clusters.api import api_errors
from volary.clusters.apply import restoration
from volary.clusters.client import resource_mapping
from volary.manifests.ownership import tracking
from volary.model import json
from volary.model.objects import manifest, ownership

SHOP = ownership.Owner("shop", "0123456789abcdef")
PEOPLE = {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
OURS = {"manager": "volary", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
SCALED = {**PEOPLE, "manager": "kube-controller-manager", "subresource": "scale"}
REVISION = "deployment.kubernetes.io/revision"
STATUS = {**PEOPLE, "manager": "kube-controller-manager", "subresource": "status"}


def web(replicas: int = 2, *managers: json.JsonObject, **metadata: Any) -> json.JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": "uid-1",
            "resourceVersion": "7",
            "managedFields": list(managers or (PEOPLE,)),
            **metadata,
        },
        "spec": {"replicas": replicas},
        "status": {"replicas": replicas},
    }


def kept(before: json.JsonObject) -> restoration.Kept:
    item = manifest.Manifest(before)
    return restoration.Kept(resource_mapping.MappedManifest(item, memory_client.DEPLOYMENTS), SHOP)


@pytest.mark.parametrize(
    ("live", "part"),
    [
        (web(2, PEOPLE, STATUS, resourceVersion="9", generation=4), ""),
        (web(2, annotations={"deployment.kubernetes.io/revision": "3"}), ""),
        (web(3), ".spec"),
        (web(3, PEOPLE, SCALED), ""),
        (web(2, labels={"a": "b"}), ".metadata"),
        (web(2, annotations={"a": "b"}), ".metadata.annotations"),
        (web(2, OURS), ".metadata.managedFields"),
    ],
)
def test_what_differs_from_how_it_was(live: json.JsonObject, part: str) -> None:
    assert restoration.differing_part(live, web()) == part


@pytest.mark.parametrize(
    ("live", "said"),
    [
        (web(3, OURS), ""),
        (web(3, PEOPLE, labels={}), "somebody else changed it since"),
        (web(3, PEOPLE, uid="uid-2"), "somebody else put another one in its place since"),
        (web(3, OURS, deletionTimestamp="2026-01-01T00:00:00Z"), "somebody is deleting it"),
    ],
)
def test_only_what_the_application_wrote_is_written_over(live: json.JsonObject, said: str) -> None:
    if not said:
        restoration.refuse_foreign(kept(web()), live)
        return
    with pytest.raises(restoration.NotRestoredError, match=said):
        restoration.refuse_foreign(kept(web()), live)


def test_marks_of_ours_are_ours_whoever_owns_the_fields() -> None:
    marked = tracking.owner_labels(SHOP)
    live = web(3, PEOPLE, labels=marked, annotations={**marked, tracking.APPLICATION: "shop"})

    restoration.refuse_foreign(kept(web()), live)


@pytest.mark.parametrize(
    ("live", "action"),
    [(web(2), "unchanged"), (web(3, OURS), "configured"), (None, "created")],
)
async def test_what_was_adopted_goes_back_to_what_it_was(
    live: json.JsonObject | None, action: str
) -> None:
    cluster = memory_client.MemoryCluster()
    if live is not None:
        cluster.put(memory_client.DEPLOYMENTS, live)

    change = await restoration.restore(cluster.client, kept(web(2)))

    assert (change.action.value, change.written) == (action, action != "unchanged")
    after = cluster.find(memory_client.DEPLOYMENTS, "web", "shop")
    assert after is not None
    assert after["spec"]["replicas"] == 2


async def test_what_somebody_has_changed_since_stays_theirs() -> None:
    cluster = memory_client.MemoryCluster()
    theirs = cluster.put(memory_client.DEPLOYMENTS, web(3, PEOPLE))

    with pytest.raises(restoration.NotRestoredError, match="somebody else changed it since"):
        await restoration.restore(cluster.client, kept(web(2)))

    assert cluster.find(memory_client.DEPLOYMENTS, "web", "shop") == theirs


@pytest.mark.looptime
async def test_what_controllers_change_all_the_time_is_given_up() -> None:
    cluster = memory_client.MemoryCluster()
    cluster.put(memory_client.DEPLOYMENTS, web(3, OURS))
    cluster.refusals["update deployments"] = api_errors.Conflict("it has changed", status=409)

    with pytest.raises(restoration.NotRestoredError, match="still not what it was after 20 tries"):
        await restoration.restore(cluster.client, kept(web(2)))


@pytest.mark.parametrize(
    ("before", "live", "after"),
    [
        ({"note": "by hand"}, {"added": "1"}, {"note": "by hand"}),
        ({"note": "by hand", REVISION: "1"}, {REVISION: "3"}, {"note": "by hand", REVISION: "3"}),
        ({REVISION: "1"}, {"added": "1"}, None),
        ({}, {}, None),
    ],
)
async def test_annotations_are_as_they_were_but_for_those_of_controllers(
    before: dict[str, str], live: dict[str, str], after: dict[str, str] | None
) -> None:
    cluster = memory_client.MemoryCluster()
    cluster.put(memory_client.DEPLOYMENTS, web(3, OURS, annotations=live))

    await restoration.restore(cluster.client, kept(web(2, annotations=before)))

    restored = cluster.find(memory_client.DEPLOYMENTS, "web", "shop")
    assert restored is not None
    assert restored["metadata"].get("annotations") == after
