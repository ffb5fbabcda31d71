"""Requests are chosen by what they carry: A/B tests, copies for canary, users who stay."""

import pytest

from kube_sandbox.crds import definitions as crd_definitions
from kube_sandbox.dataplane.routes import lookup, matching, route_rules
from stage_world import (
    NEW,
    OLD,
    World,
    config,
    deployment,
    destination_rule,
    made,
    service,
    virtual_service,
    world,
)
from volary.model import applications, json, routing_options
from volary.model.pipeline import traffic
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind, traffic_stages
from volary.stages.traffic import division

GATEWAY = "gateway.networking.k8s.io"
ISTIO = "istio"
GATEWAY_API = "gatewayapi"
ONE_POD = rollout_stages.VariantRolloutOptions(
    replicas=rollout_stages.Replicas(1), create_service=True
)
TOKEN = f"volary-{division.token('shop', NEW)}"
BETA = traffic.RequestMatch(headers={"X-User": traffic.TextMatch("beta")})
COOKIE = traffic.RequestMatch(cookies={"team": traffic.TextMatch("web", traffic.MatchKind.PREFIX)})
QUERY = traffic.RequestMatch(query_parameters={"try": traffic.TextMatch("1")})
STAY = traffic.SessionAffinity(
    "shop", primary_cookie_name="shop-primary", max_age=3600, secure=True
)


def http_route() -> json.JsonObject:
    slow = {
        "matches": [{"path": {"type": "PathPrefix", "value": "/slow"}}],
        "timeouts": {"request": "9s"},
    }
    other = {"backendRefs": [{"name": "reports", "port": 80}], **slow}
    main = {"backendRefs": [{"name": "shop", "port": 80}]}
    return {
        "apiVersion": f"{GATEWAY}/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "shop"},
        "spec": {
            "parentRefs": [{"group": "", "kind": "Service", "name": "shop"}],
            "rules": [other, main],
        },
    }


def application(method: str) -> applications.Application:
    return applications.Application(
        name="shop",
        service=routing_options.ObjectReference(name="shop"),
        traffic_routing=routing_options.TrafficRouting(
            method=routing_options.RoutingMethod(method)
        ),
        quick_sync=rollout_stages.SyncOptions(add_variant_label_to_selector=method == ISTIO),
    )


def given_world(method: str) -> "tuple[applications.Application, tuple[json.JsonObject, ...]]":
    definitions = crd_definitions.istio() if method == ISTIO else crd_definitions.gateway_api()
    return application(method), definitions


async def running_beside(given: World, method: str) -> None:
    """Given: a canary beside primary, without traffic."""
    objects = (
        (service(app="shop"), virtual_service(), destination_rule())
        if method == ISTIO
        else (service(), http_route(), {**service(), "metadata": {"name": "reports"}})
    )
    labels = {"app": "shop"} if method == ISTIO else {}
    given.sources = {
        commit: [made(each) for each in (deployment(image, **labels), config(), *objects)]
        for commit, image in ((OLD, "shop:v1"), (NEW, "shop:v2"))
    }
    await given.deployed(OLD)
    found = await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)
    assert found["us"].status == "succeeded", found


def rule(given: World, target: str = "/", **headers: str) -> route_rules.Rule:
    """Then: the rule that holds for a request."""
    routes = lookup.find(given.running.clusters["us"].view, "shop", "default")
    assert routes is not None
    listed = [(name.replace("_", "-"), value) for name, value in headers.items()]
    found = matching.choose(routes, "GET", target, listed)
    assert found is not None
    return found


def goes_to(given: World, target: str = "/", **headers: str) -> dict[str, float]:
    """Then: the variants that a request may reach."""
    found: dict[str, float] = {}
    for each in rule(given, target, **headers).backends:
        suffix = each.subset_name or each.service.partition("-")[2] or "primary"
        if each.weight:
            found[suffix] = found.get(suffix, 0) + each.weight
    return found


def cookies(given: World, **headers: str) -> dict[str, str]:
    """Then: the cookies that the variants hand out."""
    return {
        each.subset_name or each.service.partition("-")[2] or "primary": value
        for each in rule(given, **headers).backends
        for name, value in each.response_headers
        if name == "Set-Cookie"
    }


@pytest.mark.parametrize("method", [ISTIO, GATEWAY_API])
async def test_an_ab_test_sends_some_users_to_canary(method: str) -> None:
    described, definitions = given_world(method)
    async with world("us", application=described, definitions=definitions) as given:
        await running_beside(given, method)
        options = traffic_stages.TrafficOptions(100, match=(BETA, COOKIE, QUERY))

        outcomes = await given.run(traffic_stages.TRAFFIC_ROUTING.name, options)

        assert outcomes["us"].reason == "traffic: primary 100 %, requests that match to canary"
        assert list(goes_to(given, X_User="beta")) == ["canary"]
        assert list(goes_to(given, Cookie="a=b; team=web-eu; c=d")) == ["canary"]
        assert list(goes_to(given, "/?try=1")) == ["canary"]
        assert list(goes_to(given, "/?try=2", X_User="alpha", Cookie="steam=web")) == ["primary"]

        outcomes = await given.run(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions())

        assert outcomes["us"].status == "succeeded"
        assert list(goes_to(given, X_User="beta")) == ["primary"]
        assert given.find("us", "Deployment", "shop-canary") is None


