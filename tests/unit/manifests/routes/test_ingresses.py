"""Which Services an Ingress leads to."""

from volary.manifests.routes import ingresses
from volary.model import applications, json, routing_options
from volary.model.pipeline import variant

APP = applications.Application(
    name="shop",
    service=routing_options.ObjectReference(name="shop"),
    traffic_routing=routing_options.TrafficRouting(method=routing_options.RoutingMethod.NGINX),
)


def ingress(*names: str) -> json.JsonObject:
    paths = [{"path": f"/{name}", "backend": {"service": {"name": name}}} for name in names]
    return {"spec": {"rules": [{"http": {"paths": paths}}]}}


def test_services_of_others_are_no_variants() -> None:
    seen = ingresses.variant_services(ingress("reports", "shop", "shop-canary"), APP)

    assert seen == {variant.Variant.PRIMARY: "shop", variant.Variant.CANARY: "shop-canary"}
    assert ingresses.variant_services(ingress("reports"), APP) == {}
