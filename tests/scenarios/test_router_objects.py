"""The objects that carry routes: made where they are missing, shared with care, and accepted."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from kube_sandbox.crds import definitions
from stage_world import KEY, NEW, OLD, World, config, deployment, made, service, world
from volary.clusters.client import clients
from volary.manifests.routes import generated_services
from volary.model import applications, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline.stage_kinds import (
    added_stages,
    rollout_stages,
    stage_kind,
    traffic_stages,
)

Method = routing_options.RoutingMethod
GATEWAY = "gateway.networking.k8s.io"
ROUTE = f"HTTPRoute.{GATEWAY}"
ONE_POD = rollout_stages.VariantRolloutOptions(replicas=rollout_stages.Replicas(1))
HALF = traffic_stages.TrafficOptions(50, canary=50)
EVERY = (
    *definitions.istio(),
    *definitions.gateway_api(),
    *definitions.smi(),
    *definitions.traefik(),
)
MADE = {
    Method.ISTIO: ("VirtualService.networking.istio.io", "DestinationRule.networking.istio.io"),
    Method.GATEWAY_API: (ROUTE,),
    Method.SMI: ("TrafficSplit.split.smi-spec.io",),
    Method.NGINX: ("Ingress",),
    Method.TRAEFIK: ("TraefikService.traefik.io",),
}


def application(method: Method, **options: object) -> applications.Application:
    return applications.Application(
        name="shop",
        service=routing_options.ObjectReference(name="shop"),
        traffic_routing=routing_options.TrafficRouting(method=method, **options),  # type: ignore[arg-type]
    )


def described(
    app: applications.Application, *more: json.JsonObject
) -> dict[str, list[manifest.Manifest]]:
    """Two versions as they are rendered; the Service leads to every variant, as users write it."""
    objects = (service(app="shop"), config(), *more)
    return {
        commit: generated_services.add([made(each) for each in (deployment(image), *objects)], app)
        for commit, image in ((OLD, "shop:v1"), (NEW, "shop:v2"))
    }


async def succeeded(given: World, name: str, options: stage_kind.StageOptions, **more: str) -> None:
    found = await given.run(name, options, **more)  # type: ignore[arg-type]
    for each in found.values():
        assert each.status == "succeeded", each


@pytest.mark.parametrize("method", MADE)
async def test_missing_routes_are_made_and_go_again(method: Method) -> None:
    app = application(method, create=True)
    async with world("us", application=app, definitions=EVERY) as given:
        given.sources = described(app)
        await given.deployed(OLD)
        for kind in MADE[method]:
            body = given.get("us", kind, "shop")
            assert body["metadata"]["annotations"]["volary.dev/application"] == "shop"

        async with given.watched_traffic("us") as lost:
            await succeeded(given, rollout_stages.CANARY_ROLLOUT.name, ONE_POD)
            assert given.traffic("us").by_label(KEY) == {"primary": 1.0}
            await succeeded(given, traffic_stages.TRAFFIC_ROUTING.name, HALF)
            assert given.traffic("us").by_label(KEY) == {"primary": 0.5, "canary": 0.5}
            await succeeded(
                given,
                rollout_stages.PRIMARY_ROLLOUT.name,
                rollout_stages.PrimaryRolloutOptions(prune=True),
            )
            assert given.traffic("us").by_label(KEY) == {"primary": 1.0}
            await succeeded(given, rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions())
            assert given.find("us", "Service", "shop-canary") is None
        assert lost == []

        given.application = application(Method.POD_SELECTOR)
        plain = [made(each) for each in (deployment("shop:v2"), service(), config())]
        given.sources[NEW] = plain
        await succeeded(given, rollout_stages.SYNC.name, rollout_stages.SyncOptions(prune=True))

        for kind in MADE[method]:
            assert given.find("us", kind, "shop") is None
        assert given.find("us", "Service", "shop-primary") is None


async def test_a_route_is_made_when_primary_is_ready_and_not_before() -> None:
    app = application(Method.ISTIO, create=True)
    async with world("us", application=app, definitions=EVERY) as given:
        given.sources = described(app)
        given.running.clusters["us"].faults.images.add("shop:v1", "never-ready")

        outcomes = await given.run(
            rollout_stages.SYNC.name, rollout_stages.SyncOptions(), commit=OLD, running="", limit=1
        )

        assert outcomes["us"].status == "failed"
        assert given.find("us", "VirtualService.networking.istio.io", "shop") is None


async def test_what_users_add_to_a_made_route_outlives_the_release() -> None:
    app = application(Method.GATEWAY_API, create=True)
    async with world("us", application=app, definitions=EVERY) as given:
        given.sources = described(app, {**service(), "metadata": {"name": "reports"}})
        await given.deployed(OLD)
        theirs = {
            "matches": [{"path": {"type": "PathPrefix", "value": "/reports"}}],
            "backendRefs": [
                {"group": "", "kind": "Service", "name": "reports", "port": 80, "weight": 1}
            ],
        }
        await edit(given, lambda body: body["spec"]["rules"].insert(0, theirs))

        await succeeded(given, rollout_stages.CANARY_ROLLOUT.name, ONE_POD)
        await succeeded(given, traffic_stages.TRAFFIC_ROUTING.name, HALF)
        await succeeded(
            given,
            rollout_stages.PRIMARY_ROLLOUT.name,
            rollout_stages.PrimaryRolloutOptions(prune=True),
        )
        await succeeded(given, rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions())

        rules = given.get("us", ROUTE, "shop")["spec"]["rules"]
        assert rules[0] == theirs
        assert [each["name"] for each in rules[1]["backendRefs"]] == ["shop-primary"]


async def edit(given: World, change: Callable[[json.JsonObject], None]) -> None:
    """Given: a person who edits the route in the cluster."""
    client = await given.clients.client("us")
    assert isinstance(client, clients.Client)
    kind = (await client.discover()).find(GATEWAY, "HTTPRoute")
    assert kind is not None
    body = await client.get(kind, "shop", namespace="default")
    assert body is not None
    change(body)
    await client.replace(kind, body, field_manager="kubectl-edit")


async def scale(given: World, replicas: int) -> None:
    """Given: a person who scales canary, and its pods have followed."""
    client = await given.clients.client("us")
    assert isinstance(client, clients.Client)
    kind = (await client.discover()).find("apps", "Deployment")
    assert kind is not None
    body = await client.get(kind, "shop-canary", namespace="default")
    assert body is not None
    body["spec"]["replicas"] = replicas
    await client.replace(kind, body, field_manager="kubectl")
    if not replicas:
        cluster = given.running.clusters["us"]
        await cluster.until(lambda _view: not given.count("us", "Pod", **{KEY: "canary"}))


def route(*backends: json.JsonObject, kind: str = "HTTPRoute") -> json.JsonObject:
    parent = {"group": "", "kind": "Service", "name": "shop"}
    return {
        "apiVersion": f"{GATEWAY}/v1",
        "kind": kind,
        "metadata": {"name": "shop"},
        "spec": {
            "parentRefs": [parent],
            "rules": [{"backendRefs": list(backends) or [{"name": "shop", "port": 80}]}],
        },
    }


def gateway_sources(*objects: json.JsonObject) -> dict[str, list[manifest.Manifest]]:
    return {
        commit: [made(each) for each in (deployment(image), service(), config(), *objects)]
        for commit, image in ((OLD, "shop:v1"), (NEW, "shop:v2"))
    }


WITH_SERVICE = replace(ONE_POD, create_service=True)


async def test_backends_of_others_keep_their_part() -> None:
    app = application(Method.GATEWAY_API)
    reports = {**service(), "metadata": {"name": "reports"}}
    backends = [{"name": "shop", "port": 80, "weight": 3}, {"name": "reports", "port": 80}]
    async with world("us", application=app, definitions=EVERY) as given:
        given.sources = gateway_sources(reports, route(*backends))
        await given.deployed(OLD)
        await succeeded(given, rollout_stages.CANARY_ROLLOUT.name, WITH_SERVICE)

        found = await given.run(
            traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(90, canary=10)
        )

        assert found["us"].reason == "traffic: primary 90 %, canary 10 %"
        rules = given.get("us", ROUTE, "shop")["spec"]["rules"]
        assert [(each["name"], each["weight"]) for each in rules[0]["backendRefs"]] == [
            ("shop", 270),
            ("shop-canary", 30),
            ("reports", 100),
        ]


async def test_a_grpc_route_divides_traffic_too() -> None:
    app = application(Method.GATEWAY_API)
    async with world("us", application=app, definitions=EVERY) as given:
        given.sources = gateway_sources(route(kind="GRPCRoute"))
        await given.deployed(OLD)
        await succeeded(given, rollout_stages.CANARY_ROLLOUT.name, WITH_SERVICE)

        await succeeded(given, traffic_stages.TRAFFIC_ROUTING.name, HALF)

        body = given.get("us", f"GRPCRoute.{GATEWAY}", "shop")
        weights = [each["weight"] for each in body["spec"]["rules"][0]["backendRefs"]]
        assert weights == [50, 50]
        await succeeded(given, rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions())
        body = given.get("us", f"GRPCRoute.{GATEWAY}", "shop")
        assert [each["name"] for each in body["spec"]["rules"][0]["backendRefs"]] == ["shop"]


async def test_a_route_that_no_gateway_accepts_is_no_success() -> None:
    app = application(Method.GATEWAY_API)
    body = route()
    body["spec"]["parentRefs"] = [{"name": "edge"}]
    async with world("us", application=app, definitions=EVERY) as given:
        given.sources = gateway_sources(body)
        await given.deployed(OLD)
        await succeeded(given, rollout_stages.CANARY_ROLLOUT.name, WITH_SERVICE)

        outcomes = await given.run(traffic_stages.TRAFFIC_ROUTING.name, HALF, limit=1.5)

        assert outcomes["us"].status == "failed"
        assert outcomes["us"].reason == (
            "HTTPRoute default/shop was written, but Gateway edge: no controller has answered yet;"
            " Gateway default/edge does not exist"
        )

        back = await given.run(added_stages.ROLLBACK.name, stage_kind.NoOptions())

        assert back["us"].status == "succeeded", back["us"]
        assert any("this is not waited for" in line for line in back["us"].details)
        body = given.get("us", f"HTTPRoute.{GATEWAY}", "shop")
        assert [each["name"] for each in body["spec"]["rules"][0]["backendRefs"]] == ["shop"]


async def test_who_edits_the_route_while_a_stage_waits_is_not_overwritten() -> None:
    app = application(Method.GATEWAY_API)
    async with world("us", application=app, definitions=EVERY) as given:
        given.sources = gateway_sources(route())
        await given.deployed(OLD)
        await succeeded(given, rollout_stages.CANARY_ROLLOUT.name, WITH_SERVICE)
        await scale(given, 0)
        theirs = {
            "matches": [{"path": {"type": "PathPrefix", "value": "/hello"}}],
            "backendRefs": [
                {"group": "", "kind": "Service", "name": "shop", "port": 80, "weight": 1}
            ],
        }

        async def meanwhile() -> None:
            await asyncio.sleep(
                0.3
            )  # the stage waits for a pod by then, and for as long as it takes
            await edit(given, lambda body: body["spec"]["rules"].insert(0, theirs))
            await scale(given, 1)

        outcomes, _ = await asyncio.gather(
            given.run(traffic_stages.TRAFFIC_ROUTING.name, HALF), meanwhile()
        )

        assert outcomes["us"].status == "succeeded", outcomes
        rules = given.get("us", ROUTE, "shop")["spec"]["rules"]
        assert len(rules) == 2
        assert rules[0]["matches"] == theirs["matches"]
        weights = [[each["weight"] for each in rule["backendRefs"]] for rule in rules]
        assert weights == [[50, 50], [50, 50]]


async def test_a_route_that_the_new_commit_brings_is_made_by_the_stage() -> None:
    app = application(Method.GATEWAY_API)
    async with world("us", application=app, definitions=EVERY) as given:
        given.sources = gateway_sources(route())
        given.sources[OLD].pop()
        await given.deployed(OLD)
        await succeeded(given, rollout_stages.CANARY_ROLLOUT.name, WITH_SERVICE)

        await succeeded(given, traffic_stages.TRAFFIC_ROUTING.name, HALF)

        assert given.traffic("us").by_label(KEY) == {"primary": 0.5, "canary": 0.5}
        body = given.get("us", ROUTE, "shop")
        assert body["metadata"]["annotations"]["volary.dev/commit"] == NEW


async def test_rules_that_only_git_has_are_written() -> None:
    """The live route does not lead to the application yet."""
    app = application(Method.GATEWAY_API)
    async with world("us", application=app, definitions=EVERY) as given:
        given.sources = gateway_sources(route())
        reports = {**service(), "metadata": {"name": "reports"}}
        other = route({"name": "reports", "port": 80})
        given.sources[OLD][-1:] = [made(reports), made(other)]
        await given.deployed(OLD)
        await succeeded(given, rollout_stages.CANARY_ROLLOUT.name, WITH_SERVICE)

        await succeeded(given, traffic_stages.TRAFFIC_ROUTING.name, HALF)

        assert given.traffic("us").by_label(KEY) == {"primary": 0.5, "canary": 0.5}


@pytest.mark.parametrize("create", [True, False], ids=["made", "gits"])
@pytest.mark.parametrize("is_stuck", [True, False], ids=["stuck", "promoted"])
async def test_a_release_may_change_the_port_of_the_service(create: bool, is_stuck: bool) -> None:
    app = application(Method.GATEWAY_API, create=create)
    async with world("us", application=app, definitions=EVERY) as given:
        given.sources = described(app) if create else gateway_sources(route())
        new = {**service(), "spec": {**service()["spec"], "ports": [{"port": 8888}]}}
        objects = [deployment("shop:v2"), new, config()]
        if not create:
            objects.append(route({"name": "shop", "port": 8888}))
        given.sources[NEW] = generated_services.add([made(each) for each in objects], app)
        await given.deployed(OLD)
        await succeeded(given, rollout_stages.CANARY_ROLLOUT.name, WITH_SERVICE)
        await succeeded(given, traffic_stages.TRAFFIC_ROUTING.name, HALF)
        primary = "shop-primary" if create else "shop"

        assert entries(given) == {primary: 80, "shop-canary": 8888}

        if is_stuck:
            given.running.clusters["us"].faults.images.add("shop:v2", "never-ready")
            await given.run(
                rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions(), limit=1
            )
            assert entries(given) == {primary: 8888, "shop-canary": 8888}
        else:
            await succeeded(
                given, rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions()
            )
            assert entries(given) == {primary: 8888}


def entries(given: World) -> dict[str, int]:
    """Then: the ports of the route's backends."""
    rules = given.get("us", ROUTE, "shop")["spec"]["rules"]
    return {each["name"]: each["port"] for each in rules[0]["backendRefs"]}


