"""Somebody changes with kubectl what a stage has applied, while it waits for it."""

import asyncio
import json
from pathlib import Path

import pytest

import command_world
import kubectl

pytestmark = kubectl.needed

SLOW = "example/simple:v2"
APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {{name: simple}}
spec: {{conflicts: {}}}
"""
BESIDE = """\
apiVersion: v1
kind: Service
metadata:
  name: beside
spec:
  selector:
    app: simple
  ports:
    - port: 80
      targetPort: 9085
"""
#: A wait that is over sooner asks for nothing but what it waits for.
LONG = 5.5
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


@pytest.mark.parametrize("conflicts", ["takeBack", "refuse"])
async def test_what_is_not_waited_for_is_compared_too(tmp_path: Path, conflicts: str) -> None:
    """A ConfigMap is changed, a key of it removed, a Service changed, and another deleted."""
    async with command_world.world(tmp_path, "us", tls=True, speed=10.0) as world:
        (world.directory / "app.pipecd.yaml").unlink()
        world.edit("config.yaml", "GREETING", "PLACE: here\n  GREETING", message="")
        files = {"volary.yaml": APPLICATION.format(conflicts), "beside.yaml": BESIDE}
        world.write(files, message="More objects")
        await world.deployed()
        (cluster,) = world.running.clusters.values()
        world.edit("deployment.yaml", "example/simple:v1", SLOW)
        cluster.faults.images.add("*:v2", "never-ready")
        words = ("run", ".", "--fleet", world.fleet, "--strategy", "quick")
        async with world.start(*words) as started:
            await started.until(r"us K8S_SYNC: simple: \d of 2 pods")
            value = {"op": "replace", "path": "/data/GREETING", "value": "theirs"}
            gone = {"op": "remove", "path": "/data/PLACE"}
            patch = json.dumps([value, gone])
            await kubectl.run(cluster, "patch", "configmap", "simple", "--type=json", "-p", patch)
            await kubectl.run(cluster, "set", "selector", "service/simple", "app=theirs")
            await kubectl.run(cluster, "delete", "service", "beside")
            await asyncio.sleep(LONG)
            cluster.faults.clear()
            # Those that take their place are as healthy as any.
            await kubectl.run(cluster, "delete", "pods", "--selector=app=simple", "--wait=false")
            ended = await started.ended()

        said = " ".join((ended.out + ended.err).split())
        for deed in (
            "ConfigMap default/simple: somebody (kubectl-patch) changed .data.GREETING to theirs",
            "ConfigMap default/simple: somebody removed .data.PLACE",
            "Service default/simple: somebody (kubectl-set) changed .spec.selector",
            "Service default/beside: somebody deleted it",
        ):
            assert deed in said, ended
        failed = "K8S_SYNC failed: ConfigMap default/simple: somebody" in said
        assert (ended.code, failed) == ((0, False) if conflicts == "takeBack" else (1, True)), ended
        # What a stage does not take back its rollback does.
        data = world.find("us", "ConfigMap", "simple")["data"]
        assert data == {"GREETING": "hello", "PLACE": "here"}
        selector = world.find("us", "Service", "simple")["spec"]["selector"]
        assert selector["app"] == "simple"
        assert world.find("us", "Service", "beside") is not None
        image = SLOW if conflicts == "takeBack" else "example/simple:v1"
        assert world.images("us") == f"{image} 2/2"


async def test_a_workload_that_somebody_deletes_comes_again(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", tls=True) as world:
        await world.deployed()
        (cluster,) = world.running.clusters.values()
        world.edit("deployment.yaml", "example/simple:v1", SLOW)
        cluster.faults.images.add("*:v2", "never-ready")
        words = ("run", ".", "--fleet", world.fleet, "--strategy", "quick")
        async with world.start(*words) as started:
            await started.until(r"us K8S_SYNC: simple: \d of 2 pods")
            cluster.faults.clear()
            await kubectl.run(cluster, "delete", "deployment", "simple")
            ended = await started.ended()

        said = " ".join((ended.out + ended.err).split())
        assert ended.code == 0, ended
        assert "Deployment default/simple: somebody deleted it while the stage waited" in said
        assert world.images("us") == f"{SLOW} 2/2"
