"""Nobody's object is touched without a word."""

from pathlib import Path
from typing import Any

import command_world
from kube_sandbox.apiserver.storage import verbs

USER = verbs.Options(manager="argocd-controller", agent="argocd")
ARGO = {"argocd.argoproj.io/tracking-id": "front:apps/Deployment:default/simple"}


def deploy(world: command_world.World, cluster: str, annotations: dict[str, str]) -> None:
    """Given: somebody else's Deployment of the same name."""
    pod = {
        "metadata": {"labels": {"app": "simple", "pipecd.dev/variant": "primary"}},
        "spec": {"containers": [{"name": "simple", "image": "example/other:v9"}]},
    }
    body: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "simple", "annotations": annotations},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": pod["metadata"]["labels"]},  # type: ignore[index]
            "template": pod,
        },
    }
    registry = world.running.clusters[cluster].registry
    registry.create(registry.kind("apps/v1", "Deployment"), "default", body, USER)


async def test_what_argo_cd_manages_in_one_cluster_is_touched_in_none(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", "eu") as world:
        deploy(world, "eu", ARGO)
        before = await world.settled()

        ended = await world.run("--strategy", "quick")

        assert ended.code == 2, ended
        assert "Deployment default/simple on cluster eu" in ended.err
        assert "belongs to Argo CD's application front" in " ".join(ended.err.split())
        assert "volary.dev/take-over: argocd:front" in " ".join(ended.err.split())
        assert await world.settled() == before


async def test_git_says_that_it_is_taken_over(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us") as world:
        deploy(world, "us", ARGO)
        world.edit(
            "deployment.yaml",
            "metadata:\n  name: simple\n",
            "metadata:\n  name: simple\n  annotations:\n"
            "    volary.dev/take-over: argocd:front\n    volary.dev/force-conflicts: enabled\n",
        )

        ended = await world.run("--strategy", "quick")

        assert ended.code == 0, ended
        assert world.images("us") == "example/simple:v1 2/2"


async def test_a_single_changed_object_is_looked_at_as_well(tmp_path: Path) -> None:
    """It is written without a trial."""
    async with command_world.world(tmp_path, "us") as world:
        await world.deployed()
        claimed = {"name": "simple-more", "annotations": {"meta.helm.sh/release-name": "store"}}
        registry = world.running.clusters["us"].registry
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": claimed, "data": {"a": "1"}}
        registry.create(registry.kind("v1", "ConfigMap"), "default", body, USER)
        text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: simple-more\ndata:\n  b: '2'\n"
        world.write({"more.yaml": text}, message="One more")

        ended = await world.run("--strategy", "quick")

        assert ended.code == 2, ended
        assert "belongs to the Helm release" in " ".join(ended.err.split())
        assert world.find("us", "ConfigMap", "simple-more")["data"] == {"a": "1"}
