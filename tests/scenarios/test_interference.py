"""Somebody changes with kubectl what a stage has applied, while it waits for it."""

from pathlib import Path

import pytest

import command_world
import kubectl

pytestmark = kubectl.needed

SLOW = "example/simple:v2"
CANARY = """\
      - name: K8S_CANARY_ROLLOUT
        desc: The new version, one pod
        with:
          replicas: 1
      - name: K8S_BASELINE_ROLLOUT
        desc: The current version at the same scale, for a fair comparison
        with:
          replicas: 1
      - name: K8S_TRAFFIC_ROUTING
        desc: Users see the canary
        with:
          all: canary
"""


@pytest.mark.parametrize(
    ("strategy", "stage", "name", "times"),
    [
        ("quick", "K8S_SYNC", "simple", 1),
        ("pipeline", "K8S_CANARY_ROLLOUT", "simple-canary", 1),
        ("pipeline", "K8S_PRIMARY_ROLLOUT", "simple", 1),
        ("quick", "K8S_SYNC", "simple", 3),
    ],
)
async def test_an_image_is_taken_back_and_said(
    tmp_path: Path, strategy: str, stage: str, name: str, times: int
) -> None:
    """Not for ever: who insists has a reason, and then the stage fails."""
    async with command_world.world(tmp_path, "us", tls=True) as world:
        await world.deployed()
        (cluster,) = world.running.clusters.values()
        world.edit("deployment.yaml", "example/simple:v1", SLOW)
        words = ("run", ".", "--fleet", world.fleet, "--strategy", strategy)
        if strategy == "pipeline" and name == "simple":
            world.edit("app.pipecd.yaml", CANARY, "", message="Primary only")
        cluster.faults.images.add("*:v2", "never-ready")
        async with world.start(*words) as started:
            for _ in range(times):
                await started.until(f"us {stage}: (configured|created) Deployment .*/{name}[ \n]")
                started.said = ""
                await kubectl.run(
                    cluster, "set", "image", f"deployment/{name}", "simple=example/other:v9"
                )
            if times == 1:
                cluster.faults.clear()
            ended = await started.ended()

        said = " ".join((ended.out + ended.err).split())
        changed = (
            f"Deployment default/{name}: somebody (kubectl-set) changed"
            ' .spec.template.spec.containers[name="simple"].image to example/other:v9 while the'
            " stage waited"
        )
        assert changed in said, ended
        if times == 1:
            assert ended.code == 0, ended
            assert world.images("us") == f"{SLOW} 2/2"
        else:
            assert ended.code == 1, ended
            assert f"{stage} failed: {changed}" in said
            assert world.images("us") == "example/simple:v1 2/2"


async def test_a_variable_that_somebody_adds_goes_again(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", tls=True) as world:
        await world.deployed()
        (cluster,) = world.running.clusters.values()
        world.edit("deployment.yaml", "example/simple:v1", SLOW)
        cluster.faults.images.add("*:v2", "never-ready")
        words = ("run", ".", "--fleet", world.fleet, "--strategy", "quick")
        async with world.start(*words) as started:
            await started.until("us K8S_SYNC: configured Deployment .*/simple[ \n]")
            await kubectl.run(cluster, "set", "env", "deployment/simple", "DEBUG=1")
            cluster.faults.clear()
            ended = await started.ended()

        said = " ".join((ended.out + ended.err).split())
        assert ended.code == 0, ended
        assert "somebody (kubectl-set) added .spec.template.spec.containers" in said, ended
        live = cluster.view.get("Deployment", "default", "simple")
        assert live is not None
        (container,) = live["spec"]["template"]["spec"]["containers"]
        assert "env" not in container
        assert world.images("us") == f"{SLOW} 2/2"