async def test_a_share_that_leads_to_nobody_is_no_success() -> None:
    app = application(Method.GATEWAY_API)
    async with world("us", application=app, definitions=EVERY) as given:
        given.sources = gateway_sources(route())
        await given.deployed(OLD)
        await succeeded(given, rollout_stages.CANARY_ROLLOUT.name, WITH_SERVICE)
        await succeeded(given, traffic_stages.TRAFFIC_ROUTING.name, HALF)
        await scale(given, 0)

        outcomes = await given.run(traffic_stages.TRAFFIC_ROUTING.name, HALF, limit=1.5)

        assert outcomes["us"].status == "failed"
        assert "the Service shop-canary has no ready endpoint" in outcomes["us"].reason


async def test_two_applications_cannot_move_one_route() -> None:
    app = application(Method.GATEWAY_API)
    async with world("us", application=app, definitions=EVERY) as given:
        given.sources = gateway_sources(route())
        await given.deployed(OLD)
        await succeeded(given, rollout_stages.CANARY_ROLLOUT.name, WITH_SERVICE)

        given.application = replace(app, name="billing")
        outcomes = await given.run(traffic_stages.TRAFFIC_ROUTING.name, HALF)

        assert outcomes["us"].status == "failed"
        assert "is the application shop's" in outcomes["us"].reason
        assert not outcomes["us"].touched


async def test_a_service_for_every_variant_cannot_stand_for_primary() -> None:
    app = application(Method.GATEWAY_API)
    async with world("us", application=app, definitions=EVERY) as given:
        given.sources = {
            commit: [
                made(each) for each in (deployment(image), service(app="shop"), config(), route())
            ]
            for commit, image in ((OLD, "shop:v1"), (NEW, "shop:v2"))
        }
        await given.deployed(OLD)
        await succeeded(given, rollout_stages.CANARY_ROLLOUT.name, WITH_SERVICE)

        outcomes = await given.run(traffic_stages.TRAFFIC_ROUTING.name, HALF)

        assert outcomes["us"].status == "failed"
        assert outcomes["us"].reason.startswith("Service shop leads to the pods of every variant")
