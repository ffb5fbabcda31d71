"""A Service is rolled out: what it leads to is tried, promoted, and given back without a loss."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import pytest
from aiohttp import web

import release_world
import stage_world
from kube_sandbox.crds import definitions as crd_definitions
from release_world import hook, weights
from stage_world import KEY, NEW, OLD
from volary.manifests.routes import generated_services
from volary.model import applications, json, routing_options
from volary.model.pipeline import pipelines, webhook
from volary.model.pipeline.stage_kinds import (
    added_stages,
    rollout_stages,
    stage_kind,
    traffic_stages,
)
from volary.model.statuses import RunStatus
from volary.stages.runtime import contexts

Options = traffic_stages.ProgressiveTrafficOptions
FAST = timedelta(seconds=0.15)
ISTIO, GATEWAY_API = routing_options.RoutingMethod.ISTIO, routing_options.RoutingMethod.GATEWAY_API
V1, V2 = {"app": "shop", "version": "v1"}, {"app": "shop", "version": "v2"}


def application(method: routing_options.RoutingMethod) -> applications.Application:
    return applications.Application(
        name="shop",
        workloads=(routing_options.ObjectReference("Service", "shop"),),
        service=routing_options.ObjectReference(name="shop"),
        traffic_routing=routing_options.TrafficRouting(method=method, create=True),
    )


def pods(version: str, image: str = "") -> json.JsonObject:
    labels = {"app": "shop", "version": version}
    return stage_world.deployment(image or f"shop:{version}", name=f"shop-{version}", **labels)


@contextlib.asynccontextmanager
async def given(
    *names: str,
    method: routing_options.RoutingMethod = ISTIO,
    new: tuple[json.JsonObject, ...] = (),
) -> AsyncIterator[release_world.Releases]:
    """The Service leads to the pods of v1; the new commit lets it lead to those of v2."""
    app = application(method)
    definitions = (
        crd_definitions.gateway_api() if method is GATEWAY_API else crd_definitions.istio()
    )
    async with stage_world.world(*names, application=app, definitions=definitions) as world:
        new = new or (pods("v2"), stage_world.config("settings-v2"))
        world.sources = {
            commit: generated_services.add([stage_world.made(each) for each in bodies], app)
            for commit, bodies in {
                OLD: (stage_world.service(**V1), pods("v1"), stage_world.config()),
                NEW: (stage_world.service(**V2), stage_world.config(), *new),
            }.items()
        }
        await world.deployed()
        yield release_world.Releases(world)


def pipeline(options: Options) -> list[pipelines.Stage]:
    limit = timedelta(seconds=20)
    return [
        release_world.step(
            rollout_stages.CANARY_ROLLOUT.name,
            rollout_stages.VariantRolloutOptions(),
            timeout=limit,
        ),
        release_world.step(traffic_stages.PROGRESSIVE_TRAFFIC.name, options, timeout=limit),
        release_world.step(
            rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions(prune=True)
        ),
        release_world.step(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions()),
    ]


def refusing_after(
    gate: release_world.Gate, count: int
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=200 if gate.paths.count(request.path) <= count else 500)

    return answer


def leads_to(releases: release_world.Releases, target: str, name: str) -> dict[str, str]:
    body = releases.world.get(target, "Service", name)
    return dict(body["spec"]["selector"])


@pytest.mark.parametrize("method", [ISTIO, GATEWAY_API])
async def test_the_new_service_is_tried_and_promoted(method: routing_options.RoutingMethod) -> None:
    options = Options(interval=FAST, step_weight=25, max_weight=50)
    async with (
        given("us", "eu", method=method) as releases,
        releases.world.watched_traffic("us") as lost,
    ):
        assert releases.world.traffic("us").by_label("version") == {"v1": 1.0}
        assert leads_to(releases, "us", "shop-primary") == V1

        run = await releases.carry_out(releases.planned(pipeline(options)))

        assert run.status is RunStatus.SUCCEEDED, run.reason
        assert weights(releases, "us") == weights(releases, "eu") == [25, 50, 0]
        assert lost == []
        for target in ("us", "eu"):
            assert releases.world.traffic(target).by_label("version") == {"v2": 1.0}
            assert leads_to(releases, target, "shop-primary") == V2
            assert leads_to(releases, target, "shop") == V2
            assert releases.world.find(target, "Service", "shop-canary") is None
            assert releases.world.find(target, "Deployment", "shop-v1") is None
            assert releases.world.images(target, "shop-v2") == "shop:v2 2/2"
            labels = releases.world.get(target, "Deployment", "shop-v2")["metadata"]["labels"]
            assert labels[KEY] == "primary"


async def test_a_refusal_brings_users_back_and_takes_the_new_pods_away() -> None:
    async with (
        release_world.gate() as gate,
        given("us") as releases,
        releases.world.watched_traffic("us") as lost,
    ):
        gate.behaviours["/check"] = refusing_after(gate, 1)
        hooks = (hook(f"{gate.url}/check", webhook.WebhookType.ROLLOUT),)
        options = Options(interval=FAST, step_weight=25, max_weight=50, webhooks=hooks, threshold=1)

        run = await releases.carry_out(releases.planned(pipeline(options)))

        assert run.status is RunStatus.ROLLED_BACK, run.reason
        assert max(weights(releases, "us")) > 0
        assert lost == []
        assert releases.world.traffic("us").by_label("version") == {"v1": 1.0}
        assert leads_to(releases, "us", "shop") == leads_to(releases, "us", "shop-primary") == V1
        assert releases.world.find("us", "Service", "shop-canary") is None
        assert releases.world.find("us", "Deployment", "shop-v2") is None
        assert releases.world.find("us", "ConfigMap", "settings-v2") is None
        assert releases.world.images("us", "shop-v1") == "shop:v1 2/2"


async def test_a_service_that_leads_nowhere_gets_no_traffic() -> None:
    async with (
        given("us", new=(pods("v3"),)) as releases,
        releases.world.watched_traffic("us") as lost,
    ):
        world = releases.world
        options = rollout_stages.VariantRolloutOptions()
        found = (await world.run(rollout_stages.CANARY_ROLLOUT.name, options, limit=0.5))["us"]

        assert found.status == "failed"
        assert (
            "shop-canary has no ready endpoint among the pods app=shop,version=v2" in found.reason
        )
        assert lost == []
        assert releases.world.traffic("us").by_label("version") == {"v1": 1.0}


async def test_a_promotion_that_fails_halfway_goes_back() -> None:
    """The Services are switched already when the run is cancelled; v1 is still there."""
    async with given("us") as releases, releases.world.watched_traffic("us") as lost:
        world = releases.world
        world.options = contexts.Options(drain_delay=timedelta(0))
        async with world.one_run():
            for name, options in (
                (rollout_stages.CANARY_ROLLOUT.name, rollout_stages.VariantRolloutOptions()),
                (traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(50, 50)),
                (rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions()),
            ):
                found = (await world.run(name, options))["us"]
                assert found.status == "succeeded", found
            assert leads_to(releases, "us", "shop-primary") == V2

            found = (await world.run(added_stages.ROLLBACK.name, stage_kind.NoOptions()))["us"]

        assert found.status == "succeeded", found
        assert lost == []
        assert world.traffic("us").by_label("version") == {"v1": 1.0}
        assert leads_to(releases, "us", "shop-primary") == V1
        assert world.find("us", "Deployment", "shop-v2") is None
