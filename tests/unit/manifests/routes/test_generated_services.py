"""What an application file adds to the manifests: objects, and the workload's Service."""

from dataclasses import replace
from typing import Any

import pytest

from volary.manifests.routes import generated_services
from volary.manifests.variants import variants
from volary.model import applications, errors, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import rollout_stages

KEY = "pipecd.dev/variant"
MADE = applications.MadeService((applications.ServicePort(80, "http", "web", "h2c"),))
APP = applications.Application(
    "shop",
    workloads=(routing_options.ObjectReference("Deployment", "shop"),),
    service=routing_options.ObjectReference(name="front"),
    made_service=MADE,
    variant_label=variant.VariantLabel(on_pods=True),
)


def workload(name: str = "shop", **container: Any) -> manifest.Manifest:
    labels = {"app": name}
    containers = [
        {"name": name, "image": "shop:v1", **container},
        {"name": "istio-proxy", "ports": [{"containerPort": 15090}]},
    ]
    return manifest.Manifest(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": "web"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
            },
        }
    )


def service(found: list[manifest.Manifest]) -> dict[str, Any]:
    (only,) = [each for each in found if each.kind == "Service"]
    return dict(only.body)


def test_the_service_leads_to_primarys_pods() -> None:
    found = generated_services.add([workload()], APP)

    body = service(found)
    assert body["metadata"] == {"name": "front", "namespace": "web"}
    assert body["spec"] == {
        "selector": {"app": "shop", KEY: "primary"},
        "ports": [
            {
                "name": "http",
                "port": 80,
                "targetPort": "web",
                "protocol": "TCP",
                "appProtocol": "h2c",
            }
        ],
    }


def test_it_finds_the_pods_that_a_rollout_makes() -> None:
    found = generated_services.add([workload()], APP)

    rolled = variants.primary(found, APP, rollout_stages.SyncOptions())

    (deployment,) = [each for each in rolled if each.kind == "Deployment"]
    pods = deployment.body["spec"]["template"]["metadata"]["labels"]
    assert service(rolled)["spec"]["selector"].items() <= pods.items()
    assert deployment.body["spec"]["selector"] == {"matchLabels": {"app": "shop"}}


def test_with_istio_the_subsets_choose_among_the_pods_of_all_variants() -> None:
    routing = routing_options.TrafficRouting(routing_options.RoutingMethod.ISTIO)

    found = generated_services.add([workload()], replace(APP, traffic_routing=routing))

    assert service(found)["spec"]["selector"] == {"app": "shop"}


def test_a_service_in_git_stays_as_it_is() -> None:
    written = manifest.Manifest(
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "front"}}
    )

    assert generated_services.add([workload(), written], APP) == [workload(), written]


def test_other_ports_of_the_pods_are_added_but_those_of_proxies() -> None:
    wanted = replace(MADE, discover_ports=True, headless=True, labels={"a": "b"})
    ports = [
        {"name": "web", "containerPort": 8080},
        {"name": "http", "containerPort": 9090},
        {"containerPort": 53, "protocol": "UDP"},
    ]

    body = service(
        generated_services.add([workload(ports=ports)], replace(APP, made_service=wanted))
    )

    assert [(each["name"], each["port"], each["protocol"]) for each in body["spec"]["ports"]] == [
        ("http", 80, "TCP"),
        ("port-9090", 9090, "TCP"),
        ("port-53", 53, "UDP"),
    ]
    assert body["spec"]["clusterIP"] == "None"
    assert body["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize("manifests", [[], [workload(), workload("two")]])
def test_it_must_be_clear_which_pods_are_meant(manifests: list[manifest.Manifest]) -> None:
    with pytest.raises(errors.UserError, match="the Service front cannot be made"):
        generated_services.add(manifests, replace(APP, workloads=()))


def test_objects_of_the_file_stand_beside_the_others() -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "extra"}}
    app = replace(APP, input=applications.Input(objects=(body,)), made_service=None)

    found = generated_services.add([workload()], app)

    assert [each.key.title for each in found] == ["Deployment web/shop", "ConfigMap extra"]
    assert str(found[1].origin) == "spec.input.objects"


def test_a_port_that_is_there_already_is_not_added_again() -> None:
    wanted = replace(MADE, discover_ports=True)
    ports = [{"containerPort": 80}, {"name": "x", "containerPort": 81}, {"containerPort": 81}]
    body = service(
        generated_services.add([workload(ports=ports)], replace(APP, made_service=wanted))
    )

    assert [each["port"] for each in body["spec"]["ports"]] == [80, 81]


@pytest.mark.parametrize(
    ("manifests", "listed"),
    [([], "0 \\(none\\)"), ([workload(), workload("two")], "2 \\(.*shop, .*two\\)")],
)
def test_it_is_said_which_workloads_there_are(
    manifests: list[manifest.Manifest], listed: str
) -> None:
    with pytest.raises(errors.UserError, match=f"there are {listed}"):
        generated_services.add(manifests, replace(APP, workloads=()))
