"""A whole canary pipeline over three clusters, stage by stage."""

import asyncio

from stage_world import KEY, NEW, OLD, world
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind, traffic_stages

ONE_POD = rollout_stages.VariantRolloutOptions(replicas=rollout_stages.Replicas(1))
CLEAN = stage_kind.NoOptions()


async def test_the_new_version_goes_canary_first_over_three_clusters() -> None:
    """Each stage leaves every cluster in the state its name promises; no request is lost."""
    async with world("us", "eu", "asia") as given:
        await given.deployed(OLD)
        everywhere = given.names

        async with given.watched_traffic("eu") as lost:
            for name in (rollout_stages.CANARY_ROLLOUT.name, rollout_stages.BASELINE_ROLLOUT.name):
                outcomes = await given.run(name, ONE_POD)
                assert {each.status for each in outcomes.values()} == {"succeeded"}, outcomes
            for target in everywhere:
                assert given.images(target) == "shop:v1 2/2"
                assert given.images(target, "shop-canary") == "shop:v2 1/1"
                assert given.images(target, "shop-baseline") == "shop:v1 1/1"

            outcomes = await given.run(
                traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(0, canary=100)
            )
            assert outcomes["us"].reason == "traffic: canary 100 %"
            for target in everywhere:
                assert given.traffic(target).by_label(KEY) == {"canary": 1.0}

            outcomes = await given.run(
                rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions()
            )
            assert {each.status for each in outcomes.values()} == {"succeeded"}, outcomes
            for target in everywhere:
                assert given.images(target) == "shop:v2 2/2"
                assert given.traffic(target).by_label(KEY) == {"primary": 1.0}

            for name in (rollout_stages.CANARY_CLEAN.name, rollout_stages.BASELINE_CLEAN.name):
                outcomes = await given.run(name, CLEAN)
                assert {each.status for each in outcomes.values()} == {"succeeded"}, outcomes
        assert lost == []
        for target in everywhere:
            assert given.count(target, "Deployment") == 1
            assert given.count(target, "Pod") == 2
            assert given.count(target, "ConfigMap", **{"volary.dev/application": "shop"}) == 1
            assert (
                given.get(target, "Deployment", "shop")["metadata"]["annotations"][
                    "volary.dev/commit"
                ]
                == NEW
            )


async def test_running_a_stage_again_changes_nothing() -> None:
    async with world("us") as given:
        await given.deployed(OLD)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)
        before = given.get("us", "Deployment", "shop-canary")["metadata"]["resourceVersion"]

        outcomes = await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)

        assert outcomes["us"].status == "succeeded"
        assert not outcomes["us"].touched
        after = given.get("us", "Deployment", "shop-canary")["metadata"]["resourceVersion"]
        assert after == before


async def test_one_broken_cluster_leaves_the_others_alone() -> None:
    """The image cannot be pulled in one cluster: it fails early, with the pod's reason."""
    async with world("us", "eu", "asia") as given:
        await given.deployed(OLD)
        given.running.clusters["eu"].faults.images.add("shop:v2", "bad")

        outcomes = await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)

        assert outcomes["eu"].status == "failed"
        assert "shop-canary" in outcomes["eu"].reason
        assert "Pull" in outcomes["eu"].reason
        assert outcomes["eu"].touched
        for target in ("us", "asia"):
            assert outcomes[target].status == "succeeded"
            assert given.images(target, "shop-canary") == "shop:v2 1/1"
        assert given.images("eu") == "shop:v1 2/2"
        assert given.traffic("eu").lost == 0


async def test_an_unreachable_cluster_is_its_own_status() -> None:
    async with world("us", "eu") as given:
        await given.deployed(OLD)
        given.running.clusters["eu"].faults.change({"lost": "refuse"})

        outcomes = await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)

        assert outcomes["eu"].status == "unreachable"
        assert outcomes["us"].status == "succeeded"


async def test_the_baseline_needs_a_running_version() -> None:
    async with world("us") as given:
        outcomes = await given.run(rollout_stages.BASELINE_ROLLOUT.name, ONE_POD, running="")

        assert outcomes["us"].status == "failed"
        assert "first deployment" in outcomes["us"].reason
        assert not outcomes["us"].touched


async def test_a_stage_that_is_told_to_stop_says_what_it_left() -> None:
    """What is being written is finished, and no longer waited for."""
    async with world("us") as given:
        await given.deployed(OLD)
        given.running.clusters["us"].faults.images.add("shop:v2", "never-ready")
        stop = given.stops["us"]

        async def soon() -> None:
            await given.running.clusters["us"].until(
                lambda view: view.get("Deployment", "default", "shop-canary") is not None
            )
            stop.raise_flag("eu failed")

        async with asyncio.TaskGroup() as group:
            group.create_task(soon())
            running = group.create_task(given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD))
        found = running.result()["us"]

        assert found.status == "cancelled"
        assert found.reason.startswith("eu failed; no longer waiting")
        assert found.touched
