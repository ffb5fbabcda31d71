"""The objects that carry routes: whose they are, and what applying manifests leaves alone."""

import asyncio
from dataclasses import replace
from typing import cast

import pytest

import stage_contexts
from volary.clusters.api import discovery
from volary.clusters.client import resource_mapping
from volary.manifests.ownership import tracking
from volary.manifests.routes import generated_routes
from volary.model import applications, json, routing_options
from volary.model.objects import manifest, ownership
from volary.model.pipeline import variant
from volary.stages.runtime import execution
from volary.stages.traffic import live_routes
from volary.stages.traffic.routers import registry

KEY = "pipecd.dev/variant"
SELECTOR = applications.Application(name="shop")
GATEWAY = applications.Application(
    name="shop",
    service=routing_options.ObjectReference(name="shop"),
    traffic_routing=routing_options.TrafficRouting(
        method=routing_options.RoutingMethod.GATEWAY_API
    ),
)


def service(value: str = "primary", name: str = "shop") -> manifest.Manifest:
    return manifest.Manifest(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name},
            "spec": {"selector": {"app": "shop", KEY: value}},
        }
    )


def route(canary: int = 0, port: int = 80, **metadata: object) -> manifest.Manifest:
    references = [{"name": "shop", "port": port, "weight": 100 - canary}]
    if canary:
        references.append({"name": "shop-canary", "port": port, "weight": canary})
    return manifest.Manifest(
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "HTTPRoute",
            "metadata": {"name": "shop", **metadata},
            "spec": {"hostnames": ["git"], "rules": [{"backendRefs": references}]},
        }
    )


def carrier(
    item: manifest.Manifest,
    live: json.JsonObject | None,
    application: applications.Application = SELECTOR,
) -> live_routes.RouteObject:
    resource = cast("discovery.Resource", None)
    placed = resource_mapping.MappedManifest(item, resource)
    return live_routes.RouteObject(placed, live, registry.choose(application))


def names(items: list[manifest.Manifest]) -> list[str]:
    return [item.name for item in items]


def test_a_service_that_selects_another_variant_in_git_is_no_route() -> None:
    items = [service(), service("canary", "preview"), service(name="other")]

    assert names(live_routes.candidates(items, SELECTOR)) == ["shop", "other"]


def test_of_other_routers_there_is_one_route_or_none() -> None:
    assert names(live_routes.candidates([service(), route()], GATEWAY)) == ["shop"]
    assert live_routes.candidates([service()], GATEWAY) == []


def live_of(owner: ownership.Owner) -> json.JsonObject:
    """Return the live Service as it was applied for an application."""
    return tracking.track(
        service(),
        owner=owner,
        commit="1",
        variant=variant.Variant.PRIMARY,
        label=variant.VariantLabel(),
    ).body


async def test_a_route_is_moved_by_its_own_application() -> None:
    work = execution.Work(stage_contexts.context(), asyncio.get_running_loop().time())
    own = live_of(work.context.application.owner)

    for live in (None, service().body, own):
        live_routes.check_owner(work, carrier(service(), live))


@pytest.mark.parametrize("name", ["cart", "shop"])
async def test_only_one_application_moves_the_traffic_of_a_route(name: str) -> None:
    """Another one may have the same name."""
    work = execution.Work(stage_contexts.context(), asyncio.get_running_loop().time())
    other = carrier(service(), live_of(ownership.Owner(name, "another")))

    with pytest.raises(
        execution.StageFailedError, match=rf"Service shop is .* {name}'s: .* not shop"
    ):
        live_routes.check_owner(work, other)


async def test_where_teams_are_apart_a_route_is_anothers_without_a_name() -> None:
    made = stage_contexts.context()
    apart = replace(made, application=replace(made.application, names_others=False))
    work = execution.Work(apart, asyncio.get_running_loop().time())
    other = carrier(service(), live_of(ownership.Owner("theirs-alone", "id-of-theirs")))

    with pytest.raises(execution.StageFailedError, match="Service shop is another's:") as refused:
        live_routes.check_owner(work, other)

    assert "theirs" not in str(refused.value)


def test_diverted_is_what_sends_traffic_to_another_variant() -> None:
    away = carrier(service(), service("canary").body)
    routes = [carrier(service(), service().body), carrier(service(), None), away]

    assert live_routes.diverted(routes) == [away]


@pytest.mark.parametrize(("live", "kept"), [("canary", "canary"), ("primary", "primary")])
def test_applying_leaves_a_selector_as_it_is_live(live: str, kept: str) -> None:
    config = manifest.Manifest({"kind": "ConfigMap", "metadata": {"name": "shop"}})

    held = live_routes.keep_live([service(), config], [carrier(service(), service(live).body)])

    assert held[0].body["spec"]["selector"] == {"app": "shop", KEY: kept}
    assert held[1] is config, "of the same name, but another kind"


def test_what_is_not_there_yet_is_applied_as_it_is_in_git() -> None:
    item = service()
    assert live_routes.keep_live([item], [carrier(item, None)]) == [item]


def test_applying_leaves_the_rules_of_a_route_with_traffic_elsewhere() -> None:
    live = route(20).body
    live["spec"]["hostnames"] = ["live"]

    (held,) = live_routes.keep_live([route()], [carrier(route(), live, GATEWAY)])

    assert held.body["spec"]["rules"] == live["spec"]["rules"]
    assert held.body["spec"]["hostnames"] == ["git"], "only the routes are kept"


def test_primarys_port_follows_the_version_that_is_applied() -> None:
    live = route(20, port=80).body

    (held,) = live_routes.keep_live([route(port=81)], [carrier(route(port=81), live, GATEWAY)])

    references = held.body["spec"]["rules"][0]["backendRefs"]
    assert [(each["name"], each["port"], each["weight"]) for each in references] == [
        ("shop", 81, 80),
        ("shop-canary", 80, 20),
    ]


def generated(canary: int = 0) -> manifest.Manifest:
    return route(canary, annotations={generated_routes.GENERATED: "true"})


def test_a_route_of_ours_keeps_its_live_rules_whatever_they_are() -> None:
    assert generated_routes.is_generated(generated())
    live = route().body
    live["spec"]["rules"][0]["timeouts"] = {"request": "1s"}

    (held,) = live_routes.keep_live([generated()], [carrier(generated(), live, GATEWAY)])

    assert held.body["spec"]["rules"] == live["spec"]["rules"]
    assert held.body["spec"]["hostnames"] == ["git"]


def test_only_new_routes_of_ours_wait_for_pods() -> None:
    config = manifest.Manifest({"kind": "ConfigMap", "metadata": {"name": "shop"}})
    manifests = [config, generated()]

    def split(live: json.JsonObject | None, item: manifest.Manifest) -> tuple[list[str], ...]:
        now, late = live_routes.split_new(manifests, [carrier(item, live, GATEWAY)])
        return [each.kind for each in now], [each.kind for each in late]

    everything = (["ConfigMap", "HTTPRoute"], [])
    assert split(None, generated()) == (["ConfigMap"], ["HTTPRoute"])
    assert split(route().body, generated()) == everything
    assert split(None, route()) == everything


def test_what_a_carrier_sends_where() -> None:
    moved = carrier(route(), route(30).body, GATEWAY)

    assert moved.weights[0].shares == {variant.Variant.PRIMARY: 70, variant.Variant.CANARY: 30}
    assert moved.as_live().body == route(30).body
    assert carrier(route(), None, GATEWAY).weights == ()
    assert carrier(route(), None, GATEWAY).as_live() == route()
