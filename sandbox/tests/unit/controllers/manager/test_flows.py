"""Controllers, scheduler and nodes together, on a clock that is turned."""

import asyncio
from typing import Any

import pytest

import living_cluster
import sandbox_world as world
from kube_sandbox import initial_objects, json
from kube_sandbox.apimachinery.meta import conditions, objects
from kube_sandbox.apiserver.storage import storage
from kube_sandbox.controllers.kubelet import containers

pytestmark = pytest.mark.looptime
TIMING = containers.Timing()


def _workload(kind: str, image: str = "nginx:1", **spec: Any) -> json.JsonObject:
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": world.template(image),
            **spec,
        },
    }


def _image(name: str) -> json.JsonObject:
    return {"spec": {"template": world.template(name)}}


def _reason(obj: json.JsonObject, kind: str) -> str:
    found = conditions.find(objects.status(obj).get("conditions") or (), kind)
    return str((found or {}).get("reason"))


async def test_pods_take_their_time(living: living_cluster.Living) -> None:
    living.create(_workload("Deployment", replicas=2))

    await asyncio.sleep(TIMING.pull - 0.1)
    assert living.ready() == 0
    await asyncio.sleep(0.2)

    assert living.ready() == 2
    assert _reason(living.get("Deployment", "web"), "Progressing") == "NewReplicaSetAvailable"


async def test_availability_and_surge_hold_all_the_way(living: living_cluster.Living) -> None:
    """At no change are there fewer ready pods or more pods than the rule allows."""
    living.create(_workload("Deployment", replicas=4))
    await asyncio.sleep(5)
    fewest, most = 4, 4

    def count(_: storage.Change) -> None:
        nonlocal fewest, most
        fewest = min(fewest, living.ready())
        most = max(most, len(living.images()))

    unsubscribe = living.held.subscribe(count)
    living.patch("Deployment", "web", _image("nginx:2"))
    await asyncio.sleep(30)
    unsubscribe()

    assert living.images() == ["nginx:2"] * 4
    assert fewest == 3
    assert most == 5


async def test_the_progress_deadline_runs_on_the_clock(living: living_cluster.Living) -> None:
    living.create(_workload("Deployment", "bad:1", replicas=1, progressDeadlineSeconds=60))

    await asyncio.sleep(58)
    assert _reason(living.get("Deployment", "web"), "Progressing") == "ReplicaSetUpdated"
    await asyncio.sleep(4)

    assert _reason(living.get("Deployment", "web"), "Progressing") == "ProgressDeadlineExceeded"


async def test_a_pod_is_available_after_its_minimum(living: living_cluster.Living) -> None:
    living.create(_workload("Deployment", replicas=1, minReadySeconds=10))

    await asyncio.sleep(9)
    status = objects.status(living.get("Deployment", "web"))
    assert (status.get("readyReplicas"), status.get("availableReplicas")) == (1, None)
    await asyncio.sleep(3)

    assert objects.status(living.get("Deployment", "web"))["availableReplicas"] == 1


async def test_recreate_has_never_both_kinds(living: living_cluster.Living) -> None:
    living.create(_workload("Deployment", replicas=2, strategy={"type": "Recreate"}))
    await asyncio.sleep(3)
    mixed = []

    def look(_: storage.Change) -> None:
        seen = {pod["spec"]["containers"][0]["image"] for pod in living.view.list("Pod", "shop")}
        mixed.append(len(seen) > 1)

    unsubscribe = living.held.subscribe(look)
    living.patch("Deployment", "web", _image("nginx:2"))
    await asyncio.sleep(5)
    unsubscribe()

    assert living.images() == ["nginx:2"] * 2
    assert not any(mixed)


async def test_a_bad_image_heals_when_the_rule_goes(living: living_cluster.Living) -> None:
    living.faults.images.add("nginx:*", "bad")
    living.create(_workload("Deployment", replicas=1))
    await asyncio.sleep(3)
    (pod,) = living.view.list("Pod", "shop")
    assert objects.status(pod)["containerStatuses"][0]["state"]["waiting"]["reason"] == (
        "ImagePullBackOff"
    )

    living.faults.images.remove("nginx:*")
    await asyncio.sleep(15)

    assert living.ready() == 1


async def test_stateful_pods_come_one_after_the_other(living: living_cluster.Living) -> None:
    living.create(_workload("StatefulSet", replicas=3, serviceName="web"))

    await asyncio.sleep(TIMING.pull + 0.1)
    assert [objects.name(each) for each in living.view.list("Pod", "shop")] == ["web-0", "web-1"]
    await asyncio.sleep(5)

    assert living.ready() == 3


async def test_parallel_stateful_pods_come_together(living: living_cluster.Living) -> None:
    living.create(
        _workload("StatefulSet", replicas=3, serviceName="web", podManagementPolicy="Parallel")
    )

    await asyncio.sleep(0.1)

    assert len(living.view.list("Pod", "shop")) == 3


