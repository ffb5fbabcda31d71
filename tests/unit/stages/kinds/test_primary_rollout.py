"""What a promotion decides before it touches anything."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

import stage_world
from volary.model import applications, errors, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import pipelines, variant
from volary.model.pipeline.stage_kinds import rollout_stages, traffic_stages
from volary.stages.kinds import primary_rollout
from volary.stages.runtime import stage_runners
from volary.stages.traffic import live_routes

KEY = "pipecd.dev/variant"
MOVES = applications.Application(
    name="shop",
    pipeline=(
        pipelines.Stage(traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(100)),
    ),
)
ROLLOUT = rollout_stages.PrimaryRolloutOptions()


def workload(**labels: str) -> manifest.Manifest:
    return manifest.Manifest(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "shop"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": []}},
            },
        }
    )


def service(value: str) -> manifest.Manifest:
    return manifest.Manifest(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": value},
            "spec": {"selector": {"app": "shop", KEY: value}},
        }
    )


def plan_of(
    source: list[manifest.Manifest],
    application: applications.Application,
    options: primary_rollout.Options,
) -> stage_runners.Rollout:
    return primary_rollout.plan(stage_runners.Sources(application, source, "c"), options)


def test_pods_that_a_selector_cannot_tell_apart_are_refused() -> None:
    """Else the Service would select no primary pod at all. A sync is refused where it does."""
    unlabelled = [workload(app="shop"), service("primary")]

    for options in (ROLLOUT, rollout_stages.SyncOptions()):
        with pytest.raises(errors.UserError, match="the pods of Deployment shop lack the label"):
            plan_of(unlabelled, MOVES, options)
    assert plan_of([workload(app="shop")], MOVES, rollout_stages.SyncOptions()).manifests


@pytest.mark.parametrize("on_pods", [True, False])
def test_the_label_is_asked_for_on_pods_alone(on_pods: bool) -> None:
    """Selectors of workloads that are there cannot be changed."""
    item = workload(app="shop")
    app = replace(MOVES, variant_label=variant.VariantLabel(on_pods=on_pods))
    if not on_pods:
        item.body["spec"]["template"]["metadata"]["labels"] = {"app": "shop", KEY: "primary"}

    plan = plan_of([item, service("primary")], app, ROLLOUT)

    deployment = next(item for item in plan.manifests if item.kind == "Deployment")
    assert deployment.body["spec"]["selector"]["matchLabels"] == {"app": "shop"}


def test_the_option_puts_the_label_there() -> None:
    options = rollout_stages.PrimaryRolloutOptions(add_variant_label_to_selector=True)

    plan = plan_of([workload(app="shop")], MOVES, options)

    assert plan.manifests[0].body["spec"]["selector"]["matchLabels"][KEY] == "primary"


def test_without_a_traffic_stage_any_selector_will_do() -> None:
    app = applications.Application(name="shop")

    assert plan_of([workload(app="shop")], app, ROLLOUT).manifests


def test_a_rollout_prunes_primary_and_a_sync_everything() -> None:
    source = [workload(app="shop", **{KEY: "primary"})]

    rollout = plan_of(source, MOVES, ROLLOUT)
    sync = plan_of(source, MOVES, rollout_stages.SyncOptions(prune=True))

    assert (rollout.prune, rollout.variants) == (False, (variant.Variant.PRIMARY,))
    assert (sync.prune, sync.variants) == (True, ())


def test_a_service_that_is_meant_for_the_canary_is_no_route_of_ours() -> None:
    source = [workload(**{KEY: "primary"}), service("primary"), service("canary")]

    plan = plan_of(source, MOVES, ROLLOUT)

    candidates = live_routes.candidates(plan.manifests, MOVES)
    assert [item.name for item in candidates] == ["primary"]


V1, V2 = {"app": "shop", "version": "v1"}, {"app": "shop", "version": "v2"}


@pytest.mark.parametrize("is_taken_up", [False, True])
async def test_pods_stay_until_proxies_have_followed_the_service_that_left_them(
    is_taken_up: bool,
) -> None:
    """The Service leads to other pods; those that it led to before are pruned.

    The process that let it may be gone since, before it pruned.
    """
    app = applications.Application(
        name="shop",
        workloads=(routing_options.ObjectReference("Service", "shop"),),
        service=routing_options.ObjectReference(name="shop"),
    )
    async with stage_world.world("us", application=app) as given:
        patience = timedelta(seconds=1.5)
        given.options = replace(given.options, drain_delay=patience)
        given.sources = {
            commit: [
                stage_world.made(stage_world.service(**labels)),
                stage_world.made(stage_world.deployment(f"shop:{name}", name=name, **labels)),
            ]
            for commit, name, labels in (
                (stage_world.OLD, "shop-v1", V1),
                (stage_world.NEW, "shop-v2", V2),
            )
        }
        await given.deployed()
        times: dict[str, float] = {}
        loop = asyncio.get_running_loop()

        def look(_change: object) -> None:
            led_to = given.get("us", "Service", "shop")["spec"]["selector"]
            if led_to["version"] == "v2":
                times.setdefault("switched", loop.time())
            old = given.find("us", "Deployment", "shop-v1")
            if old is None or "deletionTimestamp" in old["metadata"]:
                times.setdefault("deleted", loop.time())

        given.running.clusters["us"].registry.subscribe(look)
        options = rollout_stages.SyncOptions(prune=True)
        if is_taken_up:
            await given.run(rollout_stages.SYNC.name, replace(options, prune=False))
            times["switched"] = loop.time()
        outcomes = await given.run(rollout_stages.SYNC.name, options)

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert times["deleted"] - times["switched"] >= patience.total_seconds()
