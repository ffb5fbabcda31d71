"""Routes for applications that have none in Git."""

from typing import Any

import pytest

from volary.manifests.routes import generated_routes
from volary.manifests.services import backends
from volary.model import applications, errors, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages

Method = routing_options.RoutingMethod
SERVICE: json.JsonObject = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "shop", "namespace": "web"},
    "spec": {"selector": {"app": "shop"}, "ports": [{"port": 8080}], "type": "LoadBalancer"},
}


def app(method: Method, *stages: pipelines.Stage, **routing: Any) -> applications.Application:
    return applications.Application(
        name="shop",
        service=routing_options.ObjectReference(name="shop"),
        traffic_routing=routing_options.TrafficRouting(
            method=method, **{"create": True, **routing}
        ),
        pipeline=stages,
    )


def added(described: applications.Application, *more: json.JsonObject) -> dict[str, Any]:
    given = [manifest.Manifest(each) for each in (SERVICE, *more)]
    found = generated_routes.add(given, described)
    assert found[: len(given)] == given
    return {f"{item.kind} {item.name}": item.body["spec"] for item in found[len(given) :]}


def test_the_gateway_apis_route_is_attached_to_the_service() -> None:
    found = added(app(Method.GATEWAY_API))

    assert found["HTTPRoute shop"] == {
        "parentRefs": [{"group": "", "kind": "Service", "name": "shop"}],
        "rules": [
            {
                "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
                "backendRefs": [{"name": "shop-primary", "port": 8080, "weight": 100}],
            }
        ],
    }
    assert found["Service shop-primary"]["selector"] == {
        "app": "shop",
        "pipecd.dev/variant": "primary",
    }
    assert found["Service shop-primary"]["type"] == "ClusterIP"


def test_a_route_for_a_gateway() -> None:
    parent = routing_options.ParentReference(
        "web", namespace="edge", section_name="https", port=443
    )
    options = routing_options.GatewayRouting(
        route=routing_options.GatewayRoute("GRPCRoute", "orders"),
        gateway_refs=(parent,),
        hosts=("shop.example",),
    )

    found = added(app(Method.GATEWAY_API, gateway_api=options))["GRPCRoute orders"]

    assert found["hostnames"] == ["shop.example"]
    assert found["parentRefs"] == [
        {
            "group": "gateway.networking.k8s.io",
            "kind": "Gateway",
            "name": "web",
            "namespace": "edge",
            "sectionName": "https",
            "port": 443,
        }
    ]
    assert list(found["rules"][0]) == ["backendRefs"]


def test_istio_gets_both_objects_and_no_service() -> None:
    options = routing_options.IstioRouting(gateways=("edge",), hosts=("shop.example",))

    found = added(app(Method.ISTIO, istio=options))

    assert list(found) == ["DestinationRule shop", "VirtualService shop"]
    assert found["VirtualService shop"]["gateways"] == ["edge"]
    assert found["VirtualService shop"]["hosts"] == ["shop.example"]
    subsets = found["DestinationRule shop"]["subsets"]
    assert [each["name"] for each in subsets] == ["primary", "canary", "baseline"]


def test_what_the_others_get() -> None:
    old = routing_options.SmiRouting(version="v1alpha1")
    assert added(app(Method.SMI, smi=old))["TrafficSplit shop"] == {
        "service": "shop",
        "backends": [{"service": "shop-primary", "weight": "100"}],
    }
    assert added(app(Method.TRAEFIK))["TraefikService shop"] == {
        "weighted": {"services": [{"name": "shop-primary", "port": 8080, "weight": 100}]}
    }
    found = added(app(Method.NGINX, nginx=routing_options.NginxRouting(hosts=("a", "b"))))
    assert [each["host"] for each in found["Ingress shop"]["rules"]] == ["a", "b"]


def test_they_are_made_in_the_services_namespace_and_known_as_made() -> None:
    found = generated_routes.add([manifest.Manifest(SERVICE)], app(Method.SMI))

    assert [item.namespace for item in found] == ["web", "web", "web"]
    assert [generated_routes.is_generated(item) for item in found] == [False, True, False]


@pytest.mark.parametrize("name", ["shop", "shop-primary", "shop-canary"])
def test_a_route_of_git_is_enough(name: str) -> None:
    route: json.JsonObject = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "mine"},
        "spec": {"rules": [{"backendRefs": [{"name": name}]}]},
    }

    assert list(added(app(Method.GATEWAY_API), route)) == ["Service shop-primary"]


@pytest.mark.parametrize(("name", "is_enough"), [("shop", True), ("reports", False)])
def test_a_route_of_git_that_leads_elsewhere_is_enough_by_its_name_alone(
    name: str, is_enough: bool
) -> None:
    """Two objects of one name would overwrite each other."""
    split: json.JsonObject = {
        "apiVersion": "split.smi-spec.io/v1alpha2",
        "kind": "TrafficSplit",
        "metadata": {"name": name},
        "spec": {"service": "reports", "backends": [{"service": "reports", "weight": 100}]},
    }

    assert ("TrafficSplit shop" not in added(app(Method.SMI), split)) == is_enough


def test_nothing_is_made_twice_or_unasked() -> None:
    described = app(Method.SMI)
    once = generated_routes.add([manifest.Manifest(SERVICE)], described)

    assert generated_routes.add(once, described) == once
    assert added(app(Method.SMI, create=False)) == {}
    assert added(app(Method.POD_SELECTOR)) == {}
    assert generated_routes.add([], app(Method.POD_SELECTOR)) == [], "nor is a Service missed"


def test_without_the_service_nothing_can_be_made() -> None:
    with pytest.raises(errors.UserError, match="there is no Service shop among the manifests"):
        generated_routes.add([], app(Method.SMI))
    portless = {**SERVICE, "spec": {"selector": {"app": "shop"}}}
    with pytest.raises(errors.UserError, match="has no ports"):
        generated_routes.add([manifest.Manifest(portless)], app(Method.TRAEFIK))


def test_names_of_the_services_follow_the_rollouts() -> None:
    canary = pipelines.Stage(
        rollout_stages.CANARY_ROLLOUT.name, rollout_stages.VariantRolloutOptions(suffix="next")
    )
    primary = pipelines.Stage(
        rollout_stages.PRIMARY_ROLLOUT.name,
        rollout_stages.PrimaryRolloutOptions(create_service=True),
    )
    services = routing_options.VariantServices(baseline="before")

    plain = backends.of(app(Method.SMI, create=False))
    found = backends.of(app(Method.SMI, canary, primary, create=False, services=services))

    assert (plain.primary, plain.canary, plain.baseline) == ("shop", "shop-canary", "shop-baseline")
    assert (found.primary, found.canary, found.baseline) == ("shop-primary", "shop-next", "before")
    assert found.variant("shop") == "primary"
    assert found.variant("other") is None


def test_services_that_are_not_known_are_an_error() -> None:
    nameless = applications.Application(
        name="shop", traffic_routing=routing_options.TrafficRouting(method=Method.SMI)
    )
    with pytest.raises(errors.UserError, match="are not known"):
        backends.of(nameless)
