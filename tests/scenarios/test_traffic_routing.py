"""Traffic goes where a stage says, only to pods that are ready, and is read back."""

from dataclasses import replace

import pytest

from mesh_world import ISTIO, meshed
from stage_world import (
    KEY,
    NEW,
    OLD,
    config,
    deployment,
    made,
    service,
    world,
)
from volary.model import applications, routing_options
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind, traffic_stages

ONE_POD = rollout_stages.VariantRolloutOptions(replicas=rollout_stages.Replicas(1))
TO_CANARY = traffic_stages.TrafficOptions(0, canary=100)


async def test_istio_splits_80_10_10_and_gives_back_after_primary_is_ready() -> None:
    async with world("us", "eu", application=ISTIO, istio=True) as given:
        given.sources = {OLD: meshed("shop:v1"), NEW: meshed("shop:v2")}
        await given.deployed(OLD)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)
        await given.run(rollout_stages.BASELINE_ROLLOUT.name, ONE_POD)

        async with given.watched_traffic("us") as lost:
            split = traffic_stages.TrafficOptions(80, canary=10, baseline=10)
            outcomes = await given.run(traffic_stages.TRAFFIC_ROUTING.name, split)

            assert outcomes["us"].reason == "traffic: primary 80 %, canary 10 %, baseline 10 %"
            assert 'Updated route "main": primary=80%, canary=10%, baseline=10%' in (
                outcomes["us"].details
            )
            for target in given.names:
                shares = given.traffic(target).by_label(KEY)
                assert shares == pytest.approx({"primary": 0.8, "canary": 0.1, "baseline": 0.1})
            said = given.reports["us"].progress_said[-1]
            assert said.wanted_weights == said.observed_weights

            promotion = rollout_stages.PrimaryRolloutOptions(add_variant_label_to_selector=True)
            outcomes = await given.run(rollout_stages.PRIMARY_ROLLOUT.name, promotion)
            assert outcomes["us"].status == "succeeded", outcomes["us"]
            assert given.traffic("us").by_label(KEY) == pytest.approx({"primary": 1.0})
            assert given.images("us") == "shop:v2 2/2"
            await given.run(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions())
            await given.run(rollout_stages.BASELINE_CLEAN.name, stage_kind.NoOptions())
        assert lost == []
        assert given.count("us", "Deployment") == 1


async def test_the_field_manager_of_routes_owns_the_routes_only() -> None:
    async with world("us", application=ISTIO, istio=True) as given:
        given.sources = {OLD: meshed("shop:v1"), NEW: meshed("shop:v2")}
        await given.deployed(OLD)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)

        await given.run(
            traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(90, canary=10)
        )

        live = given.get("us", "VirtualService.networking.istio.io", "shop")
        owned = {entry["manager"]: entry["fieldsV1"] for entry in live["metadata"]["managedFields"]}
        assert owned["volary-traffic"] == {"f:spec": {"f:http": {}}}
        assert "f:http" not in owned["volary"].get("f:spec", {})


async def test_a_route_that_is_not_editable_stays() -> None:
    routing = routing_options.TrafficRouting(
        method=routing_options.RoutingMethod.ISTIO,
        istio=routing_options.IstioRouting(host="shop", editable_routes=("other",)),
    )
    described = applications.Application(
        name="shop", service=ISTIO.service, quick_sync=ISTIO.quick_sync, traffic_routing=routing
    )
    async with world("us", application=described, istio=True) as given:
        given.sources = {OLD: meshed("shop:v1"), NEW: meshed("shop:v2")}
        await given.deployed(OLD)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)

        outcomes = await given.run(
            traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(50, canary=50)
        )

        assert outcomes["us"].status == "failed"
        assert not outcomes["us"].touched
        assert given.traffic("us").by_label(KEY) == {"primary": 1.0}


async def test_no_traffic_is_sent_to_a_canary_that_is_not_there() -> None:
    async with world("us") as given:
        await given.deployed(OLD)

        outcomes = await given.run(traffic_stages.TRAFFIC_ROUTING.name, TO_CANARY, limit=1)

        assert outcomes["us"].status == "failed"
        assert outcomes["us"].reason.startswith("no traffic is sent to canary")
        assert not outcomes["us"].touched
        assert given.traffic("us").by_label(KEY) == {"primary": 1.0}