@pytest.mark.parametrize("method", [ISTIO, GATEWAY_API])
async def test_canary_gets_copies_until_the_next_step(method: str) -> None:
    described, definitions = given_world(method)
    async with world("us", application=described, definitions=definitions) as given:
        await running_beside(given, method)

        outcomes = await given.run(
            traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(100, mirror=25)
        )

        assert outcomes["us"].reason == "traffic: primary 100 %, copies of 25 % to canary"
        found = rule(given)
        assert found.mirror is not None
        assert (found.mirror.subset_name or found.mirror.service).endswith("canary")
        assert found.mirror_share == pytest.approx(0.25)
        assert list(goes_to(given)) == ["primary"]

        await given.run(
            traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(90, canary=10)
        )

        assert rule(given).mirror is None
        assert goes_to(given) == {"primary": 90, "canary": 10}


@pytest.mark.parametrize("method", [ISTIO, GATEWAY_API])
async def test_copies_end_before_canary_goes(method: str) -> None:
    described, definitions = given_world(method)
    async with world("us", application=described, definitions=definitions) as given:
        await running_beside(given, method)
        await given.run(
            traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(100, mirror=100)
        )
        assert rule(given).mirror is not None

        outcomes = await given.run(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions())

        assert outcomes["us"].status == "succeeded"
        assert rule(given).mirror is None


@pytest.mark.parametrize("method", [ISTIO, GATEWAY_API])
async def test_users_stay_with_their_variant_by_cookie(method: str) -> None:
    described, definitions = given_world(method)
    async with world("us", application=described, definitions=definitions) as given:
        await running_beside(given, method)
        sticky = traffic_stages.TrafficOptions(80, canary=20, session_affinity=STAY)

        outcomes = await given.run(traffic_stages.TRAFFIC_ROUTING.name, sticky)

        assert outcomes["us"].status == "succeeded", outcomes
        assert goes_to(given) == {"primary": 80, "canary": 20}
        handed = cookies(given)
        assert handed["canary"] == f"shop={TOKEN}; Max-Age=3600; Path=/; Secure"
        assert handed["primary"] == f"shop-primary={TOKEN}; Max-Age=60; Path=/; Secure"
        assert list(goes_to(given, Cookie=f"a=b; shop={TOKEN}")) == ["canary"]
        assert list(goes_to(given, Cookie=f"shop-primary={TOKEN}")) == ["primary"]
        assert goes_to(given, Cookie="shop=volary-ofanearlierrelease") == goes_to(given)

        back = traffic_stages.TrafficOptions(100, session_affinity=STAY)
        await given.run(traffic_stages.TRAFFIC_ROUTING.name, back)

        assert list(goes_to(given, Cookie=f"shop={TOKEN}")) == ["primary"]
        assert cookies(given, Cookie=f"shop={TOKEN}") == {
            "primary": f"shop={TOKEN}; Max-Age=-1; Path=/; Secure"
        }

        promotion = rollout_stages.PrimaryRolloutOptions(
            add_variant_label_to_selector=method == ISTIO
        )
        outcomes = await given.run(rollout_stages.PRIMARY_ROLLOUT.name, promotion)

        assert outcomes["us"].status == "succeeded", outcomes
        assert cookies(given, Cookie=f"shop={TOKEN}") == {}
        assert list(goes_to(given)) == ["primary"]


async def test_rules_of_others_stay_word_for_word() -> None:
    described, definitions = given_world(GATEWAY_API)
    async with world("us", application=described, definitions=definitions) as given:
        await running_beside(given, GATEWAY_API)
        kind = f"HTTPRoute.{GATEWAY}"
        theirs = given.get("us", kind, "shop")["spec"]["rules"][0]
        assert theirs["timeouts"] == {"request": "9s"}

        options = traffic_stages.TrafficOptions(60, canary=40, match=(BETA,), session_affinity=STAY)
        await given.run(traffic_stages.TRAFFIC_ROUTING.name, options)

        live = given.get("us", kind, "shop")
        assert live["spec"]["rules"][0] == theirs
        assert len(live["spec"]["rules"]) == 5
        owned = {entry["manager"]: entry["fieldsV1"] for entry in live["metadata"]["managedFields"]}
        assert owned["volary-traffic"]["f:spec"] == {"f:rules": {}}
        assert list(owned["volary-traffic"]["f:metadata"]["f:annotations"]) == [
            "f:volary.dev/added-rules"
        ]

        await given.run(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions())

        live = given.get("us", kind, "shop")
        assert live["spec"]["rules"][0] == theirs
        assert len(live["spec"]["rules"]) == 2
        assert "volary.dev/added-rules" not in live["metadata"]["annotations"]
