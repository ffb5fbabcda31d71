"""What the page about several servers deploys is accepted by an API server, and fits together."""

from pathlib import Path
from typing import Any

import yaml

import fixed_clock
from kube_sandbox.apiserver.registry import registry

FILE = Path(__file__).parents[2] / "deploy/kubernetes/servers.yaml"


def deployed() -> dict[str, dict[str, Any]]:
    """Return what an API server made of the objects, by kind."""
    made = registry.Registry(fixed_clock.FixedClock())
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    made.create(made.kind("v1", "Namespace"), "", namespace)
    found = {}
    for body in yaml.safe_load_all(FILE.read_text()):
        kind = made.kind(body["apiVersion"], body["kind"])
        found[body["kind"]] = made.create(kind, "default", body).body
    return found


def test_an_api_server_takes_the_objects_and_they_belong_together() -> None:
    objects = deployed()
    deployment, budget, service = (
        objects[kind]["spec"] for kind in ("Deployment", "PodDisruptionBudget", "Service")
    )
    pod = deployment["template"]
    [container] = pod["spec"]["containers"]
    names = {each["name"] for each in pod["spec"]["volumes"]}

    assert deployment["replicas"] > 1
    for selected in (
        deployment["selector"]["matchLabels"],
        budget["selector"]["matchLabels"],
        service["selector"],
    ):
        assert selected.items() <= pod["metadata"]["labels"].items()
    assert {mount["name"] for mount in container["volumeMounts"]} == names
    [port] = container["ports"]
    assert {each["targetPort"] for each in service["ports"]} == {port["name"]}
    for probe, path in (("readinessProbe", "/readyz"), ("livenessProbe", "/healthz")):
        assert container[probe]["httpGet"] == {
            "path": path,
            "port": port["name"],
            "scheme": "HTTPS",
        }
    [advertised] = [each for each in container["args"] if "POD_IP" in each]
    assert advertised == f"https://$(POD_IP):{port['containerPort']}"
