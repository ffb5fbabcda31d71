"""Stock kubectl against the sandbox: rollouts and what people do around them."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import yaml

from kube_sandbox import fleet
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.controllers.manager import cache
from sandbox_fixtures import FleetFactory, Follow, Kubectl, deployment

SERVICE = yaml.safe_dump(
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}]},
    }
)


NAMESPACE = yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})

JOB = yaml.safe_dump(
    {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "once"},
        "spec": {
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "busybox"}],
                }
            }
        },
    }
)


@pytest.fixture
async def cluster(fleet_of: FleetFactory) -> fleet.Cluster:
    running = await fleet_of(["eu"])
    return running.clusters["eu"]


async def _apply(kubectl: Kubectl, cluster: fleet.Cluster, *texts: str) -> None:
    await kubectl(cluster, "apply", "-f", "-", text="\n---\n".join(texts))


async def _images(cluster: fleet.Cluster) -> list[str]:
    return sorted(
        pod["spec"]["containers"][0]["image"]
        for pod in cluster.view.list("Pod", "default")
        if not objects.is_deleting(pod)
    )


async def test_a_rollout_is_followed_to_its_end(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _apply(kubectl, cluster, deployment(replicas=3))

    answer = await kubectl(cluster, "rollout", "status", "deploy/web", "--timeout=300s")

    assert 'deployment "web" successfully rolled out' in answer.out
    shown = (await kubectl(cluster, "get", "deploy", "web")).out.splitlines()
    assert shown[0].split() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert shown[1].split()[:4] == ["web", "3/3", "3", "3"]


async def test_a_new_image_history_and_undo(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _apply(kubectl, cluster, deployment(replicas=3))
    await kubectl(cluster, "rollout", "status", "deploy/web", "--timeout=300s")
    await kubectl(cluster, "set", "image", "deploy/web", "main=nginx:2")
    await kubectl(cluster, "rollout", "status", "deploy/web", "--timeout=300s")
    assert await _images(cluster) == ["nginx:2"] * 3

    history = (await kubectl(cluster, "rollout", "history", "deploy/web")).out
    assert [line.split()[0] for line in history.splitlines()[2:] if line] == ["1", "2"]

    await kubectl(cluster, "rollout", "undo", "deploy/web")
    await kubectl(cluster, "rollout", "status", "deploy/web", "--timeout=300s")

    assert await _images(cluster) == ["nginx:1"] * 3
    history = (await kubectl(cluster, "rollout", "history", "deploy/web")).out
    assert [line.split()[0] for line in history.splitlines()[2:] if line] == ["2", "3"]


async def test_restart_replaces_every_pod(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _apply(kubectl, cluster, deployment(replicas=2))
    await kubectl(cluster, "rollout", "status", "deploy/web", "--timeout=300s")
    before = {objects.uid(each) for each in cluster.view.list("Pod", "default")}

    await kubectl(cluster, "rollout", "restart", "deploy/web")
    await kubectl(cluster, "rollout", "status", "deploy/web", "--timeout=300s")
    await cluster.until(lambda view: len(view.list("Pod", "default")) == 2)

    assert not before & {objects.uid(each) for each in cluster.view.list("Pod", "default")}


async def test_nothing_new_starts_while_paused(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _apply(kubectl, cluster, deployment(replicas=2))
    await kubectl(cluster, "rollout", "status", "deploy/web", "--timeout=300s")

    await kubectl(cluster, "rollout", "pause", "deploy/web")
    await kubectl(cluster, "set", "image", "deploy/web", "main=nginx:2")
    await asyncio.sleep(0.2)
    assert await _images(cluster) == ["nginx:1"] * 2

    await kubectl(cluster, "rollout", "resume", "deploy/web")
    await kubectl(cluster, "rollout", "status", "deploy/web", "--timeout=300s")

    assert await _images(cluster) == ["nginx:2"] * 2


async def test_a_bad_image_is_reported_and_keeps_the_old_pods(
    kubectl: Kubectl, cluster: fleet.Cluster
) -> None:
    await _apply(kubectl, cluster, deployment(replicas=2, progressDeadlineSeconds=20))
    await kubectl(cluster, "rollout", "status", "deploy/web", "--timeout=300s")
    await kubectl(cluster, "set", "image", "deploy/web", "main=bad:2")

    answer = await kubectl(
        cluster, "rollout", "status", "deploy/web", "--timeout=300s", check=False
    )

    assert answer.code == 1
    assert 'deployment "web" exceeded its progress deadline' in answer.err
    shown = (await kubectl(cluster, "get", "pods")).out
    assert "ImagePull" in shown
    assert shown.count("Running") == 2


async def test_one_cluster_fails_an_image_that_works_elsewhere(
    kubectl: Kubectl, fleet_of: FleetFactory
) -> None:
    running = await fleet_of(["us", "eu"])
    us, eu = running.clusters.values()
    eu.faults.images.add("nginx:2", "bad")
    for each in (us, eu):
        await _apply(kubectl, each, deployment("nginx:2", replicas=1))

    await kubectl(us, "wait", "--for=condition=Available", "deploy/web", "--timeout=300s")

    def is_failing(view: cache.Cache) -> bool:
        statuses = [
            one
            for pod in view.list("Pod", "default")
            for one in objects.status(pod).get("containerStatuses") or ()
        ]
        return any(
            (each["state"].get("waiting") or {}).get("reason") == "ImagePullBackOff"
            for each in statuses
        )

    await eu.until(is_failing)


async def test_scale_and_wait(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _apply(kubectl, cluster, deployment(replicas=1))
    await kubectl(cluster, "scale", "deploy/web", "--replicas=4")

    await kubectl(
        cluster, "wait", "deploy/web", "--for=jsonpath={.status.readyReplicas}=4", "--timeout=300s"
    )

    assert len(cluster.view.list("Pod", "default")) == 4


async def test_delete_waits_until_all_is_gone(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _apply(kubectl, cluster, deployment(replicas=3), SERVICE)
    await kubectl(cluster, "rollout", "status", "deploy/web", "--timeout=300s")

    await kubectl(cluster, "delete", "deploy/web", "--cascade=foreground", "--timeout=300s")

    assert not cluster.view.list("Pod", "default")
    assert not cluster.view.list("ReplicaSet", "default")


async def test_orphans_stay_and_are_adopted_again(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _apply(kubectl, cluster, deployment(replicas=2))
    await kubectl(cluster, "rollout", "status", "deploy/web", "--timeout=300s")
    before = {objects.uid(each) for each in cluster.view.list("Pod", "default")}

    await kubectl(cluster, "delete", "deploy/web", "--cascade=orphan", "--timeout=300s")
    assert {objects.uid(each) for each in cluster.view.list("Pod", "default")} == before

    await _apply(kubectl, cluster, deployment(replicas=2))
    await kubectl(cluster, "rollout", "status", "deploy/web", "--timeout=300s")

    assert {objects.uid(each) for each in cluster.view.list("Pod", "default")} == before


async def test_a_namespace_goes_with_its_content(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _apply(kubectl, cluster, NAMESPACE)
    await kubectl(cluster, "-n", "shop", "apply", "-f", "-", text=deployment(replicas=3))
    await kubectl(cluster, "-n", "shop", "rollout", "status", "deploy/web", "--timeout=300s")
    assert "default" in (await kubectl(cluster, "-n", "shop", "get", "serviceaccounts")).out

    await kubectl(cluster, "delete", "namespace", "shop", "--timeout=300s")

    for kind in ("Deployment", "ReplicaSet", "Pod", "ConfigMap", "ServiceAccount", "Event"):
        assert not cluster.view.list(kind, "shop")


async def _until(lines: AsyncIterator[str], word: str) -> list[str]:
    """Read lines up to the first with a word."""
    seen: list[str] = []
    async for line in lines:
        seen.append(line)
        if word in line:
            return seen
    raise AssertionError(f"it ended without {word}: {seen}")


async def test_a_watch_shows_the_pods_come_and_go(
    kubectl: Kubectl, follow: Follow, cluster: fleet.Cluster
) -> None:
    await kubectl(cluster, "run", "first", "--image=nginx:1")
    async with follow(cluster, "get", "pods", "-w") as lines:
        # What is there already is shown first; from then on nothing is missed.
        await _until(lines, "first")
        await _apply(kubectl, cluster, deployment(replicas=1))
        await kubectl(cluster, "rollout", "status", "deploy/web", "--timeout=300s")
        await kubectl(cluster, "scale", "deploy/web", "--replicas=0")
        told = await _until(lines, "Terminating")

    seen = [line.split()[2] for line in told if line.startswith("web")]
    for word in ("Pending", "ContainerCreating", "Running", "Terminating"):
        assert word in seen


async def test_describe_tells_the_story(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _apply(kubectl, cluster, deployment(replicas=1), SERVICE)
    await kubectl(cluster, "rollout", "status", "deploy/web", "--timeout=300s")

    told = (await kubectl(cluster, "describe", "deploy", "web")).out
    pod = (await kubectl(cluster, "describe", "pod", "-l", "app=web")).out
    service = (await kubectl(cluster, "describe", "svc", "web")).out
    node = (await kubectl(cluster, "describe", "node", "n1")).out

    assert "1 desired | 1 updated | 1 total | 1 available | 0 unavailable" in told
    assert "ScalingReplicaSet" in told
    for word in ("Scheduled", "Pulled", "Created", "Started"):
        assert word in pod
    address = objects.status(cluster.view.list("Pod", "default")[0])["podIP"]
    assert f"{address}:80" in service
    assert "KubeletReady" in node


async def test_events_are_listed(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _apply(kubectl, cluster, deployment(replicas=1))
    await kubectl(cluster, "rollout", "status", "deploy/web", "--timeout=300s")

    shown = (await kubectl(cluster, "get", "events")).out
    told = (await kubectl(cluster, "events")).out

    for word in ("ScalingReplicaSet", "SuccessfulCreate", "Scheduled", "Started"):
        assert word in shown
        assert word in told


async def test_the_other_workloads_roll_out_too(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    template = yaml.safe_load(deployment(replicas=3))["spec"]["template"]
    selector = {"matchLabels": {"app": "web"}}
    common = {"selector": selector, "template": template}
    bodies = [
        {
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": {"name": kind.lower()},
            "spec": {**common, **extra},
        }
        for kind, extra in (
            ("StatefulSet", {"replicas": 2, "serviceName": "web"}),
            ("DaemonSet", {}),
        )
    ]
    for index, body in enumerate(bodies):
        own = {"app": f"web{index}"}
        body["spec"] = {
            **common,
            **{key: value for key, value in body["spec"].items() if key not in common},
            "selector": {"matchLabels": own},
            "template": {**template, "metadata": {"labels": own}},
        }
    await _apply(kubectl, cluster, *(yaml.safe_dump(each) for each in bodies))

    for name in ("statefulset/statefulset", "daemonset/daemonset"):
        await kubectl(cluster, "rollout", "status", name, "--timeout=300s")
        image = ("set", "image", name, "main=nginx:2")
        await kubectl(cluster, *image)
        await kubectl(cluster, "rollout", "status", name, "--timeout=300s")
        await kubectl(cluster, "rollout", "undo", name)
        await kubectl(cluster, "rollout", "status", name, "--timeout=300s")

    assert await _images(cluster) == ["nginx:1"] * 5


async def test_a_job_completes(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _apply(kubectl, cluster, JOB)

    await kubectl(cluster, "wait", "--for=condition=Complete", "job/once", "--timeout=300s")

    assert "1/1" in (await kubectl(cluster, "get", "job", "once")).out
