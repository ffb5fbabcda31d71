"""Pods of nodes that are deleted."""

import asyncio

import pytest

import living_cluster
import sandbox_world as world
from kube_sandbox import initial_objects, json
from kube_sandbox.apimachinery.meta import conditions, objects

pytestmark = pytest.mark.looptime


def _web(replicas: int) -> json.JsonObject:
    body = world.deployment(replicas)
    del body["metadata"]["uid"]
    return body


def _nodes_of_pods(living: living_cluster.Living) -> set[str]:
    return {pod["spec"]["nodeName"] for pod in living.view.list("Pod", "shop")}


async def test_pods_of_a_deleted_node_go_and_are_replaced_elsewhere(
    living: living_cluster.Living,
) -> None:
    living.create(_web(3))
    await asyncio.sleep(5)
    assert _nodes_of_pods(living) == {"n1", "n2", "n3"}
    ended: list[json.JsonObject] = []
    living.held.subscribe(
        lambda change: ended.append(change.item.body) if change.event == "DELETED" else None
    )

    living.delete("Node", "n2", namespace="")
    await asyncio.sleep(39)
    assert "n2" in _nodes_of_pods(living)
    await asyncio.sleep(5)

    assert _nodes_of_pods(living) == {"n1", "n3"}
    assert living.ready() == 3
    (pod,) = [body for body in ended if objects.kind(body) == "Pod"]
    assert objects.status(pod)["phase"] == "Failed"
    target = conditions.find(objects.status(pod)["conditions"], "DisruptionTarget")
    assert target is not None
    assert (target["reason"], target["message"]) == (
        "DeletionByPodGC",
        "PodGC: node no longer exists",
    )


async def test_a_node_that_is_back_in_time_keeps_its_pods(living: living_cluster.Living) -> None:
    living.create(_web(3))
    await asyncio.sleep(5)
    before = {objects.uid(pod) for pod in living.view.list("Pod", "shop")}

    living.delete("Node", "n2", namespace="")
    await asyncio.sleep(30)
    living.create(initial_objects.node(2, region="eu", stamp="2026-01-01T00:00:00Z"))
    await asyncio.sleep(60)

    assert {objects.uid(pod) for pod in living.view.list("Pod", "shop")} == before


async def test_a_pod_being_deleted_when_its_node_goes_does_not_stay(
    living: living_cluster.Living,
) -> None:
    living.create(_web(3))
    await asyncio.sleep(5)
    (pod,) = [pod for pod in living.view.list("Pod", "shop") if pod["spec"]["nodeName"] == "n2"]

    living.delete("Node", "n2", namespace="")
    living.delete("Pod", objects.name(pod))
    await asyncio.sleep(30)
    assert objects.is_deleting(living.get("Pod", objects.name(pod)))
    await asyncio.sleep(15)

    assert living.view.get("Pod", "shop", objects.name(pod)) is None


async def test_nothing_runs_on_a_node_that_is_not_there(living: living_cluster.Living) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "lost", "namespace": "shop"},
        "spec": {**world.template()["spec"], "nodeName": "n9"},
    }
    living.create(pod)
    await asyncio.sleep(30)
    assert objects.status(living.get("Pod", "lost"))["phase"] == "Pending"

    await asyncio.sleep(15)

    assert living.view.get("Pod", "shop", "lost") is None