@pytest.mark.parametrize(
    ("manifests", "options", "message"),
    [
        ([], TO_CANARY, "there is no Service"),
        (
            [service(), {**service(), "metadata": {"name": "b"}}],
            TO_CANARY,
            "routes: Service shop, Service b",
        ),
        ([service(app="shop")], TO_CANARY, f"lacks {KEY}"),
        ([service(**{KEY: "canary"})], TO_CANARY, "instead of primary"),
        ([service()], traffic_stages.TrafficOptions(50, baseline=50), "baseline"),
        ([service()], traffic_stages.TrafficOptions(50, canary=50), "either primary or canary"),
    ],
)
async def test_what_a_selector_cannot_do_changes_nothing(
    manifests: list[dict[str, object]], options: traffic_stages.TrafficOptions, message: str
) -> None:
    async with world("us") as given:
        await given.deployed(OLD)
        given.sources[NEW] = [made(deployment("shop:v2")), *(made(each) for each in manifests)]

        outcomes = await given.run(traffic_stages.TRAFFIC_ROUTING.name, options)

        assert outcomes["us"].status == "failed"
        assert message in outcomes["us"].reason
        assert any(line.startswith("hint: ") for line in outcomes["us"].details)
        assert not outcomes["us"].touched
        assert given.traffic("us").by_label(KEY) == {"primary": 1.0}


async def test_promotion_waits_with_the_routes_until_primary_is_ready() -> None:
    """The new primary never gets ready: traffic stays with the canary that serves it."""
    async with world("us") as given:
        await given.deployed(OLD)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)
        await given.run(traffic_stages.TRAFFIC_ROUTING.name, TO_CANARY)
        given.sources[NEW] = [
            made(deployment("shop:never-ready")),
            made(service()),
            made(config()),
        ]
        given.running.clusters["us"].faults.images.add("shop:never-ready", "never-ready")

        outcomes = await given.run(
            rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions(), limit=1
        )

        assert outcomes["us"].status == "failed"
        assert given.traffic("us").by_label(KEY) == {"canary": 1.0}
        assert given.traffic("us").lost == 0


async def test_a_canary_that_still_gets_traffic_is_drained_before_it_goes() -> None:
    async with world("us") as given:
        await given.deployed(OLD)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)
        await given.run(traffic_stages.TRAFFIC_ROUTING.name, TO_CANARY)

        async with given.watched_traffic("us") as lost:
            outcomes = await given.run(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions())

        assert outcomes["us"].status == "succeeded"
        assert lost == []
        assert given.traffic("us").by_label(KEY) == {"primary": 1.0}
        assert given.find("us", "Deployment", "shop-canary") is None


async def test_a_canary_is_kept_while_primary_cannot_take_its_traffic() -> None:
    async with world("us") as given:
        await given.deployed(OLD)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)
        await given.run(traffic_stages.TRAFFIC_ROUTING.name, TO_CANARY)
        given.sources[OLD] = [made(deployment("shop:v1", replicas=0)), made(service())]
        await given.run(rollout_stages.SYNC.name, rollout_stages.SyncOptions(), commit=OLD, limit=2)
        await given.running.clusters["us"].until(
            lambda view: (
                not [
                    pod
                    for pod in view.list("Pod", "default")
                    if pod["metadata"]["labels"][KEY] == "primary"
                ]
            )
        )

        outcomes = await given.run(
            rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions(), limit=1
        )

        assert outcomes["us"].status == "failed"
        assert given.images("us", "shop-canary") == "shop:v2 1/1"
        assert given.traffic("us").by_label(KEY) == {"canary": 1.0}


async def test_traffic_is_given_back_though_git_lacks_the_route_that_may_be_changed() -> None:
    """It was checked when the release was planned; what is live can be divided all the same."""
    istio = replace(ISTIO.traffic_routing.istio, editable_routes=("main",))
    application = replace(ISTIO, traffic_routing=replace(ISTIO.traffic_routing, istio=istio))
    async with world("us", application=application, istio=True) as given:
        given.sources = {OLD: meshed("shop:v1"), NEW: meshed("shop:v2")}
        await given.deployed(OLD)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)
        await given.run(traffic_stages.TRAFFIC_ROUTING.name, TO_CANARY)
        assert given.traffic("us").by_label(KEY) == {"canary": 1.0}
        for item in given.sources[NEW]:
            if item.kind == "VirtualService":
                item.body["spec"]["http"][0]["name"] = "renamed"

        whole = traffic_stages.TrafficOptions(100)
        outcomes = await given.run(traffic_stages.TRAFFIC_ROUTING.name, whole)

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.traffic("us").by_label(KEY) == {"primary": 1.0}
