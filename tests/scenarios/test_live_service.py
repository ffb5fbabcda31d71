"""What people are shown of live objects: whole objects, logs, and nothing of anybody else's."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import command_world
import kubectl
import process_time
from controller_world import SPEED, Controlled, controlled
from volary.controller import refusals
from volary.controller.api import live_representations, pod_logs
from volary.controller.status import application_statuses
from volary.manifests.ownership import tracking
from volary.model.objects import manifest


async def tree_of(
    given: Controlled, holds: Any, cluster: str = ""
) -> live_representations.LiveTree:
    """Wait until the tree of the application is so."""
    live = given.service.live
    async with asyncio.timeout(process_time.HANG):
        while not holds(tree := await live.tree("simple", cluster)):
            await live.live.changed(process_time.HANG)
    return tree


def has_pods(tree: live_representations.LiveTree) -> bool:
    """Say whether both clusters run both pods."""
    return len(tree.clusters) == 2 and all(
        cluster.ready == 2 and len(of_kind(cluster, "Pod")) == 2 for cluster in tree.clusters
    )


def of_kind(
    cluster: live_representations.LiveCluster, kind: str
) -> list[live_representations.LiveNode]:
    return [node for node in cluster.nodes if node.kind == kind]


async def test_one_object_is_shown_whole_and_only_if_it_is_of_the_application(
    tmp_path: Path,
) -> None:
    async with (
        command_world.world(tmp_path, "us", "eu", speed=SPEED, tls=True) as world,
        controlled(world) as given,
    ):
        await given.until_application(lambda each: each.status == "synced")
        tree = await tree_of(given, has_pods)
        live, us = given.service.live, world.running.clusters["us"]
        await kubectl.run(us, "create", "deployment", "other", "--image=other:v1")
        pod = of_kind(tree.clusters[0], "Pod")[0]

        deployment = await live.object(
            "simple", "us", manifest.ResourceKey("apps", "Deployment", "default", "simple")
        )
        shown = await live.object(
            "simple", "us", manifest.ResourceKey("", "Pod", "default", pod.name)
        )

        assert deployment.live["spec"]["replicas"] == 2
        assert "managedFields" not in deployment.live["metadata"]
        assert deployment.node.drift == "unknown"
        assert shown.containers == ("simple",), shown.containers
        assert shown.live["metadata"]["uid"] == pod.uid
        assert (shown.node.commit, shown.node.drift) == ("", "")
        key = manifest.ResourceKey("apps", "Deployment", "default", "other")
        with pytest.raises(refusals.NotFound):
            await live.object("simple", "us", key)
        with pytest.raises(refusals.NotFound):
            await live.object("simple", "asia", key)
        with pytest.raises(refusals.NotFound):
            await live.tree("nothing")


async def test_the_log_of_a_pod_of_the_application_and_of_no_other(tmp_path: Path) -> None:
    async with (
        command_world.world(tmp_path, "us", "eu", speed=SPEED, tls=True) as world,
        controlled(world) as given,
    ):
        await given.until_application(lambda each: each.status == "synced")
        tree = await tree_of(given, has_pods)
        live = given.service.live
        pod = of_kind(tree.clusters[0], "Pod")[0]

        log = await live.log("simple", "us", pod_logs.Wanted("default", pod.name))
        taken: list[pod_logs.PodLogLine | pod_logs.PodLogEnd] = []
        async with asyncio.timeout(process_time.HANG):
            while not (taken and isinstance(taken[-1], pod_logs.PodLogEnd)):
                taken += log.take(100)
                await log.changed(0.1)
        await log.close()

        lines = [one.text for one in taken if isinstance(one, pod_logs.PodLogLine)]
        assert lines, taken
        with pytest.raises(refusals.NotFound):
            await live.log("simple", "us", pod_logs.Wanted("kube-system", "other"))
        with pytest.raises(refusals.NotFound):
            await live.log("simple", "us", pod_logs.Wanted("default", "../../secrets"))


async def test_an_application_of_the_same_name_is_another_one(tmp_path: Path) -> None:
    """Objects with the same name and label, and another id, are not shown; nor forged children."""
    async with (
        command_world.world(tmp_path, "us", "eu", speed=SPEED, tls=True) as world,
        controlled(world) as given,
    ):
        await given.until_application(lambda each: each.status == "synced")
        tree = await tree_of(given, has_pods)
        us = world.running.clusters["us"]
        [deployment] = of_kind(tree.clusters[0], "Deployment")
        record = await given.service.store.applications.get("simple")
        assert record is not None
        owner = application_statuses.of_record(record).owners["us"]
        other = replace(owner, id="f" * 16)
        labels, annotations = (
            tracking.owner_labels(other),
            {
                tracking.MANAGED_BY: tracking.VOLARY,
                tracking.APPLICATION: other.name,
                tracking.APPLICATION_ID: other.id,
            },
        )
        half = {**tracking.owner_labels(owner)}
        await kubectl.run(us, "create", "namespace", "elsewhere")
        for body in (
            configmap("of-another", labels, annotations),
            # Labels select and annotations prove: this has only labels.
            configmap("with-labels-only", half, {}),
        ):
            await kubectl.run(us, "apply", "-f", "-", text=body)
        reference = [
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": deployment.name,
                "uid": deployment.uid,
            }
        ]
        await kubectl.run(us, "apply", "-f", "-", text=pod("forged", "elsewhere", reference))
        # What comes after it is seen only once all of that was.
        mine = {**annotations, tracking.APPLICATION_ID: owner.id, tracking.COMMIT: "c"}
        last = configmap("after", tracking.owner_labels(owner), mine)
        await kubectl.run(us, "apply", "-f", "-", text=last)

        seen = await tree_of(
            given,
            lambda tree: any(node.name == "after" for node in tree.clusters[0].nodes),
            "us",
        )

        names = {node.name for node in seen.clusters[0].nodes}
        assert not names & {"of-another", "with-labels-only", "forged"}, names


def configmap(name: str, labels: dict[str, str], annotations: dict[str, str]) -> str:
    return manifest_text(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "namespace": "default",
                "labels": labels,
                "annotations": annotations,
            },
        }
    )


def pod(name: str, namespace: str, owners: list[dict[str, str]]) -> str:
    return manifest_text(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "ownerReferences": owners},
            "spec": {"containers": [{"name": "web", "image": "web:v1"}]},
        }
    )


def manifest_text(body: dict[str, Any]) -> str:
    return json.dumps(body)
