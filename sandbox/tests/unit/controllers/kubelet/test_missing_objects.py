"""Pods that name ConfigMaps, Secrets and ServiceAccounts which are not there."""

import asyncio
from typing import Any

import pytest

import living_cluster
import sandbox_world as world
from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors, conditions, objects

pytestmark = pytest.mark.looptime


def _pod(name: str = "web", spec: json.JsonObject | None = None, **container: Any) -> Any:
    main = {"name": "main", "image": "nginx:1", **container}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"containers": [main], **(spec or {})},
    }


def _object(kind: str, name: str, **fields: Any) -> json.JsonObject:
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}


def _waiting(pod: json.JsonObject) -> dict[str, Any]:
    found: dict[str, Any] = objects.status(pod)["containerStatuses"][0]["state"].get("waiting", {})
    return found


def _variable(field: str, **reference: Any) -> list[json.JsonObject]:
    return [{"name": "A", "valueFrom": {field: {"name": "settings", **reference}}}]


def _messages(living: living_cluster.Living, reason: str) -> list[str]:
    return [
        str(event["message"])
        for event in living.view.list("Event", "shop")
        if event["reason"] == reason
    ]


@pytest.mark.parametrize(
    ("container", "message"),
    [
        ({"envFrom": [{"configMapRef": {"name": "none"}}]}, 'configmap "none" not found'),
        ({"envFrom": [{"secretRef": {"name": "none"}}]}, 'secret "none" not found'),
        (
            {"env": _variable("configMapKeyRef", key="color")},
            "couldn't find key color in ConfigMap shop/settings",
        ),
        (
            {"env": _variable("secretKeyRef", key="color")},
            "couldn't find key color in Secret shop/settings",
        ),
    ],
)
async def test_a_container_waits_for_its_environment(
    living: living_cluster.Living, container: dict[str, Any], message: str
) -> None:
    living.create(_object("ConfigMap", "settings", data={"other": "1"}))
    living.create(_object("Secret", "settings", data={"other": "MQ=="}))
    living.create(_pod(**container))

    await asyncio.sleep(30)

    pod = living.get("Pod", "web")
    assert _waiting(pod) == {"reason": "CreateContainerConfigError", "message": message}
    assert objects.status(pod)["phase"] == "Pending"
    assert objects.status(pod)["containerStatuses"][0]["restartCount"] == 0
    assert _messages(living, "Failed") == [f"Error: {message}"]


async def test_a_container_starts_once_its_environment_is_there(
    living: living_cluster.Living,
) -> None:
    living.create(_pod(env=_variable("configMapKeyRef", key="color")))
    await asyncio.sleep(5)
    assert living.ready() == 0

    living.create(_object("ConfigMap", "settings", data={"color": "red"}))
    await asyncio.sleep(11)

    assert living.ready() == 1


async def test_what_is_optional_may_be_missing(living: living_cluster.Living) -> None:
    reference = {"name": "none", "optional": True}
    volume = {"name": "v", "secret": {"secretName": "none", "optional": True}}
    living.create(
        _pod(
            spec={"volumes": [volume]},
            env=_variable("secretKeyRef", key="k", optional=True),
            envFrom=[{"configMapRef": reference}],
        )
    )

    await asyncio.sleep(2)

    assert living.ready() == 1


async def test_a_running_container_keeps_what_it_was_started_with(
    living: living_cluster.Living,
) -> None:
    living.create(_object("ConfigMap", "settings", data={}))
    living.create(_pod(envFrom=[{"configMapRef": {"name": "settings"}}]))
    await asyncio.sleep(2)

    living.delete("ConfigMap", "settings")
    await asyncio.sleep(60)

    assert living.ready() == 1


@pytest.mark.parametrize(
    ("volume", "problem"),
    [
        ({"configMap": {"name": "settings"}}, 'configmap "settings" not found'),
        ({"secret": {"secretName": "settings"}}, 'secret "settings" not found'),
        (
            {"projected": {"sources": [{"secret": {"name": "settings"}}]}},
            'secret "settings" not found',
        ),
        (
            {"configMap": {"name": "there", "items": [{"key": "k", "path": "p"}]}},
            "references non-existent config key: k",
        ),
    ],
)
async def test_a_pod_waits_for_its_volumes(
    living: living_cluster.Living, volume: dict[str, Any], problem: str
) -> None:
    living.create(_object("ConfigMap", "there", data={}))
    living.create(_pod(spec={"volumes": [{"name": "v", **volume}]}))

    await asyncio.sleep(10)

    assert _waiting(living.get("Pod", "web")) == {"reason": "ContainerCreating"}
    assert _messages(living, "FailedMount") == [
        f'MountVolume.SetUp failed for volume "v" : {problem}'
    ]
    assert not _messages(living, "Pulling")


async def test_a_pod_starts_once_its_volumes_are_there(living: living_cluster.Living) -> None:
    volume = {"name": "v", "configMap": {"name": "settings"}}
    living.create(_pod(spec={"volumes": [volume]}))
    await asyncio.sleep(5)

    living.create(_object("ConfigMap", "settings", data={}))
    await asyncio.sleep(10)

    assert living.ready() == 1


async def test_a_pod_without_its_service_account_is_refused(
    living: living_cluster.Living,
) -> None:
    with pytest.raises(api_errors.StatusError) as refused:
        living.create(_pod(spec={"serviceAccountName": "tools"}))

    assert refused.value.code == 403
    assert refused.value.message == (
        'pods "web" is forbidden: error looking up service account shop/tools: '
        'serviceaccount "tools" not found'
    )


async def test_a_workload_says_that_its_service_account_is_missing(
    living: living_cluster.Living,
) -> None:
    owner = world.deployment(1)
    del owner["metadata"]["uid"]
    owner["spec"]["template"]["spec"]["serviceAccountName"] = "tools"
    living.create(owner)
    await asyncio.sleep(1)

    assert not living.view.list("Pod", "shop")
    (replica_set,) = living.view.list("ReplicaSet", "shop")
    failure = conditions.find(objects.status(replica_set)["conditions"], "ReplicaFailure")
    assert failure is not None
    assert failure["reason"] == "FailedCreate"
    assert 'serviceaccount "tools" not found' in failure["message"]

    living.create(_object("ServiceAccount", "tools"))
    await asyncio.sleep(10)

    assert living.ready() == 1


async def test_every_namespace_has_a_default_service_account(
    living: living_cluster.Living,
) -> None:
    await asyncio.sleep(0.1)
    living.delete("ServiceAccount", "default")
    await asyncio.sleep(0.1)

    assert [
        objects.namespace(account)
        for account in living.view.list("ServiceAccount")
        if objects.name(account) == "default"
    ] == ["default", "shop"]
