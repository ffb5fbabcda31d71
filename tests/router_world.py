"""Ways to divide traffic in two steps, for runs over clusters."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import mesh_world
import stage_world
from kube_sandbox.crds import definitions
from volary.model import applications, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind, traffic_stages


@dataclass(frozen=True)
class Router:
    """How traffic is divided, and in which two steps."""

    application: applications.Application
    manifests: Callable[[str], list[manifest.Manifest]]
    kind: str
    divisions: tuple[traffic_stages.TrafficOptions, traffic_stages.TrafficOptions]
    definitions: tuple[json.JsonObject, ...] = ()


def gateway(image: str) -> list[manifest.Manifest]:
    route = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "shop"},
        "spec": {
            "parentRefs": [{"group": "", "kind": "Service", "name": "shop"}],
            "rules": [{"name": "main", "backendRefs": [{"name": "shop", "port": 80}]}],
        },
    }
    return [*stage_world.shop(image), stage_world.made(route)]


def application(method: routing_options.RoutingMethod) -> applications.Application:
    return applications.Application(
        name="shop",
        service=routing_options.ObjectReference(name="shop"),
        traffic_routing=routing_options.TrafficRouting(method=method),
    )


STEPS = (traffic_stages.TrafficOptions(70, canary=30), traffic_stages.TrafficOptions(40, canary=60))
ROUTERS = {
    "istio": Router(
        mesh_world.ISTIO, mesh_world.meshed, "VirtualService", STEPS, definitions.istio()
    ),
    "gateway": Router(
        application(routing_options.RoutingMethod.GATEWAY_API),
        gateway,
        "HTTPRoute",
        STEPS,
        definitions.gateway_api(),
    ),
    "podselector": Router(
        application(routing_options.RoutingMethod.POD_SELECTOR),
        stage_world.shop,
        "Service",
        # It cannot divide: back and forth.
        (traffic_stages.TrafficOptions(0, canary=100), traffic_stages.TrafficOptions(100)),
    ),
}


def stages(router: Router, limit: float = 20) -> tuple[pipelines.Stage, ...]:
    """Canary, two divisions, promotion, back to primary, and clean; each in `limit` seconds."""
    one = rollout_stages.VariantRolloutOptions(
        replicas=rollout_stages.Replicas(1), create_service=True
    )
    selects = router.application.quick_sync.add_variant_label_to_selector
    promotion = rollout_stages.PrimaryRolloutOptions(add_variant_label_to_selector=selects)
    steps: tuple[tuple[str, stage_kind.StageOptions], ...] = (
        (rollout_stages.CANARY_ROLLOUT.name, one),
        *((traffic_stages.TRAFFIC_ROUTING.name, each) for each in router.divisions),
        (rollout_stages.PRIMARY_ROLLOUT.name, promotion),
        (traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(100)),
        (rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions()),
    )
    return tuple(pipelines.Stage(*each, timeout=timedelta(seconds=limit)) for each in steps)
