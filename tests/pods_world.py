"""A cluster in memory with Deployments and their pods, and whose they are found to be."""

from collections.abc import Sequence
from typing import Any

import memory_client
from volary.manifests.ownership import tracking
from volary.model import applications, json
from volary.model.objects import manifest, ownership
from volary.model.pipeline import variant
from volary.stages.judgement import owned_pods

V = variant.Variant
REPLICA_SETS = memory_client.kind("apps", "ReplicaSet", "replicasets")
KINDS = [*memory_client.KINDS, REPLICA_SETS]
APP = applications.Application(name="shop", known_owner=ownership.Owner("shop", "0" * 16))
LABEL = APP.variant_label


def deployment(name: str, labels: dict[str, str]) -> json.JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "web:v2"}]},
            },
        },
    }


def applied(
    name: str, of: V, labels: dict[str, str], application: applications.Application = APP
) -> json.JsonObject:
    """A Deployment as a stage applies it for a variant."""
    return tracking.track(
        manifest.Manifest(deployment(name, labels)),
        owner=application.owner,
        commit="new",
        variant=of,
        label=application.variant_label,
    ).body


class World:
    """A cluster with Deployments, each with a pod of the ReplicaSet that is its newest."""

    def __init__(self) -> None:
        self.cluster = memory_client.MemoryCluster(resources=list(KINDS))

    def put(self, body: json.JsonObject, *pods: str) -> None:
        made = self.cluster.put(memory_client.DEPLOYMENTS, body)
        name, labels = made["metadata"]["name"], body["spec"]["selector"]["matchLabels"]
        template = body["spec"]["template"]
        owner = {"uid": made["metadata"]["uid"], "controller": True}
        metadata = {"name": f"{name}-1", "labels": labels, "ownerReferences": [owner]}
        between = self.cluster.put(
            REPLICA_SETS, {"metadata": metadata, "spec": {"template": template}}
        )
        owner = {"uid": between["metadata"]["uid"], "controller": True}
        for pod in pods:
            self.pod(pod, labels, [owner])

    def pod(self, name: str, labels: dict[str, str], owners: Sequence[Any] = ()) -> None:
        metadata = {"name": name, "labels": labels, "ownerReferences": list(owners)}
        self.cluster.put(memory_client.PODS, {"metadata": metadata})

    async def find(
        self, side: V, app: applications.Application = APP, *, is_new: bool = True, **given: Any
    ) -> list[str]:
        target = given.get("target", [manifest.Manifest(deployment("web", {"app": "web"}))])
        pods = owned_pods.OwnedPods(
            self.cluster.client, app, target, given.get("running", []), "default"
        )
        groups = await pods.find(side, is_new=is_new)
        return sorted(pod["metadata"]["name"] for group in groups for pod in group.pods)


CANARY = {"app": "web", LABEL.key: "canary"}
