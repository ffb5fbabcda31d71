"""The examples of the routers are deployed for real, then released in a second version."""

import copy
from pathlib import Path

import pytest

import command_world
from kube_sandbox import proxies
from kube_sandbox.apiserver.storage import verbs
from kube_sandbox.crds import definitions as crd_definitions

GATEWAY = "gateway.networking.k8s.io"
ROUTES = {
    "gateway-api": f"HTTPRoute.{GATEWAY}",
    "linkerd": f"HTTPRoute.{GATEWAY}",
    "smi": "TrafficSplit.split.smi-spec.io",
    "nginx": "Ingress",
    "traefik": "TraefikService.traefik.io",
}
WEIGHTS = {
    "gateway-api": "primary 80 %, canary 10 %, baseline 10 %",
    "linkerd": "primary 90 %, canary 10 %",
    "smi": "primary 90 %, canary 10 %",
    "nginx": "primary 75 %, canary 25 %",
    "traefik": "primary 80 %, canary 20 %",
}


def add_gateway(given: command_world.World) -> None:
    """Given: the platform team's Gateway."""
    registry = given.running.clusters["us"].registry
    for body in proxies.gateway():
        namespace = body["metadata"].get("namespace", "")
        registry.create(registry.kind_of(body), namespace, body, verbs.Options(manager="team"))


@pytest.mark.parametrize("example", ROUTES)
async def test_an_example_is_released_over_its_router(example: str, tmp_path: Path) -> None:
    definitions = (
        *crd_definitions.gateway_api(),
        *crd_definitions.smi(),
        *crd_definitions.traefik(),
    )
    async with command_world.world(
        tmp_path, "us", example=example, definitions=definitions
    ) as given:
        add_gateway(given)
        first = await given.run()
        assert first.code == 0, first
        given.edit("manifests.yaml", "shop:v1", "shop:v2", message="Release v2")

        in_git = (given.directory / "manifests.yaml").read_text()
        second = await given.run("--output", "json")

        assert second.code == 0, second
        assert f"traffic: {WEIGHTS[example]}" in second.out
        assert given.images("us", "shop") == "example/shop:v2 4/4"
        spec = given.find("us", ROUTES[example], "shop")["spec"]
        assert "canary" not in str(spec)
        if example != "linkerd":  # of which Git has no route
            assert ("'weight': 100" in str(spec)) == ("weight: 100" in in_git)
        assert given.find("us", "Service", "shop-canary") is None
        assert given.find("us", "Ingress", "shop-canary") is None


async def test_manifests_that_a_router_cannot_use_are_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    async with command_world.world(
        tmp_path, "us", example="gateway-api", definitions=crd_definitions.gateway_api()
    ) as given:
        add_gateway(given)
        first = await given.run()
        assert first.code == 0, first
        text = (given.directory / "manifests.yaml").read_text()
        service = "  selector:\n    app: shop\n    pipecd.dev/variant: primary\n  ports:"
        assert service in text
        given.edit("manifests.yaml", service, "  selector:\n    app: shop\n  ports:")
        given.edit("manifests.yaml", "shop:v1", "shop:v2", message="Release v2")

        second = await given.run()

        assert second.code != 0, second
        assert "Service shop leads to the pods of every variant" in second.err
        assert "manifests.yaml:" in second.err
        assert given.find("us", "Deployment", "shop-canary") is None
        assert given.images("us", "shop") == "example/shop:v1 4/4"


async def test_the_smi_example_uses_a_version_that_linkerds_extension_serves(
    tmp_path: Path,
) -> None:
    (definition,) = copy.deepcopy(crd_definitions.smi())
    for version in definition["spec"]["versions"]:
        version["served"] = version["name"] in ("v1alpha1", "v1alpha2")
        version["storage"] = version["name"] == "v1alpha1"
    async with command_world.world(
        tmp_path, "us", example="smi", definitions=(definition,)
    ) as given:
        first = await given.run()
        assert first.code == 0, first
        given.edit("manifests.yaml", "shop:v1", "shop:v2", message="Release v2")

        second = await given.run()

        assert second.code == 0, second
        assert given.images("us", "shop") == "example/shop:v2 4/4"
