"""What the objects of each variant are called, from the manifests of an application."""

import pytest

from volary.analysis.metering import query_names
from volary.model import applications, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import pipelines, variant
from volary.model.pipeline.stage_kinds import rollout_stages

V = variant.Variant
SHOP = applications.Application(name="shop", service=routing_options.ObjectReference(name="shop"))
ROLLED_OUT = applications.Application(
    name="shop",
    service=routing_options.ObjectReference(name="shop"),
    workloads=(routing_options.ObjectReference("Service", "shop"),),
    traffic_routing=routing_options.TrafficRouting(method=routing_options.RoutingMethod.SMI),
)


def of_kind(kind: str, name: str, *, group: str = "", **metadata: str) -> manifest.Manifest:
    spec: json.JsonObject = {"selector": {"app": "shop"}}
    if kind == "Deployment":
        template = {"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": []}}
        spec = {"selector": {"matchLabels": {"app": "shop"}}, "template": template}
    body: json.JsonObject = {
        "apiVersion": f"{group}/v1" if group else "v1",
        "kind": kind,
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }
    return manifest.Manifest(body)


MANIFESTS = [
    of_kind("Deployment", "web", group="apps", namespace="store"),
    of_kind("Service", "shop"),
    of_kind("Ingress", "front", group="networking.k8s.io"),
    of_kind("HTTPRoute", "main", group="gateway.networking.k8s.io"),
    of_kind("VirtualService", "second", group="networking.istio.io"),
]


def test_names_are_those_of_the_manifests() -> None:
    names = query_names.find(SHOP, MANIFESTS, namespace="default")

    assert (names.namespace, names.workload, names.service) == ("store", "web", "shop")
    assert (names.ingress, names.route) == ("front", "main")
    assert names.workload_of(V.CANARY) == "web-canary"
    assert names.workload_of(V.PRIMARY) == "web"
    assert names.service_of(V.BASELINE, routing_options.VariantServices()) == "shop-baseline"
    given = routing_options.VariantServices(canary="new")
    assert names.service_of(V.CANARY, given) == "new"


def test_what_is_not_there_is_empty_or_the_clusters() -> None:
    names = query_names.find(SHOP, [], namespace="default")

    assert (names.namespace, names.workload, names.service) == ("default", "", "shop")
    assert (names.ingress, names.route, names.workload_of(V.CANARY)) == ("", "", "")


@pytest.mark.parametrize(("suffix", "expected"), [("", "web-canary"), ("next", "web-next")])
def test_a_rollout_says_what_is_appended(suffix: str, expected: str) -> None:
    options = rollout_stages.VariantRolloutOptions(suffix=suffix)
    stage = pipelines.Stage(rollout_stages.CANARY_ROLLOUT.name, options)
    application = applications.Application(name="shop", pipeline=(stage,))

    names = query_names.find(application, MANIFESTS, namespace="default")

    assert names.workload_of(V.CANARY) == expected
    assert names.workload_of(V.BASELINE) == "web-baseline"


def test_a_service_that_is_rolled_out_leads_to_workloads_of_other_names() -> None:
    old = of_kind("Deployment", "web-v1", group="apps")
    new = of_kind("Deployment", "web-v2", group="apps")
    leads = of_kind("Service", "shop")

    names = query_names.find(ROLLED_OUT, [new, leads], namespace="default", running=[old, leads])

    assert names.workload_of(V.PRIMARY) == "web-v1"
    assert names.workload_of(V.CANARY) == "web-v2"
    assert names.service_of(V.CANARY, routing_options.VariantServices()) == "shop-canary"
