"""A rollback brings a touched cluster back, proven, and takes away only what the run brought."""

import asyncio

import process_time
from stage_world import KEY, NEW, OLD, config, deployment, made, service, world
from volary.model.pipeline.stage_kinds import (
    added_stages,
    rollout_stages,
    stage_kind,
    traffic_stages,
)

ONE_POD = rollout_stages.VariantRolloutOptions(replicas=rollout_stages.Replicas(1))
BACK = stage_kind.NoOptions()


async def test_everything_is_as_before() -> None:
    """Traffic on the canary, primary half-way to a broken version, a new object: all undone."""
    async with world("us", "eu") as given:
        await given.deployed(OLD)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)
        await given.run(rollout_stages.BASELINE_ROLLOUT.name, ONE_POD)
        await given.run(
            traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(0, canary=100)
        )
        given.sources[NEW] = [
            made(deployment("shop:bad")),
            made(service()),
            made(config(greeting="new")),
            made(config("extra")),
        ]
        broken = await given.run(
            rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions()
        )
        assert {each.status for each in broken.values()} == {"failed"}

        async with given.watched_traffic("us") as lost:
            outcomes = await given.run(added_stages.ROLLBACK.name, BACK)

        assert {each.status for each in outcomes.values()} == {"succeeded"}, outcomes
        assert lost == []
        for target in given.names:
            assert given.images(target) == "shop:v1 2/2"
            assert given.traffic(target).by_label(KEY) == {"primary": 1.0}
            assert given.get(target, "ConfigMap", "settings")["data"] == {"greeting": "hello"}
            assert given.find(target, "ConfigMap", "extra") is None
            assert given.count(target, "Deployment") == 1
            assert given.count(target, "Pod") == 2


async def test_a_rollback_that_cannot_be_proven_is_no_success() -> None:
    async with world("us") as given:
        await given.deployed(OLD)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)
        await given.deployed(NEW)
        given.running.clusters["us"].faults.images.add("shop:v1", "never-ready")

        outcomes = await given.run(added_stages.ROLLBACK.name, BACK, limit=2)

        assert outcomes["us"].status == "failed"
        assert "shop" in outcomes["us"].reason


async def test_a_short_loss_of_credentials_leaves_no_canary_behind() -> None:
    """Nobody can log in when the rollback begins; it goes on once somebody can."""
    async with world("us") as given:
        await given.deployed(OLD)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)
        faults = given.running.clusters["us"].faults
        faults.change({"expiredTokens": True})
        given.reports = {}

        def is_told() -> bool:
            said = given.reports["us"].progress_said if given.reports else []
            return any("trying again" in progress.sentence for progress in said)

        async with asyncio.timeout(process_time.HANG), asyncio.TaskGroup() as group:
            back = group.create_task(given.run(added_stages.ROLLBACK.name, BACK, limit=60))
            while not is_told():  # noqa: ASYNC110 - lines have no event
                await asyncio.sleep(0.05)
            faults.change({"expiredTokens": False})

        outcomes = back.result()
        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.images("us") == "shop:v1 2/2"
        assert given.count("us", "Deployment") == 1


async def test_objects_of_others_stay() -> None:
    """What an earlier commit left behind is not the run's, so a rollback leaves it."""
    async with world("us") as given:
        given.sources[OLD].append(made(config("left-over")))
        await given.deployed(OLD)
        given.sources[OLD].pop()
        await given.deployed(NEW)

        outcomes = await given.run(added_stages.ROLLBACK.name, BACK)

        assert outcomes["us"].status == "succeeded"
        assert given.find("us", "ConfigMap", "left-over") is not None


async def test_a_first_deployment_is_taken_away_again() -> None:
    async with world("us") as given:
        given.sources[NEW] = [made(deployment("shop:bad")), made(service()), made(config())]
        await given.run(rollout_stages.SYNC.name, rollout_stages.SyncOptions(), running="")

        outcomes = await given.run(added_stages.ROLLBACK.name, BACK, running="")

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert "first deployment" in outcomes["us"].reason
        assert given.find("us", "Deployment", "shop") is None
        assert given.find("us", "Service", "shop") is None
        assert given.count("us", "ConfigMap", **{"volary.dev/inventory": "shop"}) == 0


async def test_routes_stay_with_the_canary_until_primary_has_a_ready_pod() -> None:
    """Primary was taken down by its own rollout; users stay with the canary until it is back."""
    async with world("us") as given:
        for commit, image in ((OLD, "shop:v1"), (NEW, "shop:bad")):
            body = deployment(image)
            body["spec"]["strategy"] = {"type": "Recreate"}
            given.sources[commit] = [made(body), made(service()), made(config())]
        await given.deployed(OLD)
        given.sources["canary"] = [made(deployment("shop:v2")), made(service()), made(config())]
        await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD, commit="canary")
        await given.run(
            traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(0, canary=100)
        )
        await given.run(rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions())
        assert given.images("us") == "shop:bad 0/2"

        async with given.watched_traffic("us") as lost:
            outcomes = await given.run(added_stages.ROLLBACK.name, BACK)

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert lost == []
        assert any("stays as it is for now" in line for line in outcomes["us"].details)
        assert given.images("us") == "shop:v1 2/2"
        assert given.traffic("us").by_label(KEY) == {"primary": 1.0}


async def test_a_rollback_is_safe_to_run_again() -> None:
    async with world("us") as given:
        await given.deployed(OLD)
        await given.deployed(NEW)
        await given.run(added_stages.ROLLBACK.name, BACK)

        again = await given.run(added_stages.ROLLBACK.name, BACK)

        assert again["us"].status == "succeeded"
        assert not again["us"].touched
