"""A shop behind a mesh or a gateway: what its application says, and its manifests."""

import stage_world
from volary.model import applications, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline.stage_kinds import rollout_stages

#: What users of the gateway ask for.
HOST = "shop.example"
ISTIO = applications.Application(
    name="shop",
    service=routing_options.ObjectReference(name="shop"),
    quick_sync=rollout_stages.SyncOptions(add_variant_label_to_selector=True),
    traffic_routing=routing_options.TrafficRouting(
        method=routing_options.RoutingMethod.ISTIO,
        istio=routing_options.IstioRouting(host="shop"),
    ),
)
GATEWAY = applications.Application(
    name="shop",
    service=routing_options.ObjectReference(name="shop"),
    traffic_routing=routing_options.TrafficRouting(
        method=routing_options.RoutingMethod.GATEWAY_API
    ),
)


def meshed(image: str, *, replicas: int = 2) -> list[manifest.Manifest]:
    """Return the shop in a mesh."""
    bodies = (
        stage_world.deployment(image, app="shop", replicas=replicas),
        stage_world.service(app="shop"),
        stage_world.virtual_service(),
        stage_world.destination_rule(),
        stage_world.config(),
    )
    return [stage_world.made(body) for body in bodies]


def routed(image: str) -> list[manifest.Manifest]:
    """Return the shop behind a gateway."""
    return _behind_gateway(image, "HTTPRoute", {})


def called(image: str) -> list[manifest.Manifest]:
    """Return the shop behind a gateway, for clients of gRPC."""
    return _behind_gateway(image, "GRPCRoute", {"matches": [{"method": {"service": "shop.Shop"}}]})


def _behind_gateway(image: str, kind: str, matching: json.JsonObject) -> list[manifest.Manifest]:
    route = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "shop"},
        "spec": {
            "parentRefs": [{"name": "web"}],
            "hostnames": [HOST],
            "rules": [{**matching, "backendRefs": [{"name": "shop", "port": 80}]}],
        },
    }
    bodies = (stage_world.deployment(image), stage_world.service(), route)
    return [stage_world.made(body) for body in bodies]
