"""What was there before the application is kept as it was until a run has ended well."""

import base64
from pathlib import Path
from typing import Any

import command_world
import kubectl

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
