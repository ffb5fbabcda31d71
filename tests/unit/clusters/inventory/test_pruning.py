"""What could not be deleted fails the stage, and stays remembered."""

from datetime import timedelta
from typing import Any

import pytest

from kube_sandbox.apiserver.storage import verbs
from memory_client import CONFIG_MAPS, MemoryCluster, kind
from stage_world import NEW, OLD, World, config, deployment, made, service, world
from volary.clusters.client import clients
from volary.clusters.inventory import inventory, owned_objects, pruning
from volary.manifests import objects
from volary.manifests.ownership import tracking
from volary.model import json
from volary.model.objects import apply_results, manifest, ownership
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import rollout_stages

USER = verbs.Options(manager="kubectl", agent="kubectl")
SHOP = ownership.Owner("shop", "0123456789abcdef")
SYNC = rollout_stages.SyncOptions(prune=True)
BASE = [made(deployment("shop:v1")), made(service()), made(config())]
#: A finalizer whose controller never comes.
HELD = {**config("old"), "metadata": {"name": "old", "finalizers": ["example.com/hold"]}}


def _remembered(given: World) -> set[str]:
    stored = inventory.from_object(
        given.get("us", "ConfigMap", inventory.name(given.application.owner))
    )
    assert stored is not None
    return {reference.key.name for reference in stored.references}


async def test_what_must_not_be_deleted_fails_the_stage_and_is_remembered() -> None:
    async with world("us") as given:
        given.sources = {OLD: [*BASE, made(config("old"))], NEW: BASE}
        await given.deployed(OLD)
        cluster = given.running.clusters["us"]
        cluster.faults.change({"denied": "delete configmaps"})

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        assert outcomes["us"].status == "failed"
        assert "ConfigMap default/old was not deleted" in outcomes["us"].reason
        assert "old" in _remembered(given)

        cluster.faults.clear()
        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.find("us", "ConfigMap", "old") is None
        assert _remembered(given) == {"shop", "settings"}


async def test_what_does_not_go_fails_the_stage() -> None:
    async with world("us") as given:
        given.sources = {OLD: [*BASE, made(HELD)], NEW: BASE}
        await given.deployed(OLD)

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, limit=2.0)

        assert outcomes["us"].status == "failed"
        held = "ConfigMap default/old, held by example.com/hold"
        assert held in outcomes["us"].reason
        assert objects.text(given.get("us", "ConfigMap", "old"), "metadata", "deletionTimestamp")
        assert any(held in seen.sentence for seen in given.reports["us"].progress_said)
        assert "old" in _remembered(given)

        again = await given.run(rollout_stages.SYNC.name, SYNC, limit=2.0)

        assert again["us"].status == "failed"
        assert held in again["us"].reason

        registry = given.running.clusters["us"].registry
        merge = {"metadata": {"finalizers": None}}
        kind = registry.kind("v1", "ConfigMap")
        registry.patch(kind, "default", "old", merge, verbs.PatchType.MERGE, USER)
        last = await given.run(rollout_stages.SYNC.name, SYNC)

        assert last["us"].status == "succeeded", last["us"]


async def test_what_is_kept_on_purpose_is_no_failure_and_is_remembered() -> None:
    kept = {
        **config("old"),
        "metadata": {"name": "old", "annotations": {pruning.PRUNE: "disabled"}},
    }
    async with world("us") as given:
        given.sources = {OLD: [*BASE, made(kept)], NEW: BASE}
        await given.deployed(OLD)

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.find("us", "ConfigMap", "old") is not None
        assert "old" in _remembered(given)


