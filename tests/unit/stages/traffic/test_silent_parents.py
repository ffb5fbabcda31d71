"""Who is missing where no controller answers for a route."""

from typing import Any

import pytest

from memory_client import SERVICES, MemoryCluster, kind
from volary.clusters.api import api_errors
from volary.stages.traffic import silent_parents

GROUP = "gateway.networking.k8s.io"
GATEWAYS = kind(GROUP, "Gateway", "gateways")
CLASSES = kind(GROUP, "GatewayClass", "gatewayclasses", namespaced=False)
EDGE = {"name": "edge", "namespace": "infra"}
MESH = {"group": "", "kind": "Service", "name": "shop"}


def cluster(**refusals: Any) -> MemoryCluster:
    return MemoryCluster([SERVICES, GATEWAYS, CLASSES], refusals=refusals)


def gateway(made: MemoryCluster) -> None:
    metadata = {"name": "edge", "namespace": "infra"}
    made.put(GATEWAYS, {"metadata": metadata, "spec": {"gatewayClassName": "cloud"}})


async def explained(made: MemoryCluster, *parents: dict[str, str]) -> str:
    route = {"metadata": {"namespace": "default"}, "spec": {"parentRefs": list(parents)}}
    return await silent_parents.explain(made.client, route)


async def test_a_gateway_that_is_not_there() -> None:
    assert await explained(cluster(), EDGE) == "Gateway infra/edge does not exist"


async def test_a_class_that_is_not_there() -> None:
    made = cluster()
    gateway(made)

    assert await explained(made, EDGE) == (
        "GatewayClass cloud of Gateway infra/edge does not exist"
    )


async def test_a_controller_that_does_not_answer() -> None:
    made = cluster()
    gateway(made)
    made.put(CLASSES, {"metadata": {"name": "cloud"}, "spec": {"controllerName": "example.com/c"}})

    assert await explained(made, EDGE) == (
        "does the controller example.com/c of GatewayClass cloud run?"
    )


async def test_a_mesh_that_is_not_there() -> None:
    made = cluster()
    assert await explained(made, MESH) == "Service default/shop does not exist"

    made.put(SERVICES, {"metadata": {"name": "shop"}})
    assert (await explained(made, MESH)).startswith("is a mesh installed")


@pytest.mark.parametrize("parents", [(), (EDGE,)])
async def test_what_may_not_be_read_is_not_guessed(parents: tuple[dict[str, str], ...]) -> None:
    refused = {"get gateways": api_errors.Forbidden("no", status=403)}

    assert await explained(cluster(**refused), *parents) == ""


async def test_a_cluster_without_the_kind_is_left_at_that() -> None:
    assert await explained(MemoryCluster(), EDGE) == ""