async def test_a_partition_keeps_the_lower_pods(living: living_cluster.Living) -> None:
    living.create(_workload("StatefulSet", replicas=3, serviceName="web"))
    await asyncio.sleep(5)
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    living.patch(
        "StatefulSet", "web", {"spec": {**_image("nginx:2")["spec"], "updateStrategy": strategy}}
    )
    await asyncio.sleep(10)

    assert living.images() == ["nginx:1", "nginx:1", "nginx:2"]
    status = objects.status(living.get("StatefulSet", "web"))
    assert (status["currentReplicas"], status["updatedReplicas"]) == (2, 1)
    assert status["currentRevision"] != status["updateRevision"]


async def test_on_delete_waits_for_somebody(living: living_cluster.Living) -> None:
    living.create(
        _workload("StatefulSet", replicas=2, serviceName="web", updateStrategy={"type": "OnDelete"})
    )
    await asyncio.sleep(5)
    living.patch("StatefulSet", "web", _image("nginx:2"))
    await asyncio.sleep(5)
    assert living.images() == ["nginx:1"] * 2

    living.delete("Pod", "web-0")
    await asyncio.sleep(5)

    assert living.images() == ["nginx:1", "nginx:2"]


async def test_a_daemon_runs_on_every_node(living: living_cluster.Living) -> None:
    living.create(_workload("DaemonSet"))
    await asyncio.sleep(5)
    assert sorted(pod["spec"]["nodeName"] for pod in living.view.list("Pod", "shop")) == [
        "n1",
        "n2",
        "n3",
    ]

    living.create(initial_objects.node(4, region="eu", stamp="2026-01-01T00:00:00Z"))
    await asyncio.sleep(5)

    assert living.ready() == 4


async def test_a_daemon_on_a_node_that_became_wrong_stays_and_is_counted(
    living: living_cluster.Living,
) -> None:
    living.create(_workload("DaemonSet"))
    await asyncio.sleep(5)
    taint = {"key": "full", "effect": "NoSchedule"}

    living.patch("Node", "n1", {"spec": {"taints": [taint]}}, namespace="")
    await asyncio.sleep(60)

    status = objects.status(living.get("DaemonSet", "web"))
    assert (status["numberMisscheduled"], status["desiredNumberScheduled"]) == (1, 2)
    assert (status["currentNumberScheduled"], status["numberReady"]) == (2, 2)
    assert living.ready() == 3

    living.patch("Node", "n1", {"spec": {"taints": [{**taint, "effect": "NoExecute"}]}}, "")
    await asyncio.sleep(10)

    assert objects.status(living.get("DaemonSet", "web"))["numberMisscheduled"] == 0
    assert living.ready() == 2


async def test_a_daemon_leaves_a_node_that_its_selector_no_longer_takes(
    living: living_cluster.Living,
) -> None:
    daemon = _workload("DaemonSet")
    daemon["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "n1"}
    living.create(daemon)
    await asyncio.sleep(5)
    assert living.ready() == 1

    labels = {"kubernetes.io/hostname": "other"}
    living.patch("Node", "n1", {"metadata": {"labels": labels}}, namespace="")
    await asyncio.sleep(5)

    assert not living.view.list("Pod", "shop")


async def test_a_daemon_is_updated_node_by_node(living: living_cluster.Living) -> None:
    living.create(_workload("DaemonSet"))
    await asyncio.sleep(5)
    fewest = 3

    def count(_: storage.Change) -> None:
        nonlocal fewest
        fewest = min(fewest, living.ready())

    unsubscribe = living.held.subscribe(count)
    living.patch("DaemonSet", "web", _image("nginx:2"))
    await asyncio.sleep(20)
    unsubscribe()

    assert living.images() == ["nginx:2"] * 3
    assert fewest == 2


def _job(image: str = "busybox", **spec: Any) -> json.JsonObject:
    job = _workload("Job", image, **spec)
    del job["spec"]["selector"]
    job["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    return job


async def test_a_job_ends_when_its_pods_have(living: living_cluster.Living) -> None:
    living.create(_job(completions=3, parallelism=2))

    await asyncio.sleep(10)

    status = objects.status(living.get("Job", "web"))
    assert status["succeeded"] == 3
    assert conditions.is_true(status["conditions"], "Complete")


async def test_a_job_fails_after_its_tries(living: living_cluster.Living) -> None:
    living.create(_job("crash:1", backoffLimit=2))

    await asyncio.sleep(60)

    status = objects.status(living.get("Job", "web"))
    assert status["failed"] == 3
    assert _reason(living.get("Job", "web"), "Failed") == "BackoffLimitExceeded"


async def test_a_finished_job_goes_after_its_time(living: living_cluster.Living) -> None:
    living.create(_job(ttlSecondsAfterFinished=5))
    await asyncio.sleep(4)
    assert living.view.get("Job", "shop", "web") is not None

    await asyncio.sleep(10)

    assert living.view.get("Job", "shop", "web") is None
    assert not living.view.list("Pod", "shop")


async def test_init_containers_go_first(living: living_cluster.Living) -> None:
    living.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "shop"},
            "spec": {
                "initContainers": [{"name": each, "image": "busybox"} for each in ("a", "b")],
                "containers": [{"name": "main", "image": "nginx:1"}],
            },
        }
    )

    await asyncio.sleep(TIMING.pull + TIMING.initialise + 0.1)
    told = objects.status(living.get("Pod", "p"))
    assert [each["ready"] for each in told["initContainerStatuses"]] == [True, False]
    assert told["phase"] == "Pending"
    await asyncio.sleep(5)

    assert living.ready() == 1


