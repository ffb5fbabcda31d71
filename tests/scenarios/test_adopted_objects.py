"""What was there before the application is kept as it was until a run has ended well."""

import base64
import contextlib
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import command_world
import kubectl
from kube_sandbox import traffic

pytestmark = kubectl.needed

PASSWORD = base64.b64encode(b"hunter2hunter2").decode()
#: As people made it before, labels and one key of the ConfigMap more than Git has.
BEFORE = f"""\
apiVersion: v1
kind: ConfigMap
metadata: {{name: simple, labels: {{team: shop}}}}
data: {{GREETING: good morning, OLD: "1"}}
---
apiVersion: v1
kind: Secret
metadata: {{name: simple}}
data: {{password: {PASSWORD}}}
---
apiVersion: v1
kind: Service
metadata: {{name: simple}}
spec:
  selector: {{app: simple}}
  ports: [{{port: 80, targetPort: 9085}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: simple, labels: {{app: simple, team: shop}}, annotations: {{note: by hand}}}}
spec:
  replicas: 3
  selector: {{matchLabels: {{app: simple, pipecd.dev/variant: primary}}}}
  template:
    metadata: {{labels: {{app: simple, pipecd.dev/variant: primary}}}}
    spec:
      containers:
        - name: simple
          image: example/simple:v0
          args: [--old]
          ports: [{{containerPort: 9085}}]
          envFrom: [{{configMapRef: {{name: simple}}}}]
"""
SECRET = """\
apiVersion: v1
kind: Secret
metadata:
  name: simple
stringData:
  password: changed
"""
NEW = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: brand-new
"""
KINDS = ("ConfigMap", "Secret", "Service", "Deployment")


async def prepared(world: command_world.World) -> None:
    """Given: people made everything with kubectl, and Git has a bad image."""
    for cluster in world.running.clusters.values():
        await kubectl.run(cluster, "apply", "-f", "-", text=BEFORE)
        await kubectl.run(cluster, "rollout", "status", "deployment/simple", "--timeout=120s")
    world.write({"secret.yaml": SECRET})
    for name in ("config.yaml", "deployment.yaml", "service.yaml", "secret.yaml"):
        forced = "metadata:\n  annotations: {volary.dev/force-conflicts: enabled}\n"
        world.edit(name, "metadata:\n", forced)
    world.edit("deployment.yaml", "replicas: 2", "replicas: 2\n  progressDeadlineSeconds: 60")
    world.edit("deployment.yaml", "example/simple:v1", "example/simple:bad")


def state(body: dict[str, Any]) -> dict[str, Any]:
    """What somebody sees of an object, who owns its fields included."""
    dropped = ("managedFields", "resourceVersion", "generation")
    metadata = {key: value for key, value in body["metadata"].items() if key not in dropped}
    managers = {
        (entry["manager"], entry["operation"], str(sorted(str(entry["fieldsV1"]))))
        for entry in body["metadata"]["managedFields"]
        if not entry.get("subresource") and "deployment.kubernetes.io" not in str(entry)
    }
    metadata["annotations"] = {
        key: value
        for key, value in (metadata.get("annotations") or {}).items()
        if not key.startswith("deployment.kubernetes.io/")
    }
    rest = {key: value for key, value in body.items() if key not in ("metadata", "status")}
    return {**rest, "metadata": metadata, "managers": managers}


def states(world: command_world.World, target: str = "us") -> dict[str, Any]:
    return {kind: state(world.find(target, kind, "simple")) for kind in KINDS}


def kept(world: command_world.World, target: str = "us") -> list[dict[str, Any]]:
    listed = world.running.clusters[target].view.list("Secret", "default")
    return [dict(body) for body in listed if body["metadata"]["name"].startswith("volary-snapshot")]


@contextlib.asynccontextmanager
async def watched(world: command_world.World, target: str = "us") -> AsyncIterator[list[str]]:
    """Look at the Service's traffic after every change in a cluster; collects what was lost."""
    lost: list[str] = []
    cluster = world.running.clusters[target]

    def look(_change: object) -> None:
        seen = traffic.resolve(cluster.view, "default", "simple", rules=cluster.faults.images)
        if seen.lost > 0:
            lost.extend(seen.reasons or ("requests failed",))

    unsubscribe = cluster.registry.subscribe(look)
    try:
        yield lost
    finally:
        unsubscribe()


