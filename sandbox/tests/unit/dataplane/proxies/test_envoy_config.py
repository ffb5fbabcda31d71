"""What Envoy is told."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

import living_cluster
import sandbox_world as world
from kube_sandbox import json
from kube_sandbox.apiserver.registry import registry
from kube_sandbox.apiserver.storage import verbs
from kube_sandbox.dataplane.proxies import envoy, envoy_config
from kube_sandbox.dataplane.routes import istio

SERVICE: json.JsonObject = {
    "kind": "Service",
    "metadata": {"name": "shop", "namespace": "default"},
    "spec": {"ports": [{"port": 80}]},
}


def virtual_service(*http: json.JsonObject, host: str = "shop") -> json.JsonObject:
    return {
        "kind": istio.VIRTUAL_SERVICE,
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"hosts": [host], "http": list(http)},
    }


def rule() -> json.JsonObject:
    subsets = [{"name": each, "labels": {"variant": each}} for each in ("primary", "canary")]
    return {
        "kind": istio.DESTINATION_RULE,
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"host": "shop", "subsets": subsets},
    }


def pod(name: str, variant: str) -> json.JsonObject:
    labels = {"variant": variant}
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "default", "labels": labels}}


def slice_of(*pods: tuple[str, str, bool]) -> json.JsonObject:
    endpoints = [
        {
            "addresses": [address],
            "conditions": {"ready": ready},
            "targetRef": {"kind": "Pod", "name": name},
        }
        for name, address, ready in pods
    ]
    labels = {"kubernetes.io/service-name": "shop"}
    return {
        "kind": "EndpointSlice",
        "metadata": {"name": "s", "namespace": "default", "labels": labels},
        "ports": [{"name": "", "port": 8080}],
        "endpoints": endpoints,
    }


def to(subset: str, weight: int) -> json.JsonObject:
    return {"destination": {"host": "shop", "subset": subset}, "weight": weight}


def addresses(snapshot: envoy_config.Snapshot, name: str) -> list[tuple[str, int]]:
    (group,) = snapshot.endpoints[name]["endpoints"]
    sockets = [each["endpoint"]["address"]["socket_address"] for each in group["lb_endpoints"]]
    return [(each["address"], each["port_value"]) for each in sockets]


def routes(snapshot: envoy_config.Snapshot, name: str) -> list[dict[str, Any]]:
    (found,) = [each for each in snapshot.routes["virtual_hosts"] if each["name"] == name]
    listed: list[dict[str, Any]] = found["routes"]
    return listed


def name(subset: str = "") -> str:
    return f"outbound||{subset}|shop.default.svc.cluster.local"


def test_a_service_leads_to_its_ready_pods() -> None:
    held = (SERVICE, slice_of(("a", "127.1.0.1", True), ("b", "127.1.0.2", False)))

    snapshot = envoy_config.take(world.MemoryView(*held))

    (found,) = snapshot.routes["virtual_hosts"]
    assert found["domains"] == [
        "shop",
        "shop.default",
        "shop.default.svc",
        "shop.default.svc.cluster.local",
    ]
    assert addresses(snapshot, name()) == [("127.1.0.1", 8080)]


def test_weights_lead_to_subsets_and_matches_come_first() -> None:
    held = (
        SERVICE,
        rule(),
        virtual_service(
            {
                "match": [
                    {"uri": {"prefix": "/new"}, "headers": {"x-beta": {"regex": "y.*"}}},
                    {"uri": {"exact": "/beta"}},
                ],
                "route": [to("canary", 100)],
            },
            {"route": [to("primary", 90), to("canary", 10)]},
        ),
        pod("a", "primary"),
        pod("b", "canary"),
        slice_of(("a", "127.1.0.1", True), ("b", "127.1.0.2", True)),
    )

    snapshot = envoy_config.take(world.MemoryView(*held))

    first, second, rest = routes(snapshot, "shop.default")
    assert first["match"] == {
        "prefix": "/new",
        "headers": [{"name": "x-beta", "string_match": {"safe_regex": {"regex": "y.*"}}}],
    }
    assert second["match"] == {"path": "/beta"}
    assert rest["match"] == {"prefix": "/"}
    assert rest["route"]["weighted_clusters"]["clusters"] == [
        {"name": name("primary"), "weight": 90},
        {"name": name("canary"), "weight": 10},
    ]
    assert addresses(snapshot, name("primary")) == [("127.1.0.1", 8080)]
    assert addresses(snapshot, name("canary")) == [("127.1.0.2", 8080)]


def test_what_leads_nowhere_is_refused_not_forgotten() -> None:
    held = (SERVICE, virtual_service({"route": [to("moon", 100)]}))

    snapshot = envoy_config.take(world.MemoryView(*held))

    assert addresses(snapshot, name("moon")) == []
    nothing = virtual_service({"route": [to("primary", 0), to("canary", 0)]})
    (route,) = routes(envoy_config.take(world.MemoryView(SERVICE, nothing)), "shop.default")
    assert route["direct_response"] == {"status": 503}


def test_copies_and_other_hosts() -> None:
    mirrored = {
        "route": [to("primary", 100)],
        "mirror": {"host": "shop", "subset": "canary"},
        "mirrorPercentage": {"value": 2.5},
    }
    held = (SERVICE, virtual_service(mirrored, host="shop.example.com"))

    snapshot = envoy_config.take(world.MemoryView(*held))

    (route,) = routes(snapshot, "shop.example.com")
    (policy,) = route["route"]["request_mirror_policies"]
    assert policy["cluster"] == name("canary")
    assert policy["runtime_fraction"]["default_value"]["numerator"] == 250


@pytest.mark.looptime
async def test_pods_stay_until_no_route_leads_to_them(tmp_path: Path) -> None:
    """Envoy reads each file by itself, so a request may be routed by what the last one said."""

    def endpoints_of(subset: str) -> list[Any]:
        for file in tmp_path.glob("eds-*.json"):
            (told,) = msgspec.json.decode(file.read_bytes())["resources"]
            if told["cluster_name"] == name(subset):
                groups: list[Any] = told["endpoints"]
                return groups
        return []

    split = virtual_service({"route": [to("primary", 90), to("canary", 10)]})
    pods = (pod("a", "primary"), pod("b", "canary"))
    ready = slice_of(("a", "127.1.0.1", True), ("b", "127.1.0.2", True))
    seen = world.MemoryView(SERVICE, rule(), *pods, ready, split)
    cluster = registry.Registry(living_cluster.LoopClock(), verbs.Settings(seed=1))
    proxy = envoy.Envoy(cluster, seen, tmp_path)
    proxy.write()
    assert endpoints_of("canary")

    seen.held[-1] = virtual_service({"route": [to("primary", 100)]})
    proxy.write()
    assert name("canary") not in (tmp_path / "rds.json").read_text()
    assert endpoints_of("canary")
    await asyncio.sleep(1)
    assert not endpoints_of("canary")
    await proxy.stop()
