"""How many more pods fit: what is requested, what is free, and where a pod may go."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from volary.placement.replicas import capacity

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def node(name: str = "n1", **more: Any) -> dict[str, Any]:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    return {
        "metadata": {"name": name, "labels": more.get("labels", {"disk": "ssd", "size": "7"})},
        "spec": {key: more[key] for key in ("taints", "unschedulable") if key in more},
        "status": {
            "allocatable": {**amounts, **more.get("allocatable", {})},
            "conditions": [{"type": "Ready", "status": more.get("ready", "True")}],
        },
    }


def container(**requests: str) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests}}


def pod(on: str, phase: str = "Running", **requests: str) -> dict[str, Any]:
    spec = {"nodeName": on, "containers": [container(**requests)]}
    return {"spec": spec, "status": {"phase": phase}}


ONE: dict[str, Any] = {"containers": [container(cpu="500m", memory="1Gi")]}


def fits(wanted: Mapping[str, Any], *nodes: Mapping[str, Any], pods: tuple[Any, ...] = ()) -> int:
    left = capacity.cluster_capacity([dict(each) for each in nodes], pods, NOW)
    return capacity.pods_that_fit(left, dict(wanted))


def test_what_others_request_is_taken() -> None:
    assert fits(ONE, node()) == 8
    assert fits(ONE, node(), pods=(pod("n1", cpu="1", memory="5Gi"),)) == 3
    # Ended pods take nothing, those of other nodes and those without one neither.
    others = (pod("n1", "Succeeded", cpu="4"), pod("n2", cpu="4"), pod("", cpu="4"))
    assert fits(ONE, node(), pods=others) == 8
    assert fits(ONE, node(), node("n2"), pods=others) == 8


def test_the_number_of_pods_counts() -> None:
    assert fits({"containers": [{"name": "c"}]}, node()) == 10
    assert fits({"containers": [{"name": "c"}]}, node(), pods=tuple([pod("n1")] * 12)) == 0


def test_a_resource_that_no_node_has() -> None:
    assert fits({"containers": [container(**{"example.com/gpu": "1"})]}, node()) == 0


@pytest.mark.parametrize(
    ("more", "count"),
    [
        ({"ready": "False"}, 0),
        ({"ready": "Unknown"}, 0),
        ({"unschedulable": True}, 0),
        ({"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}, 0),
        ({"taints": [{"key": "gpu", "value": "yes", "effect": "PreferNoSchedule"}]}, 8),
        ({"labels": {}}, 8),
    ],
)
def test_which_nodes_count(more: dict[str, Any], count: int) -> None:
    assert fits(ONE, node(**more)) == count


@pytest.mark.parametrize(
    ("toleration", "count"),
    [
        ({"key": "gpu", "operator": "Equal", "value": "yes"}, 8),
        ({"key": "gpu", "value": "no"}, 0),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, 0),
        ({"key": "gpu", "operator": "Exists"}, 8),
        ({"operator": "Exists"}, 8),
    ],
)
def test_tolerations(toleration: dict[str, Any], count: int) -> None:
    tainted = node(taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}])
    assert fits({**ONE, "tolerations": [toleration]}, tainted) == count


def required(*conditions: dict[str, Any], key: str = "matchExpressions") -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{key: list(conditions)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ({"key": "disk", "operator": "In", "values": ["ssd"]}, 8),
        ({"key": "disk", "operator": "NotIn", "values": ["ssd"]}, 0),
        ({"key": "gpu", "operator": "NotIn", "values": ["ssd"]}, 8),
        ({"key": "disk", "operator": "Exists"}, 8),
        ({"key": "disk", "operator": "DoesNotExist"}, 0),
        ({"key": "size", "operator": "Gt", "values": ["6"]}, 8),
        ({"key": "size", "operator": "Lt", "values": ["6"]}, 0),
        ({"key": "disk", "operator": "Gt", "values": ["6"]}, 0),
        ({"key": "disk", "operator": "Near"}, 0),
    ],
)
def test_required_affinity(condition: dict[str, Any], count: int) -> None:
    assert fits({**ONE, "affinity": required(condition)}, node()) == count


def test_selectors() -> None:
    assert fits({**ONE, "nodeSelector": {"disk": "hdd"}}, node()) == 0
    by_name = required(
        {"key": "metadata.name", "operator": "In", "values": ["n2"]}, key="matchFields"
    )
    assert fits({**ONE, "affinity": by_name}, node(), node("n2")) == 8


def test_what_a_pod_requests() -> None:
    sidecar = {**container(cpu="100m"), "restartPolicy": "Always"}
    limited = {"name": "c", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}
    found = capacity.requests(
        {
            "initContainers": [sidecar, container(cpu="3"), container(memory="4Gi")],
            "containers": [container(cpu="1"), limited],
            "overhead": {"cpu": "50m"},
        }
    )
    assert found == {"cpu": Decimal("3.15"), "memory": Decimal(4 * 2**30)}
    whole = {"containers": [container(cpu="1")], "resources": {"requests": {"cpu": "2"}}}
    assert capacity.requests(whole) == {"cpu": Decimal(2)}