async def test_a_bad_first_release_puts_everything_back(tmp_path: Path) -> None:
    """Objects, values and who owns which field are as people left them; no request is lost."""
    async with command_world.world(tmp_path, "us", tls=True) as world:
        await prepared(world)
        world.write({"new.yaml": NEW}, message="And something new")
        before = states(world)

        async with watched(world) as lost:
            ended = await world.run("--strategy", "quick")

        assert ended.code == 1, ended
        assert "rollback verified on us" in " ".join((ended.out + ended.err).split())
        assert "4 objects restored as before" in ended.err
        assert states(world) == before
        assert world.images("us") == "example/simple:v0 3/3"
        assert lost == []
        assert world.find("us", "ConfigMap", "brand-new") is None
        assert kept(world) == []
        assert PASSWORD not in ended.out + ended.err


async def test_a_release_that_fails_after_its_promotion_is_taken_back_without_a_gap(
    tmp_path: Path,
) -> None:
    """The Service leads to new pods by a new selector then, and back before they go."""
    async with command_world.world(tmp_path, "us", tls=True) as world:
        await prepared(world)
        text = (world.directory / "app.pipecd.yaml").read_text()
        stages = "    stages:\n      - name: K8S_PRIMARY_ROLLOUT\n"
        failing = "      - {name: SCRIPT_RUN, with: {run: exit 1}}\n"
        world.write({"app.pipecd.yaml": text[: text.index("    stages:")] + stages + failing})
        world.edit("deployment.yaml", "example/simple:bad", "example/simple:v1")
        before = states(world)

        async with watched(world) as lost:
            ended = await world.run("--strategy", "pipeline")

        assert "K8S_PRIMARY_ROLLOUT: ✓ succeeded" in ended.err, ended
        assert "rollback verified on us" in " ".join((ended.out + ended.err).split()), ended
        assert states(world) == before
        assert lost == []


@pytest.mark.parametrize("remembers", [True, False])
async def test_a_killed_process_loses_nothing_of_it(tmp_path: Path, remembers: bool) -> None:
    """What the first process has changed is not how it was, also where nobody knows of it."""
    elsewhere = {} if remembers else {"XDG_STATE_HOME": str(tmp_path / "elsewhere")}
    async with command_world.world(tmp_path, "us", tls=True) as world:
        await prepared(world)
        before = states(world)
        words = ("run", ".", "--fleet", world.fleet, "--strategy", "quick")
        async with world.start(*words) as started:
            await started.until("configured Deployment default/simple")
            started.interrupt(signal.SIGKILL)
        assert states(world) != before

        ended = await world.run("--strategy", "quick", **elsewhere)

        assert ended.code == 1, ended
        assert "rollback verified on us" in " ".join((ended.out + ended.err).split())
        assert states(world) == before
        assert kept(world) == []


