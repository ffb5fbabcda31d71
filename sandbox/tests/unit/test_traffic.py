"""Where requests to a Service go."""

from typing import Any

import pytest

import sandbox_world as world
from kube_sandbox import json, traffic
from kube_sandbox.controllers.kubelet import behaviours
from kube_sandbox.dataplane.routes import istio

SERVICE: json.JsonObject = {
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"selector": {"app": "web"}},
}


def _pod(name: str, variant: str, *, ready: bool = True, image: str = "shop:1") -> json.JsonObject:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "labels": {"app": "web", "variant": variant},
        },
        "spec": {"containers": [{"name": "main", "image": image}]},
        "status": {"conditions": conditions},
    }


def _slice(*names: str) -> json.JsonObject:
    return {
        "kind": "EndpointSlice",
        "metadata": {
            "name": "web-1",
            "namespace": "shop",
            "labels": {"kubernetes.io/service-name": "web"},
        },
        "endpoints": [
            {"targetRef": {"name": name}, "conditions": {"ready": True}} for name in names
        ],
    }


def _virtual_service(*routes: dict[str, Any]) -> json.JsonObject:
    return {
        "kind": istio.VIRTUAL_SERVICE,
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"hosts": ["web"], "http": [{"route": list(routes)}]},
    }


def _to(subset: str, weight: int) -> dict[str, Any]:
    return {
        "destination": {"host": "web.shop.svc.cluster.local", "subset": subset},
        "weight": weight,
    }


def _rule(*subsets: str) -> json.JsonObject:
    return {
        "kind": istio.DESTINATION_RULE,
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "host": "web",
            "subsets": [{"name": each, "labels": {"variant": each}} for each in subsets],
        },
    }


def _resolve(*held: json.JsonObject, **options: Any) -> traffic.Traffic:
    return traffic.resolve(world.MemoryView(*held), "shop", "web", **options)


def test_every_ready_endpoint_gets_the_same() -> None:
    pods = [_pod("a", "primary"), _pod("b", "primary"), _pod("c", "canary")]

    found = _resolve(SERVICE, _slice("a", "b", "c"), *pods)

    assert found.by_label("variant") == pytest.approx({"primary": 2 / 3, "canary": 1 / 3})
    assert found.lost == 0
    assert found.reasons == ()


def test_without_ready_endpoints_everything_is_lost() -> None:
    found = _resolve(SERVICE, _slice())

    assert found.lost == 1
    assert found.reasons == ("the Service shop/web has no ready endpoint",)


def test_an_endpoint_that_is_gone_loses_its_part() -> None:
    found = _resolve(SERVICE, _slice("a", "gone"), _pod("a", "primary"))

    assert found.lost == 0.5


def test_weights_of_a_virtual_service_decide() -> None:
    pods = [_pod("a", "primary"), _pod("b", "primary"), _pod("c", "canary")]

    found = _resolve(
        SERVICE,
        _slice("a", "b", "c"),
        _virtual_service(_to("primary", 90), _to("canary", 10)),
        _rule("primary", "canary"),
        *pods,
    )

    assert found.by_label("variant") == pytest.approx({"primary": 0.9, "canary": 0.1})


def test_a_weight_on_a_variant_without_pods_is_lost() -> None:
    found = _resolve(
        SERVICE,
        _slice("a"),
        _virtual_service(_to("primary", 80), _to("canary", 20)),
        _rule("primary", "canary"),
        _pod("a", "primary"),
    )

    assert found.lost == pytest.approx(0.2)


def test_an_undefined_subset_is_lost() -> None:
    found = _resolve(
        SERVICE, _slice("a"), _virtual_service(_to("canary", 100)), _rule(), _pod("a", "canary")
    )

    assert found.lost == 1
    assert "no DestinationRule" in found.reasons[0]


def test_error_rates_lose_their_part() -> None:
    rules = behaviours.ImageRules()
    rules.add("shop:2", "error-rate=50%")
    pods = [_pod("a", "primary"), _pod("b", "canary", image="shop:2")]

    found = _resolve(SERVICE, _slice("a", "b"), *pods, rules=rules)

    assert found.lost == 0.25
    assert found.by_image() == {"shop:1": 0.5, "shop:2": 0.5}
