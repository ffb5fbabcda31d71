"""Users notice nothing: real requests under steady load through canary, promotion and rollback."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

import stage_world
import traffic_world
from kube_sandbox import proxies
from kube_sandbox.crds import definitions
from mesh_world import GATEWAY, HOST, ISTIO, meshed, routed
from stage_world import KEY, NEW, OLD, made
from volary.model import applications, json, routing_options
from volary.model.pipeline.stage_kinds import (
    added_stages,
    rollout_stages,
    stage_kind,
    traffic_stages,
)

WITH_SERVICE = rollout_stages.VariantRolloutOptions(
    replicas=rollout_stages.Replicas(1), create_service=True
)
HALF = traffic_stages.TrafficOptions(50, canary=50)
#: Seconds in which a proxy has followed.
SETTLED = 0.5
ONE_POD = rollout_stages.VariantRolloutOptions(replicas=rollout_stages.Replicas(1))
PROMOTION = rollout_stages.PrimaryRolloutOptions(add_variant_label_to_selector=True)
SPLIT = traffic_stages.TrafficOptions(80, canary=10, baseline=10)
SHARES = {"primary": 0.8, "canary": 0.1, "baseline": 0.1}


@contextlib.asynccontextmanager
async def gateway_world() -> AsyncIterator[stage_world.World]:
    settings = traffic_world.settings(crds=definitions.gateway_api(), drain=2.0)
    async with stage_world.world("us", "eu", application=GATEWAY, settings=settings) as given:
        given.sources = {OLD: routed("shop:v1"), NEW: routed("shop:v2")}
        yield given


@contextlib.asynccontextmanager
async def istio_world(**options: object) -> AsyncIterator[stage_world.World]:
    settings = traffic_world.settings(crds=definitions.istio(), **options)
    async with stage_world.world("us", "eu", application=ISTIO, settings=settings) as given:
        given.sources = {OLD: meshed("shop:v1"), NEW: meshed("shop:v2")}
        yield given


@pytest.mark.parametrize("kind", [proxies.Kind.BUILT_IN, proxies.Kind.ENVOY])
async def test_80_10_10_is_what_3000_requests_meet_and_none_is_lost_until_promotion(
    kind: proxies.Kind,
) -> None:
    """Through proxies that follow the VirtualServices."""
    async with (
        istio_world() as given,
        traffic_world.through(given, kind) as urls,
    ):
        await given.deployed(OLD)
        async with traffic_world.users(given, urls) as users:
            await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)
            await given.run(rollout_stages.BASELINE_ROLLOUT.name, ONE_POD)
            outcomes = await given.run(traffic_stages.TRAFFIC_ROUTING.name, SPLIT)
            assert {each.status for each in outcomes.values()} == {"succeeded"}

            gateways = [each.traffic.gateway for each in given.running.clusters.values()]
            for tally in await asyncio.gather(*(traffic_world.ask(url, 3000) for url in gateways)):
                assert tally.failed == 0, tally.failures
                traffic_world.assert_split(tally, SHARES)

            outcomes = await given.run(rollout_stages.PRIMARY_ROLLOUT.name, PROMOTION, limit=30)
            assert outcomes["us"].status == "succeeded", outcomes["us"]
            await given.run(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions())
            await given.run(rollout_stages.BASELINE_CLEAN.name, stage_kind.NoOptions())
            await asyncio.sleep(0.3)
        users.assert_nothing_lost(at_least=80)
        for target in given.names:
            assert users.tally(target).by_version().keys() == {"v1", "v2"}
            assert given.images(target) == "shop:v2 2/2"
            assert given.count(target, "Deployment") == 1


@pytest.mark.parametrize("kind", [proxies.Kind.BUILT_IN, proxies.Kind.ENVOY])
async def test_rollback_from_a_split_loses_nothing(kind: proxies.Kind) -> None:
    async with (
        istio_world() as given,
        traffic_world.through(given, kind) as urls,
    ):
        await given.deployed(OLD)
        async with traffic_world.users(given, urls) as users:
            await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)
            await given.run(rollout_stages.BASELINE_ROLLOUT.name, ONE_POD)
            await given.run(traffic_stages.TRAFFIC_ROUTING.name, SPLIT)
            await given.run(rollout_stages.PRIMARY_ROLLOUT.name, PROMOTION, limit=30)
            outcomes = await given.run(added_stages.ROLLBACK.name, stage_kind.NoOptions(), limit=30)
            assert outcomes["us"].status == "succeeded", outcomes["us"]
            await asyncio.sleep(0.3)
        users.assert_nothing_lost(at_least=80)
        for target in given.names:
            assert given.images(target) == "shop:v1 2/2"
            assert given.count(target, "Deployment") == 1


@pytest.mark.parametrize("kind", [proxies.Kind.BUILT_IN, proxies.Kind.TRAEFIK])
async def test_an_http_route_divides_and_loses_nothing_until_promotion(kind: proxies.Kind) -> None:
    """Traefik is a controller that knows nothing of us: it follows the routes and their pods."""
    async with (
        gateway_world() as given,
        traffic_world.through(given, kind) as urls,
    ):
        await given.deployed(OLD)
        async with traffic_world.users(given, urls, host=HOST) as users:
            await given.run(rollout_stages.CANARY_ROLLOUT.name, WITH_SERVICE)
            await given.run(rollout_stages.BASELINE_ROLLOUT.name, WITH_SERVICE)
            outcomes = await given.run(traffic_stages.TRAFFIC_ROUTING.name, SPLIT)
            assert {each.status for each in outcomes.values()} == {"succeeded"}, outcomes
            await asyncio.sleep(SETTLED)

            for tally in await asyncio.gather(
                *(traffic_world.ask(url, 3000, host=HOST) for url in urls.values())
            ):
                assert tally.failed == 0, tally.failures
                traffic_world.assert_split(tally, SHARES)

            outcomes = await given.run(
                rollout_stages.PRIMARY_ROLLOUT.name,
                rollout_stages.PrimaryRolloutOptions(),
                limit=30,
            )
            assert outcomes["us"].status == "succeeded", outcomes["us"]
            for name in (rollout_stages.CANARY_CLEAN.name, rollout_stages.BASELINE_CLEAN.name):
                outcomes = await given.run(name, stage_kind.NoOptions())
                assert outcomes["us"].status == "succeeded", outcomes["us"]
            await asyncio.sleep(SETTLED)
        users.assert_nothing_lost(at_least=80)
        for target in given.names:
            assert users.tally(target).by_version().keys() == {"v1", "v2"}
            assert given.images(target) == "shop:v2 2/2"
            assert given.count(target, "Deployment") == 1


@pytest.mark.parametrize("kind", [proxies.Kind.BUILT_IN, proxies.Kind.TRAEFIK])
async def test_rollback_from_an_http_route_loses_nothing(kind: proxies.Kind) -> None:
    async with (
        gateway_world() as given,
        traffic_world.through(given, kind) as urls,
    ):
        await given.deployed(OLD)
        async with traffic_world.users(given, urls, host=HOST) as users:
            await given.run(rollout_stages.CANARY_ROLLOUT.name, WITH_SERVICE)
            await given.run(
                traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(50, canary=50)
            )
            await asyncio.sleep(SETTLED)
            outcomes = await given.run(added_stages.ROLLBACK.name, stage_kind.NoOptions(), limit=30)
            assert outcomes["us"].status == "succeeded", outcomes["us"]
            await asyncio.sleep(SETTLED)
        users.assert_nothing_lost(at_least=80)
        for target in given.names:
            assert users.tally(target).by_version()["v2"] > 0
            assert given.images(target) == "shop:v1 2/2"
            assert given.count(target, "Deployment") == 1


def in_mesh() -> json.JsonObject:
    parent = {"group": "", "kind": "Service", "name": "shop"}
    backend = {"name": "shop", "port": 80}
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "shop"},
        "spec": {"parentRefs": [parent], "rules": [{"backendRefs": [backend]}]},
    }


def split() -> json.JsonObject:
    backend = {"service": "shop", "weight": 100}
    return {
        "apiVersion": "split.smi-spec.io/v1alpha2",
        "kind": "TrafficSplit",
        "metadata": {"name": "shop"},
        "spec": {"service": "shop", "backends": [backend]},
    }


def ingress() -> json.JsonObject:
    backend = {"service": {"name": "shop", "port": {"number": 80}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "shop"},
        "spec": {
            "ingressClassName": "nginx",
            "rules": [{"host": HOST, "http": {"paths": [path]}}],
        },
    }


def traefik_service() -> json.JsonObject:
    return {
        "apiVersion": "traefik.io/v1alpha1",
        "kind": "TraefikService",
        "metadata": {"name": "shop"},
        "spec": {"weighted": {"services": [{"name": "shop", "port": 80}]}},
    }


Method = routing_options.RoutingMethod


@pytest.mark.parametrize(
    ("method", "route", "definitions", "host"),
    [
        (Method.GATEWAY_API, in_mesh(), definitions.gateway_api(), "shop"),
        (Method.SMI, split(), definitions.smi(), "shop"),
        (Method.NGINX, ingress(), (), HOST),
        (Method.TRAEFIK, traefik_service(), definitions.traefik(), "shop"),
    ],
    ids=["mesh", "smi", "nginx", "traefik"],
)
async def test_other_routers_divide_real_requests_and_lose_none(
    method: routing_options.RoutingMethod,
    route: json.JsonObject,
    definitions: tuple[json.JsonObject, ...],
    host: str,
) -> None:
    """As the built-in proxy reads their objects, which it does late."""
    described = applications.Application(
        name="shop",
        service=routing_options.ObjectReference(name="shop"),
        traffic_routing=routing_options.TrafficRouting(method=method),
    )
    settings = traffic_world.settings(crds=definitions, lag=0.3, drain=0.8)
    async with stage_world.world("us", application=described, settings=settings) as given:
        given.options = replace(given.options, drain_delay=timedelta(seconds=1))
        for commit, image in ((OLD, "shop:v1"), (NEW, "shop:v2")):
            bodies = (stage_world.deployment(image), stage_world.service(), route)
            given.sources[commit] = [made(body) for body in bodies]
        await given.deployed(OLD)
        url = given.running.clusters["us"].traffic.gateway
        async with traffic_world.users(given, host=host) as users, given.one_run():
            await given.run(rollout_stages.CANARY_ROLLOUT.name, WITH_SERVICE)
            outcomes = await given.run(traffic_stages.TRAFFIC_ROUTING.name, HALF)
            assert outcomes["us"].status == "succeeded", outcomes["us"]
            await asyncio.sleep(SETTLED)
            tally = await traffic_world.ask(url, 1000, host=host)
            traffic_world.assert_split(tally, {"primary": 0.5, "canary": 0.5})
            for name, options in (
                (rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions()),
                (traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(100)),
                (rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions()),
            ):
                outcomes = await given.run(name, options, limit=30)
                assert outcomes["us"].status == "succeeded", outcomes["us"]
            await asyncio.sleep(SETTLED)
        users.assert_nothing_lost(at_least=80)
        assert given.count("us", "Deployment") == 1


async def test_a_selector_moved_to_the_canary_and_back_loses_nothing() -> None:
    """Routing by the Service's selector: all users to the canary, then back to primary."""
    async with stage_world.world("us", "eu", settings=traffic_world.settings()) as given:
        await given.deployed(OLD)
        async with traffic_world.users(given) as users:
            await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)
            await given.run(
                traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(0, canary=100)
            )
            outcomes = await given.run(
                rollout_stages.PRIMARY_ROLLOUT.name,
                rollout_stages.PrimaryRolloutOptions(),
                limit=30,
            )
            assert outcomes["us"].status == "succeeded", outcomes["us"]
            await given.run(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions())
            await asyncio.sleep(0.3)
        users.assert_nothing_lost(at_least=80)
        seen = users.tally("us").by_variant()
        assert seen["canary"] > 0
        assert given.traffic("us").by_label(KEY) == {"primary": 1.0}


