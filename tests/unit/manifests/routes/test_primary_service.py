"""A Service that is made for primary leads to some of its pods, or is refused."""

import pytest

from volary.manifests.routes import generated_routes
from volary.model import applications, errors, json, routing_options
from volary.model.objects import manifest

KEY = "pipecd.dev/variant"
OURS = {"app": "shop", KEY: "primary"}


def app(**routing: object) -> applications.Application:
    written = {"method": routing_options.RoutingMethod.SMI, "create": True, **routing}
    return applications.Application(
        name="shop",
        service=routing_options.ObjectReference(name="shop"),
        traffic_routing=routing_options.TrafficRouting(**written),  # type: ignore[arg-type]
    )


def made(described: applications.Application) -> list[manifest.Manifest]:
    ports = [{"port": 80}]
    body: json.JsonObject = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "shop"},
        "spec": {"selector": {"app": "shop"}, "ports": ports},
    }
    return generated_routes.add([manifest.Manifest(body)], described)


def workload(labels: dict[str, str], version: str = "apps/v1") -> manifest.Manifest:
    return manifest.Manifest(
        {
            "apiVersion": version,
            "kind": "Deployment",
            "metadata": {"name": "shop"},
            "spec": {"template": {"metadata": {"labels": labels}}},
        }
    )


def test_pods_without_the_variants_label_would_get_nothing() -> None:
    with pytest.raises(errors.UserError, match="Service shop-primary, by which") as caught:
        generated_routes.check_primary([*made(app()), workload({"app": "shop"})], app())

    assert caught.value.problems[0].where.path == "spec.trafficRouting.create"
    assert "onPods" in caught.value.problems[0].hint


@pytest.mark.parametrize(
    "pods",
    [
        [workload(OURS)],
        [workload({"app": "shop"}), workload({**OURS, "more": "x"})],
        # Somebody else's: it is not known where the Service's pods come from.
        [workload({"app": "other"})],
        [workload({"app": "shop"}, "x.org/v1")],
        [],
    ],
)
def test_other_pods_are_no_reason_to_refuse(pods: list[manifest.Manifest]) -> None:
    generated_routes.check_primary([*made(app()), *pods], app())


def test_a_service_that_git_has_is_its_own_affair() -> None:
    written = [item.with_body(item.body) for item in made(app())]
    theirs = [manifest.Manifest(item.body) for item in written]

    generated_routes.check_primary([*theirs, workload({"app": "shop"})], app())


@pytest.mark.parametrize(
    ("method", "create", "expected"),
    [
        (routing_options.RoutingMethod.SMI, True, True),
        (routing_options.RoutingMethod.SMI, False, False),
        (routing_options.RoutingMethod.GATEWAY_API, True, True),
        (routing_options.RoutingMethod.ISTIO, True, False),
        (routing_options.RoutingMethod.POD_SELECTOR, True, False),
    ],
)
def test_routers_by_service_get_one_for_each_variant(
    method: routing_options.RoutingMethod, create: bool, expected: bool
) -> None:
    described = app(method=method, create=create)

    assert generated_routes.generates_services(described) is expected
