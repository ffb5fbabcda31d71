"""``NoExecute`` taints."""

import asyncio
from typing import Any

import pytest

import living_cluster
import sandbox_world as world
from kube_sandbox import json
from kube_sandbox.apimachinery.meta import conditions, objects
from kube_sandbox.controllers import taint_eviction

pytestmark = pytest.mark.looptime
TAINT = {"key": "down", "value": "yes", "effect": "NoExecute"}


def _pod(*tolerations: json.JsonObject) -> json.JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {**world.template()["spec"], "nodeName": "n1", "tolerations": list(tolerations)},
    }


def _taint(living: living_cluster.Living, *taints: json.JsonObject) -> None:
    living.patch("Node", "n1", {"spec": {"taints": list(taints) or None}}, namespace="")


def _is_gone(living: living_cluster.Living) -> bool:
    return living.view.get("Pod", "shop", "web") is None


@pytest.mark.parametrize(
    ("tolerations", "taints", "expected"),
    [
        ([], [TAINT], 0.0),
        ([], [], None),
        ([{"key": "down", "operator": "Exists"}], [TAINT], None),
        ([{"key": "down", "value": "no"}], [TAINT], 0.0),
        ([{"operator": "Exists", "effect": "NoSchedule"}], [TAINT], 0.0),
        ([{"operator": "Exists", "tolerationSeconds": 30}], [TAINT], 30.0),
        ([{"operator": "Exists", "tolerationSeconds": -1}], [TAINT], 0.0),
        (
            [{"key": "down", "operator": "Exists"}, {"operator": "Exists", "tolerationSeconds": 9}],
            [TAINT, {"key": "slow", "effect": "NoExecute"}],
            9.0,
        ),
    ],
)
def test_the_time_a_pod_may_stay(
    tolerations: list[Any], taints: list[Any], expected: float | None
) -> None:
    assert taint_eviction.tolerated_for(_pod(*tolerations), taints) == expected


async def test_a_taint_evicts_what_does_not_tolerate_it(living: living_cluster.Living) -> None:
    owner = world.deployment(3)
    del owner["metadata"]["uid"]
    living.create(owner)
    await asyncio.sleep(5)
    deleting: list[json.JsonObject] = []
    living.held.subscribe(
        lambda change: (
            deleting.append(change.item.body) if objects.is_deleting(change.item.body) else None
        )
    )

    _taint(living, TAINT)
    await asyncio.sleep(10)

    assert {pod["spec"]["nodeName"] for pod in living.view.list("Pod", "shop")} == {"n2", "n3"}
    assert living.ready() == 3
    target = conditions.find(objects.status(deleting[0])["conditions"], "DisruptionTarget")
    assert target is not None
    assert target["reason"] == "DeletionByTaintManager"
    assert [
        event["message"]
        for event in living.view.list("Event", "shop")
        if event["reason"] == "TaintManagerEviction"
    ] == [f"Marking for deletion Pod shop/{objects.name(deleting[0])}"]


async def test_a_taint_that_only_keeps_pods_away_evicts_none(
    living: living_cluster.Living,
) -> None:
    living.create(_pod())
    await asyncio.sleep(5)

    _taint(living, {**TAINT, "effect": "NoSchedule"})
    await asyncio.sleep(600)

    assert not _is_gone(living)


async def test_a_toleration_with_a_limit_puts_the_eviction_off(
    living: living_cluster.Living,
) -> None:
    living.create(_pod({"key": "down", "operator": "Exists", "tolerationSeconds": 60}))
    await asyncio.sleep(5)

    _taint(living, TAINT)
    await asyncio.sleep(59)
    assert not objects.is_deleting(living.get("Pod", "web"))
    await asyncio.sleep(5)

    assert _is_gone(living)


async def test_a_taint_that_goes_in_time_evicts_nothing(living: living_cluster.Living) -> None:
    living.create(_pod({"key": "down", "operator": "Exists", "tolerationSeconds": 60}))
    await asyncio.sleep(5)
    _taint(living, TAINT)
    await asyncio.sleep(40)
    _taint(living)
    await asyncio.sleep(40)
    assert not _is_gone(living)

    _taint(living, TAINT)
    await asyncio.sleep(40)

    assert not _is_gone(living)