async def test_readiness_follows_the_probe(living: living_cluster.Living) -> None:
    deployment = _workload("Deployment", replicas=1)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    container["readinessProbe"] = {
        "httpGet": {"path": "/", "port": 80},
        "initialDelaySeconds": 10,
    }
    living.create(deployment)

    await asyncio.sleep(10)
    assert living.ready() == 0
    await asyncio.sleep(2)

    assert living.ready() == 1


async def test_a_service_follows_its_pods(living: living_cluster.Living) -> None:
    living.create(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
        }
    )
    living.create(_workload("Deployment", replicas=2))
    await asyncio.sleep(5)

    def endpoints() -> list[dict[str, bool]]:
        return [
            each["conditions"]
            for listed in living.view.list("EndpointSlice", "shop")
            for each in listed.get("endpoints") or ()
        ]

    steady = {"ready": True, "serving": True, "terminating": False}
    assert endpoints() == [steady, steady]

    living.delete("Pod", objects.name(living.view.list("Pod", "shop")[0]))
    await asyncio.sleep(0.01)
    assert {"ready": False, "serving": True, "terminating": True} in endpoints()
    await asyncio.sleep(5)

    assert endpoints() == [steady, steady]
    (classic,) = living.view.list("Endpoints", "shop")
    assert len(classic["subsets"][0]["addresses"]) == 2


async def test_a_budget_counts_healthy_pods(living: living_cluster.Living) -> None:
    living.create(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
        }
    )
    living.create(_workload("Deployment", replicas=3))
    await asyncio.sleep(5)

    status = objects.status(living.get("PodDisruptionBudget", "web"))

    assert (status["currentHealthy"], status["desiredHealthy"]) == (3, 2)
    assert status["disruptionsAllowed"] == 1


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_a_deleted_deployment_leaves_nothing(
    living: living_cluster.Living, propagation: str
) -> None:
    living.create(_workload("Deployment", replicas=2))
    await asyncio.sleep(5)

    living.delete("Deployment", "web", propagation)
    gone_at_once = living.view.get("Deployment", "shop", "web") is None
    await asyncio.sleep(5)

    assert gone_at_once is (propagation == "Background")
    for kind in ("Deployment", "ReplicaSet", "Pod"):
        assert not living.view.list(kind, "shop")


async def test_a_namespace_is_emptied_before_it_goes(living: living_cluster.Living) -> None:
    living.create(_workload("Deployment", replicas=2))
    living.create(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "held", "namespace": "shop", "finalizers": ["example.com/hold"]},
        }
    )
    await asyncio.sleep(5)

    living.delete("Namespace", "shop", namespace="")
    await asyncio.sleep(10)
    namespace = living.get("Namespace", "shop", "")
    assert _reason(namespace, "NamespaceFinalizersRemaining") == "SomeFinalizersRemain"
    assert not living.view.list("Pod", "shop")

    living.patch("ConfigMap", "held", {"metadata": {"finalizers": None}})
    await asyncio.sleep(1)

    assert living.view.get("Namespace", "", "shop") is None


async def test_a_pod_no_node_takes_says_so_and_is_placed_later(
    living: living_cluster.Living,
) -> None:
    living.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "shop"},
            "spec": {
                "nodeSelector": {"kubernetes.io/hostname": "n4"},
                "containers": [{"name": "main", "image": "nginx:1"}],
            },
        }
    )
    await asyncio.sleep(1)
    assert _reason(living.get("Pod", "p"), "PodScheduled") == "Unschedulable"

    living.create(initial_objects.node(4, region="eu", stamp="2026-01-01T00:00:00Z"))
    await asyncio.sleep(5)

    assert living.ready() == 1


async def test_events_are_counted_up(living: living_cluster.Living) -> None:
    living.create(_workload("Deployment", "crash:1", replicas=1))

    await asyncio.sleep(200)

    counts = {
        each["reason"]: each["count"]
        for each in living.view.list("Event", "shop")
        if each["involvedObject"]["kind"] == "Pod"
    }
    assert counts["Scheduled"] == 1
    assert counts["BackOff"] > 2


async def test_an_idle_cluster_does_nothing(living: living_cluster.Living) -> None:
    living.create(_workload("Deployment", replicas=2))
    await asyncio.sleep(5)
    before = living.held.storage.revision

    await asyncio.sleep(3600)

    assert living.alive.is_idle
    assert living.held.storage.revision == before
