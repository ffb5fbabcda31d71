"""The routes that a Canary asks for are ones that our routers find, divide and read back."""

from pathlib import Path
from typing import Any

import pytest

from volary.config.application import application_files
from volary.manifests.routes import generated_services
from volary.model import applications, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.rollouts import rendering
from volary.stages.traffic import division
from volary.stages.traffic.routers import registry

CASES = Path(__file__).parents[4] / "cases/flagger"
WORKLOAD: json.JsonObject = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "checkout"},
    "spec": {
        "selector": {"matchLabels": {"app": "checkout"}},
        "template": {
            "metadata": {"labels": {"app": "checkout"}},
            "spec": {"containers": [{"name": "checkout", "image": "example/checkout:v1"}]},
        },
    },
}
INGRESS: json.JsonObject = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "Ingress",
    "metadata": {"name": "checkout"},
    "spec": {
        "ingressClassName": "nginx",
        "rules": [
            {
                "host": "shop.example.org",
                "http": {
                    "paths": [
                        {
                            "path": "/",
                            "pathType": "Prefix",
                            "backend": {"service": {"name": "checkout", "port": {"number": 80}}},
                        }
                    ]
                },
            }
        ],
    },
}


def described(case: str) -> applications.Application:
    texts = {each.name: each.read_text() for each in (CASES / case).glob("*.yaml")}
    loaded = application_files.parse(
        texts.pop("canary.yaml"), file="canary.yaml", default_name="x", neighbours=texts
    )
    return loaded.require()


def applied(app: applications.Application) -> list[manifest.Manifest]:
    """What primary consists of, with canary's objects where the router wants them."""
    source = [manifest.Manifest(WORKLOAD)]
    if app.traffic_routing.method is routing_options.RoutingMethod.NGINX:
        source.append(manifest.Manifest(INGRESS))
    found = generated_services.add(source, app)
    canary = rendering.of_variant(
        variant.Variant.CANARY, found, app, app.pipeline[0].options, commit="c"
    )
    primary = rendering.of_variant(variant.Variant.PRIMARY, found, app, commit="c")
    return [*primary, *canary]


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        ("no_provider", "VirtualService"),
        ("ab_testing", "VirtualService"),
        ("gateway_api", "HTTPRoute"),
        ("in_a_mesh", "HTTPRoute"),
        ("linkerd_canary", "TrafficSplit"),
        ("ab_testing_nginx", "Ingress"),
        ("traefik", "TraefikService"),
    ],
)
def test_weights_are_written_and_read_back(case: str, kind: str) -> None:
    app = described(case)
    router = registry.choose(app)
    manifests = applied(app)

    route = router.find(manifests)
    change = router.routed(route, division.Division(80, 20))

    assert route.kind == kind
    seen = [each.shares for each in router.read(change.item.body) if not each.is_made]
    assert {variant.Variant.PRIMARY: 80, variant.Variant.CANARY: 20} in seen, seen


@pytest.mark.parametrize("case", ["gateway_api", "linkerd_canary", "traefik"])
def test_every_backend_has_a_service_that_selects_its_variant(case: str) -> None:
    app = described(case)
    router = registry.choose(app)
    manifests = applied(app)
    change = router.routed(router.find(manifests), division.Division(80, 20))

    services: dict[str, Any] = {
        each.name: each.body["spec"]["selector"] for each in manifests if each.kind == "Service"
    }

    backends = router.services(change.item.body)
    assert backends.keys() >= {variant.Variant.PRIMARY, variant.Variant.CANARY}
    for which, name in backends.items():
        assert services[name]["pipecd.dev/variant"] == which.value
