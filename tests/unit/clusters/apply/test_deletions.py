"""Objects are deleted one by one, in order, only as what was checked right before."""

from datetime import timedelta
from typing import Any

import pytest

from memory_client import CONFIG_MAPS, DEPLOYMENTS, SERVICES, MemoryCluster, kind
from volary.clusters.api import api_errors, discovery
from volary.clusters.apply import deletions
from volary.clusters.client import resource_mapping
from volary.model import json
from volary.model.objects import apply_results, manifest

pytestmark = pytest.mark.looptime

Action = apply_results.Action
INGRESSES = kind("networking.k8s.io", "Ingress", "ingresses")


def stored(cluster: MemoryCluster, resource: discovery.Resource, name: str, **metadata: Any) -> Any:
    body = cluster.put(resource, {"metadata": {"name": name, **metadata}})
    return resource_mapping.MappedManifest(manifest.Manifest(body), resource)


def nothing(_body: json.JsonObject) -> str:
    return ""


async def delete(
    cluster: MemoryCluster, *objects: Any, check: deletions.KeepCheck = nothing, **more: Any
) -> deletions.DeletionResult:
    return await deletions.delete_in_order(
        cluster.client, objects, check, timeout=timedelta(seconds=5), **more
    )


def said(result: deletions.DeletionResult) -> dict[str, tuple[Action, str]]:
    return {change.key.name: (change.action, change.reason) for change in result.changes}


async def test_what_may_go_is_deleted_and_gone() -> None:
    cluster = MemoryCluster()
    objects = [stored(cluster, CONFIG_MAPS, "a"), stored(cluster, SERVICES, "b")]

    result = await delete(cluster, *objects)

    assert said(result) == {"a": (Action.DELETED, ""), "b": (Action.DELETED, "")}
    assert all(change.written for change in result.changes)
    assert result.failures == ()
    assert cluster.objects == {}


async def test_a_workload_is_gone_when_its_pods_are() -> None:
    cluster = MemoryCluster()
    await delete(cluster, stored(cluster, DEPLOYMENTS, "web"), stored(cluster, CONFIG_MAPS, "a"))

    asked = [one for one in cluster.asked if one.startswith(("delete", "propagation"))]
    assert asked == [
        "delete deployments/web",
        "propagation Foreground",
        "delete configmaps/a",
        "propagation Background",
    ]


async def test_proxies_follow_between_routes_and_what_they_led_to() -> None:
    cluster = MemoryCluster()
    cluster.resources.append(INGRESSES)
    waited: list[bool] = []

    async def followed() -> None:
        waited.append(cluster.find(INGRESSES, "route") is None)
        assert cluster.find(SERVICES, "b") is not None

    objects = [stored(cluster, SERVICES, "b"), stored(cluster, INGRESSES, "route")]
    await delete(cluster, *objects, followed=followed)

    assert waited == [True]


async def test_without_routes_no_proxy_is_waited_for() -> None:
    cluster = MemoryCluster()

    async def followed() -> None:
        raise AssertionError

    await delete(
        cluster,
        stored(cluster, SERVICES, "b"),
        stored(cluster, CONFIG_MAPS, "a"),
        followed=followed,
    )


async def test_a_route_that_stayed_is_no_reason_to_wait_for_proxies() -> None:
    cluster = MemoryCluster()
    cluster.resources.append(INGRESSES)

    async def followed() -> None:
        raise AssertionError

    def keep(body: json.JsonObject) -> str:
        return "it stays" if body["kind"] == "Ingress" else ""

    objects = [stored(cluster, SERVICES, "b"), stored(cluster, INGRESSES, "route")]
    result = await delete(cluster, *objects, check=keep, followed=followed)

    assert said(result)["route"] == (Action.SKIPPED, "it stays")
    assert said(result)["b"][0] is Action.DELETED


async def test_the_check_sees_the_object_as_it_is_now() -> None:
    cluster = MemoryCluster()
    listed = stored(cluster, CONFIG_MAPS, "a")
    cluster.put(CONFIG_MAPS, {"metadata": {"name": "a", "annotations": {"keep": "yes"}}})

    def keep(body: json.JsonObject) -> str:
        return "somebody wants it" if body["metadata"].get("annotations") else ""

    result = await delete(cluster, listed, check=keep)

    assert said(result) == {"a": (Action.SKIPPED, "somebody wants it")}
    assert cluster.find(CONFIG_MAPS, "a") is not None


async def test_another_one_of_the_same_name_stays() -> None:
    cluster = MemoryCluster()
    listed = stored(cluster, CONFIG_MAPS, "a")
    cluster.remove(CONFIG_MAPS, "a")
    cluster.put(CONFIG_MAPS, {"metadata": {"name": "a"}})

    assert said(await delete(cluster, listed)) == {"a": (Action.SKIPPED, "it is gone already")}
    assert cluster.find(CONFIG_MAPS, "a") is not None


async def test_what_went_by_itself_is_skipped() -> None:
    cluster = MemoryCluster()
    listed = stored(cluster, CONFIG_MAPS, "a")
    cluster.remove(CONFIG_MAPS, "a")

    assert said(await delete(cluster, listed)) == {"a": (Action.SKIPPED, "it is gone already")}


async def test_an_answer_that_may_be_a_proxys_is_no_evidence_that_an_object_is_gone() -> None:
    cluster = MemoryCluster()
    listed = stored(cluster, CONFIG_MAPS, "a")
    cluster.refusals = {"delete configmaps": api_errors.NotFound("no such page", status=404)}

    result = await delete(cluster, listed)

    assert said(result) == {}
    assert result.failures == ("ConfigMap default/a was not deleted: no such page",)


@pytest.mark.parametrize(("changes", "action"), [(19, Action.DELETED), (20, Action.SKIPPED)])
async def test_one_that_changes_meanwhile_is_checked_again(changes: int, action: Action) -> None:
    cluster = MemoryCluster()
    listed = stored(cluster, CONFIG_MAPS, "a")
    left = changes

    def change(asked: str) -> None:
        nonlocal left
        if asked == "delete configmaps/a" and left:
            left -= 1
            cluster.put(CONFIG_MAPS, dict(cluster.find(CONFIG_MAPS, "a") or {}))

    cluster.before = change
    result = await delete(cluster, listed)

    assert said(result)["a"][0] is action
    assert (cluster.find(CONFIG_MAPS, "a") is None) is (action is Action.DELETED)
    if action is Action.SKIPPED:
        assert said(result)["a"][1] == "it kept changing while it was checked"


async def test_one_that_cannot_be_deleted_does_not_stop_the_others() -> None:
    cluster = MemoryCluster()
    objects = [stored(cluster, CONFIG_MAPS, "a"), stored(cluster, CONFIG_MAPS, "b")]
    cluster.refusals = {"delete configmaps/a": api_errors.Forbidden("not you", status=403)}

    result = await delete(cluster, *objects)

    assert said(result) == {"b": (Action.DELETED, "")}
    assert result.failures == ("ConfigMap default/a was not deleted: not you",)


async def test_one_that_does_not_go_is_a_failure() -> None:
    cluster = MemoryCluster()
    held = stored(cluster, CONFIG_MAPS, "a", finalizers=["example.com/hold"])

    result = await delete(cluster, held)

    assert said(result) == {"a": (Action.DELETED, "")}
    assert result.failures == (
        "still there after 5 s: ConfigMap default/a, held by example.com/hold",
    )
