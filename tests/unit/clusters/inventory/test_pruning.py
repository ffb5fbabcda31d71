"""What could not be deleted fails the stage, and stays remembered."""

from datetime import timedelta

from stage_world import NEW, OLD, World, config, deployment, made, service, world
from volary.clusters.client import clients
from volary.clusters.inventory import inventory, owned_objects, pruning
from volary.manifests import objects
from volary.model import json
from volary.model.pipeline.stage_kinds import rollout_stages

SYNC = rollout_stages.SyncOptions(prune=True)
BASE = [made(deployment("shop:v1")), made(service()), made(config())]
#: A finalizer whose controller never comes.
HELD = {**config("old"), "metadata": {"name": "old", "finalizers": ["example.com/hold"]}}


def _remembered(given: World) -> set[str]:
    body = given.get("us", "ConfigMap", inventory.name("shop"))
    references = inventory.from_object(body, "shop").references
    return {reference.key.name for reference in references}


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
        assert "old" in outcomes["us"].reason
        assert objects.text(given.get("us", "ConfigMap", "old"), "metadata", "deletionTimestamp")


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
            client, BASE, owned_objects.Scope("shop"), timeout=timedelta(seconds=5), check=check
        )

        assert [change.reason for change in result.changes] == ["somebody took it over"]
        assert result.deleted == 0
        assert given.find("us", "ConfigMap", "old") is not None
        assert "old" in _remembered(given)