async def late(*, settle: float, lag: float) -> traffic_world.Users:
    """A canary that had half of the users is promoted and removed; proxies follow late."""
    async with istio_world(lag=lag, drain=1.0) as given:
        given.options = replace(given.options, drain_delay=timedelta(seconds=settle))
        await given.deployed(OLD)
        # One executor for all stages, as in a run: it knows when routes were changed.
        async with traffic_world.users(given) as users, given.one_run():
            await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)
            await given.run(traffic_stages.TRAFFIC_ROUTING.name, HALF)
            await asyncio.sleep(lag + 0.2)
            await given.run(rollout_stages.PRIMARY_ROLLOUT.name, PROMOTION, limit=30)
            outcomes = await given.run(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions())
            assert outcomes["us"].status == "succeeded", outcomes["us"]
            await asyncio.sleep(lag + 0.2)
        assert users.tally("us").by_variant()["canary"] > 0
        return users


async def test_proxies_that_follow_late_are_waited_for() -> None:
    """They still send requests where the routes led a moment ago; pods have to be there."""
    (await late(settle=1.5, lag=0.5)).assert_nothing_lost(at_least=80)


async def test_without_that_wait_requests_are_lost() -> None:
    users = await late(settle=0.0, lag=2.5)

    failures = users.tally("us").failures
    assert failures
    assert "no ready endpoint of default/shop canary" in failures[0][1]


async def test_pods_that_end_at_once_are_seen_to_lose_requests() -> None:
    """The counting can fail: without a moment to serve on, requests meet closed ports."""
    async with stage_world.world("us", settings=traffic_world.settings(drain=0.0)) as given:
        hasty = {**stage_world.deployment("shop:v1")}
        hasty["spec"]["template"]["metadata"]["annotations"] = {"kube-sandbox/crash-after": "1s"}
        given.sources[OLD] = [made(hasty), made(stage_world.service())]
        cluster = given.running.clusters["us"]
        for each in given.sources[OLD]:
            kind = cluster.registry.kind_of(each.body)
            cluster.registry.create(kind, "default", each.body)
        await cluster.until(lambda view: given.images("us") == "shop:v1 2/2")
        async with traffic_world.users(given, rate=200) as users:
            await asyncio.sleep(1.0)
        assert users.tally("us").failed > 0
        assert users.tally("us").failures[0][1].startswith(("50", "no answer"))
