"""What could not be deleted fails the stage, and stays remembered."""

from stage_world import NEW, OLD, World, config, deployment, made, service, world
from volary.clusters.inventory import inventory, pruning
from volary.manifests import objects
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
