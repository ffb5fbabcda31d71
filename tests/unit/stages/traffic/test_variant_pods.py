"""Which pods a variant's traffic ends at."""

import pytest

from volary.model import applications, errors, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import traffic_stages
from volary.stages.kinds import progressive_traffic, traffic_routing
from volary.stages.runtime import stage_runners
from volary.stages.traffic import division, variant_pods

KEY = "pipecd.dev/variant"


def service(**selector: str) -> manifest.Manifest:
    return manifest.Manifest(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "shop"},
            "spec": {"selector": selector},
        }
    )


def app(method: routing_options.RoutingMethod) -> applications.Application:
    return applications.Application(
        name="shop",
        service=routing_options.ObjectReference(name="shop"),
        traffic_routing=routing_options.TrafficRouting(method=method),
    )


RULE = manifest.Manifest(
    {
        "apiVersion": "networking.istio.io/v1",
        "kind": "DestinationRule",
        "metadata": {"name": "shop"},
        "spec": {
            "host": "shop",
            "subsets": [{"name": "canary", "labels": {"version": "next"}}],
        },
    }
)
ISTIO = app(routing_options.RoutingMethod.ISTIO)


def test_a_selector_with_the_other_variant() -> None:
    found = variant_pods.labels(
        [service(app="shop", **{KEY: "primary"})],
        app(routing_options.RoutingMethod.POD_SELECTOR),
        variant.Variant.CANARY,
    )

    assert found == {"app": "shop", KEY: "canary"}


def test_a_subset_says_which_pods_it_means() -> None:
    found = variant_pods.labels([service(app="shop"), RULE], ISTIO, variant.Variant.CANARY)

    assert found == {"app": "shop", "version": "next"}


@pytest.mark.parametrize(("kind", "host"), [("DestinationRule", "cart"), ("WorkloadGroup", "shop")])
def test_subsets_of_others_mean_nothing(kind: str, host: str) -> None:
    subsets = [{"name": "canary", "labels": {"version": "theirs"}}]
    body = {**RULE.body, "kind": kind, "spec": {"host": host, "subsets": subsets}}
    source = [manifest.Manifest(body), service(app="shop"), RULE]

    found = variant_pods.labels(source, ISTIO, variant.Variant.CANARY)

    assert found == {"app": "shop", "version": "next"}


def test_without_a_subset_the_variant_label_chooses() -> None:
    found = variant_pods.labels([service(app="shop"), RULE], ISTIO, variant.Variant.BASELINE)

    assert found == {"app": "shop", KEY: "baseline"}


def test_a_service_that_excludes_the_subset_is_an_error() -> None:
    with pytest.raises(errors.UserError, match="has no pods"):
        variant_pods.labels([service(**{KEY: "primary"})], ISTIO, variant.Variant.CANARY)


def test_it_is_found_out_before_anything_is_written() -> None:
    route = {"destination": {"host": "shop", "subset": "primary"}}
    entry = {
        "apiVersion": "networking.istio.io/v1",
        "kind": "VirtualService",
        "metadata": {"name": "shop"},
        "spec": {"hosts": ["shop"], "http": [{"name": "main", "route": [route]}]},
    }
    source = [service(**{KEY: "primary"}), manifest.Manifest(entry)]
    sources = stage_runners.Sources(ISTIO, source)

    with pytest.raises(errors.UserError, match="has no pods"):
        traffic_routing.check(sources, division.Division(80, canary=20))
    steps = traffic_stages.ProgressiveTrafficOptions(step_weight=20)
    with pytest.raises(errors.UserError, match="has no pods"):
        progressive_traffic.check(sources, steps)
