"""Endpoints somebody wrote by hand, and the EndpointSlices that follow them."""

import asyncio
from typing import Any

import pytest

import living_cluster
from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects

pytestmark = pytest.mark.looptime

SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "database", "namespace": "shop"},
    "spec": {"ports": [{"port": 5432}]},
}


def endpoints(*ips: str, **metadata: Any) -> json.JsonObject:
    addresses = [{"ip": ip} for ip in ips]
    subset = {"addresses": addresses, "ports": [{"name": "sql", "port": 5432}]}
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": "database", "namespace": "shop", **metadata},
        "subsets": [subset],
    }


def slices(living: living_cluster.Living) -> list[json.JsonObject]:
    return list(living.view.list("EndpointSlice", "shop"))


async def test_addresses_are_mirrored(living: living_cluster.Living) -> None:
    living.create(SERVICE)
    annotations = {"note": "by hand", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    made = living.create(endpoints("192.0.2.1", labels={"a": "b"}, annotations=annotations))
    await asyncio.sleep(1)

    (mirror,) = slices(living)
    assert mirror["metadata"]["name"].startswith("database-")
    assert mirror["metadata"]["annotations"] == {"note": "by hand"}
    assert objects.labels(mirror) == {
        "a": "b",
        "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
        "kubernetes.io/service-name": "database",
    }
    (owner,) = mirror["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Endpoints", objects.uid(made))
    assert mirror["addressType"] == "IPv4"
    assert mirror["ports"] == [{"name": "sql", "port": 5432, "protocol": "TCP"}]
    assert mirror["endpoints"] == [{"addresses": ["192.0.2.1"], "conditions": {"ready": True}}]


async def test_changes_are_followed(living: living_cluster.Living) -> None:
    living.create(SERVICE)
    living.create(endpoints("192.0.2.1"))
    await asyncio.sleep(1)
    before = objects.name(slices(living)[0])

    subset = {"notReadyAddresses": [{"ip": "192.0.2.2"}], "ports": [{"name": "sql", "port": 5432}]}
    living.patch("Endpoints", "database", {"subsets": [subset]})
    await asyncio.sleep(1)

    (mirror,) = slices(living)
    assert objects.name(mirror) == before
    assert mirror["endpoints"] == [{"addresses": ["192.0.2.2"], "conditions": {"ready": False}}]

    living.delete("Endpoints", "database")
    await asyncio.sleep(1)
    assert slices(living) == []


async def test_each_family_of_addresses_has_a_slice(living: living_cluster.Living) -> None:
    living.create(SERVICE)
    living.create(endpoints("192.0.2.1", "2001:db8::1"))
    await asyncio.sleep(1)

    found = {each["addressType"]: each["endpoints"][0]["addresses"] for each in slices(living)}
    assert found == {"IPv4": ["192.0.2.1"], "IPv6": ["2001:db8::1"]}


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        {"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}},
    ],
)
async def test_some_are_left_alone(living: living_cluster.Living, metadata: Any) -> None:
    living.create(SERVICE)
    living.create(endpoints("192.0.2.1", **metadata))
    await asyncio.sleep(1)

    assert slices(living) == []


async def test_without_a_service_nothing_is_mirrored(living: living_cluster.Living) -> None:
    living.create(endpoints("192.0.2.1"))
    await asyncio.sleep(1)
    assert slices(living) == []

    living.create(SERVICE)
    await asyncio.sleep(1)
    assert len(slices(living)) == 1

    living.delete("Service", "database")
    await asyncio.sleep(1)
    assert slices(living) == []
    assert not living.view.list("Endpoints", "shop")
