"""A cluster's inventory says what users have: after a promotion, and after a rollback."""

from stage_world import NEW, OLD, World, deployment, made, world
from volary.clusters.inventory import inventory
from volary.model.pipeline.stage_kinds import added_stages, rollout_stages, stage_kind

SYNC = rollout_stages.SyncOptions()
PRIMARY = rollout_stages.PrimaryRolloutOptions()
ONE_POD = rollout_stages.VariantRolloutOptions(replicas=rollout_stages.Replicas(1))
BACK = stage_kind.NoOptions()


def commits(given: World) -> dict[str, tuple[str, str]]:
    """Return the commit that began and the one that runs, as each cluster says it."""
    name = inventory.name(given.application.owner)
    stored = {
        target: inventory.from_object(given.get(target, "ConfigMap", name))
        for target in given.names
    }
    return {target: (known.begun, known.commit) for target, known in stored.items() if known}


async def test_it_changes_where_and_when_users_get_another_version() -> None:
    async with world("us", "eu") as given:
        await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD, commit=OLD, running="")
        assert commits(given) == dict.fromkeys(given.names, (OLD, "")), "nobody has it yet"

        await given.deployed(OLD)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)
        assert commits(given) == dict.fromkeys(given.names, (OLD, OLD)), "a canary is a trial"

        await given.run(rollout_stages.PRIMARY_ROLLOUT.name, PRIMARY, targets=["us"])
        assert commits(given) == {"us": (OLD, NEW), "eu": (OLD, OLD)}

        await given.run(added_stages.ROLLBACK.name, BACK)
        assert commits(given) == dict.fromkeys(given.names, (OLD, OLD))


async def test_a_rollout_that_fails_does_not_run() -> None:
    async with world("us") as given:
        await given.deployed(OLD)
        given.sources[NEW] = [made(deployment("shop:bad"))]

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        assert outcomes["us"].status == "failed"
        assert commits(given) == {"us": (OLD, OLD)}