async def test_what_was_taken_over_before_its_delete_is_remembered() -> None:
    """It is looked at twice: when all is listed, and right before it would go."""
    async with world("us") as given:
        given.sources = {OLD: [*BASE, made(config("old"))], NEW: BASE}
        await given.deployed(OLD)
        client = await given.clients.client("us")
        assert isinstance(client, clients.Client)
        looks: list[str] = []

        def check(_body: json.JsonObject) -> str:
            looks.append("look")
            return "somebody took it over" if len(looks) > 1 else ""

        result = await pruning.prune(
            client,
            BASE,
            owned_objects.Scope(given.application.owner),
            timeout=timedelta(seconds=5),
            check=check,
        )

        assert [change.reason for change in result.changes] == ["somebody took it over"]
        assert result.deleted == 0
        assert given.find("us", "ConfigMap", "old") is not None
        assert "old" in _remembered(given)


CLAIMS = kind("", "PersistentVolumeClaim", "persistentvolumeclaims")


def _tracked(name: str, group_kind: str = "ConfigMap") -> json.JsonObject:
    metadata = {"name": name, "namespace": "default"}
    item = manifest.Manifest({"apiVersion": "v1", "kind": group_kind, "metadata": metadata})
    return tracking.track(
        item,
        owner=SHOP,
        commit="c1",
        variant=variant.Variant.PRIMARY,
        label=variant.VariantLabel(),
    ).body


def _keep(body: json.JsonObject) -> str:
    return "a route leads to it" if "routed" in body["metadata"]["annotations"] else ""


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("annotations", "reason"),
    [
        ({tracking.APPLICATION_ID: "other"}, "it was not applied by Volary for shop"),
        ({pruning.PRUNE: "disabled"}, "it says volary.dev/prune: disabled"),
        ({"routed": "yes"}, "a route leads to it"),
    ],
)
@pytest.mark.parametrize("late", [False, True])
async def test_each_reason_to_stay_counts_when_listed_and_right_before_the_delete(
    annotations: dict[str, str], reason: str, late: bool
) -> None:
    cluster = MemoryCluster()
    body = _tracked("old")
    changed: Any = {
        **body,
        "metadata": {
            **body["metadata"],
            "annotations": {**body["metadata"]["annotations"], **annotations},
        },
    }
    cluster.put(CONFIG_MAPS, body if late else changed)

    def change(asked: str) -> None:
        if asked == "get configmaps/old":
            cluster.put(CONFIG_MAPS, changed)

    cluster.before = change
    result = await pruning.delete_all(
        cluster.client, owned_objects.Scope(SHOP), timeout=timedelta(seconds=5), check=_keep
    )

    assert [(change.action, change.reason) for change in result.changes] == [
        (apply_results.Action.SKIPPED, reason)
    ]
    assert cluster.find(CONFIG_MAPS, "old") is not None


@pytest.mark.looptime
async def test_data_of_people_is_never_pruned() -> None:
    cluster = MemoryCluster()
    cluster.resources.append(CLAIMS)
    cluster.put(CONFIG_MAPS, _tracked("old"))
    cluster.put(CLAIMS, _tracked("data", "PersistentVolumeClaim"))

    result = await pruning.prune(
        cluster.client,
        [made(_tracked("new")), made(_tracked("data2", "PersistentVolumeClaim"))],
        owned_objects.Scope(SHOP, allow_mass_deletion=True),
        timeout=timedelta(seconds=5),
    )

    assert {(change.key.name, change.reason) for change in result.changes} == {
        ("old", ""),
        ("data", "its data would go with it"),
    }
    assert cluster.find(CONFIG_MAPS, "old") is None
    assert cluster.find(CLAIMS, "data") is not None


@pytest.mark.looptime
async def test_a_prune_of_nearly_everything_is_refused_with_its_reason() -> None:
    cluster = MemoryCluster()
    for number in range(9):
        cluster.put(CONFIG_MAPS, _tracked(f"old-{number}"))

    result = await pruning.prune(
        cluster.client,
        [made(_tracked("new"))],
        owned_objects.Scope(SHOP),
        timeout=timedelta(seconds=5),
    )

    assert "9 of 9" in result.refusal
    assert (result.changes, len(cluster.objects)) == ((), 9)
