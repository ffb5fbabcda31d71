"""Workloads that are scaled by load: canary follows its weight, primary's scaler is left alone."""

from datetime import timedelta

import pytest

import stage_contexts
from kube_sandbox.apiserver.storage import verbs
from stage_world import NEW, OLD, Report, World, deployment, made, service, world
from volary.clusters.client import clients
from volary.model import json
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import (
    added_stages,
    rollout_stages,
    stage_kind,
    traffic_stages,
)
from volary.stages.rollouts import scaling
from volary.stages.runtime import execution, outcomes

TENTH = rollout_stages.VariantRolloutOptions(
    replicas=rollout_stages.Replicas(10, is_percentage=True)
)
SCALER: json.JsonObject = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "shop"},
    "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"},
        "minReplicas": 2,
        "maxReplicas": 50,
    },
}
KEDA: json.JsonObject = {
    "apiVersion": "keda.sh/v1alpha1",
    "kind": "ScaledObject",
    "metadata": {"name": "shop"},
    "spec": {"scaleTargetRef": {"name": "shop"}, "triggers": []},
}


async def test_a_percentage_is_taken_of_the_pods_that_primary_has_now() -> None:
    async with world("us") as given:
        await scaled(given, to=20)

        outcomes = await given.run(rollout_stages.CANARY_ROLLOUT.name, TENTH)

        assert outcomes["us"].status == "succeeded", outcomes
        assert given.images("us", "shop-canary") == "shop:v2 2/2"
        assert given.images("us") == "shop:v1 20/20"


async def test_a_number_in_git_counts_as_it_is() -> None:
    async with world("us") as given:
        await given.deployed(OLD)

        await given.run(rollout_stages.CANARY_ROLLOUT.name, TENTH)

        assert given.images("us", "shop-canary") == "shop:v2 1/1"


async def test_promotion_and_clean_up_leave_the_scalers_number() -> None:
    async with world("us") as given:
        await scaled(given, to=7)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, TENTH)

        outcomes = await given.run(
            rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions()
        )
        await given.run(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions())

        assert outcomes["us"].status == "succeeded", outcomes
        assert given.images("us") == "shop:v2 7/7"
        assert given.find("us", "Deployment", "shop-canary") is None


async def test_canary_grows_with_its_weight_and_never_shrinks_under_traffic() -> None:
    """What a progressive stage does before each step."""
    async with world("us") as given:
        await scaled(given, to=10)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, TENTH)
        assert given.images("us", "shop-canary") == "shop:v2 1/1"

        for share, pods in ((30, 3), (50, 5), (20, 5)):
            await followed(given, share)
            assert given.images("us", "shop-canary") == f"shop:v2 {pods}/{pods}"

        assert given.images("us") == "shop:v1 10/10"
        await given.run(added_stages.ROLLBACK.name, stage_kind.NoOptions())
        assert given.images("us") == "shop:v1 10/10"
        assert given.find("us", "Deployment", "shop-canary") is None


@pytest.mark.parametrize("scaler", [SCALER, KEDA], ids=["HPA", "KEDA"])
def test_a_scaler_in_git_counts_more_than_the_number_beside_it(scaler: json.JsonObject) -> None:
    source = [made(deployment("shop:v2")), made(scaler)]

    assert scaling.is_scaled_by_others(source[0], source)
    assert not scaling.is_scaled_by_others(source[0], source[:1])


async def followed(given: World, share: int) -> None:
    """When: canary is about to get a part of the traffic."""
    client = await given.clients.client("us")
    assert isinstance(client, clients.Client)

    async def load() -> list[manifest.Manifest]:
        return given.sources[NEW]

    async def follow(work: execution.Work) -> str:
        return await scaling.scale_canary(work, await load(), share)

    asked = pipelines.Stage(
        traffic_stages.PROGRESSIVE_TRAFFIC.name,
        traffic_stages.ProgressiveTrafficOptions(step_weight=10),
    )
    context = stage_contexts.context(
        application=given.application,
        stage=asked,
        target="us",
        client=client,
        commit=NEW,
        target_source=load,
        report=Report(),
        clock=stage_contexts.LoopClock(),
        timeout=timedelta(seconds=10),
    )
    outcome = await outcomes.carry_out(context, follow)
    assert outcome.status == "succeeded", outcome


async def scaled(given: World, *, to: int) -> None:
    """Given: the old version runs with as many pods as an autoscaler has decided."""
    for commit, image in ((OLD, "shop:v1"), (NEW, "shop:v2")):
        body = deployment(image)
        del body["spec"]["replicas"]
        given.sources[commit] = [made(body), made(service()), made(SCALER)]
    await given.deployed(OLD)
    cluster = given.running.clusters["us"]
    cluster.registry.patch(
        cluster.registry.kind("apps/v1", "Deployment"),
        "default",
        "shop",
        {"spec": {"replicas": to}},
        verbs.PatchType.MERGE,
        verbs.Options(manager="kube-controller-manager", agent="kube-controller-manager"),
    )
    await cluster.until(
        lambda view: view.get("Deployment", "default", "shop")["status"].get("readyReplicas") == to
    )