async def test_a_later_release_that_adopts_one_more_puts_it_back(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", tls=True) as world:
        await world.deployed()
        (cluster,) = world.running.clusters.values()
        await kubectl.run(cluster, "create", "configmap", "brand-new", "--from-literal=a=1")
        before = state(world.find("us", "ConfigMap", "brand-new"))
        world.edit("deployment.yaml", "replicas: 2", "replicas: 2\n  progressDeadlineSeconds: 60")
        world.edit("deployment.yaml", "example/simple:v1", "example/simple:bad")
        world.write({"new.yaml": f"{NEW}data:\n  b: '2'\n"}, message="And one more")

        ended = await world.run("--strategy", "quick")

        assert ended.code == 1, ended
        assert "rollback verified on us" in " ".join((ended.out + ended.err).split())
        assert state(world.find("us", "ConfigMap", "brand-new")) == before
        assert world.images("us") == "example/simple:v1 2/2"
        assert kept(world) == []


async def test_what_was_deleted_meanwhile_is_created_again(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", tls=True) as world:
        await prepared(world)
        before = states(world)
        (cluster,) = world.running.clusters.values()
        words = ("run", ".", "--fleet", world.fleet, "--strategy", "quick")
        async with world.start(*words) as started:
            await started.until("configured Deployment default/simple")
            await kubectl.run(cluster, "delete", "secret", "simple")
            ended = await started.ended()

        assert "rollback verified on us" in " ".join((ended.out + ended.err).split())
        after = states(world)
        for seen in (before, after):
            for key in ("uid", "creationTimestamp"):
                del seen["Secret"]["metadata"][key]
        assert after == before


async def test_what_cannot_be_restored_is_named(tmp_path: Path) -> None:
    """Somebody puts another object in the place of an adopted one while the run fails."""
    async with command_world.world(tmp_path, "us", tls=True) as world:
        await prepared(world)
        (cluster,) = world.running.clusters.values()
        words = ("run", ".", "--fleet", world.fleet, "--strategy", "quick")
        async with world.start(*words) as started:
            await started.until("configured Deployment default/simple")
            await kubectl.run(cluster, "delete", "configmap", "simple")
            await kubectl.run(cluster, "create", "configmap", "simple", "--from-literal=mine=1")
            ended = await started.ended()

        said = " ".join((ended.out + ended.err).split())
        assert ended.code == 1, ended
        assert "ConfigMap default/simple is not restored: somebody else put another one" in said
        assert "rollback not verified" in said
        assert "rollback verified" not in said
        assert world.find("us", "ConfigMap", "simple")["data"] == {"mine": "1"}
        assert len(kept(world)) == 1


async def test_they_are_kept_until_a_run_succeeds(tmp_path: Path) -> None:
    """Nobody reads a Secret's values in what is said, nor in anything but a Secret."""
    async with command_world.world(tmp_path, "us", tls=True) as world:
        await prepared(world)
        hold = "spec:\n  planner: {autoRollback: false}\n"
        world.edit("app.pipecd.yaml", "spec:\n", hold)

        failed = await world.run("--strategy", "quick")

        assert failed.code == 1, failed
        assert "kept as it is until the run has ended" in failed.out
        (secret,) = kept(world)
        assert not any(PASSWORD in text or "hunter2" in text for text in (failed.out, failed.err))
        assert PASSWORD not in str(secret)
        before = secret["data"]

        world.edit("deployment.yaml", "example/simple:bad", "example/simple:v2")
        again = await world.run("--strategy", "quick")

        assert again.code == 0, again
        assert before
        assert kept(world) == []


async def test_a_release_of_other_clusters_is_not_what_was_there_before(tmp_path: Path) -> None:
    """us has a release, eu what people made: us goes back to the one, eu to the other."""
    async with command_world.world(tmp_path, "us", "eu", tls=True) as world:
        us, eu = (world.running.clusters[name] for name in ("us", "eu"))
        await kubectl.run(eu, "apply", "-f", "-", text=BEFORE)
        await kubectl.run(eu, "rollout", "status", "deployment/simple", "--timeout=120s")
        before = states(world, "eu")
        config = f"{us.kubeconfig_path}:{eu.kubeconfig_path}"
        first = await world.volary("run", ".", "--contexts", "us", KUBECONFIG=config)
        assert first.code == 0, first
        eu.faults.images.add("*:v2", "bad")
        world.edit("deployment.yaml", "example/simple:v1", "example/simple:v2")
        asked = (".", "--contexts", "us,eu", "--strategy", "quick")

        planned = await world.volary("plan", *asked, KUBECONFIG=config)
        ended = await world.volary("run", *asked, KUBECONFIG=config)

        said = " ".join((ended.out + ended.err).split())
        assert "us runs it; eu runs what was there before Volary" in planned.out, planned
        assert ended.code == 1, ended
        assert "first deployment undone: 3 objects restored as before" in said, ended
        assert "rollback verified on us and eu" in said, ended
        assert states(world, "eu") == before
        pods = world.find("us", "Deployment", "simple")["spec"]["template"]["spec"]
        assert pods["containers"][0]["image"] == "example/simple:v1"
