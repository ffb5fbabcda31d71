"""What Argo CD, Flux and Helm leave in ``managedFields`` is handed over, whichever way they write;
what people do on dashboards is taken back."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import command_world
import kubectl
from volary.manifests.ownership import field_sets

pytestmark = kubectl.needed

_FILE = Path(__file__).parents[1] / "cases" / "field_managers" / "writers.yaml"
CASES = yaml.safe_load(_FILE.read_text())
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: simple, labels: {app: simple, team: shop}}
spec:
  replicas: 3
  selector: {matchLabels: {app: simple, pipecd.dev/variant: primary}}
  template:
    metadata: {labels: {app: simple, pipecd.dev/variant: primary}}
    spec:
      containers:
        - name: simple
          image: example/simple:v0
          args: [--old]
          env: [{name: OLD, value: "1"}]
          ports: [{containerPort: 9085}]
          envFrom: [{configMapRef: {name: simple}}]
        - name: sidecar
          image: example/sidecar:v1
"""
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: simple, labels: {team: shop}}
data: {GREETING: good morning, OLD: "1"}
"""
#: Files of the example that are adopted, their groups, and the objects as the tool deployed them.
ADOPTED = {
    "deployment.yaml": ("Deployment", "apps", DEPLOYMENT),
    "config.yaml": ("ConfigMap", "", CONFIG),
}


def marks_of(writer: dict[str, Any], kind: str, group: str) -> dict[str, dict[str, str]]:
    """Return the labels and annotations by which the tool marks one object."""
    return {
        part: {key: value.format(kind=kind, group=group) for key, value in marks.items()}
        for part, marks in writer["marks"].items()
    }


def managed_fields(
    writer: dict[str, Any], kind: str, api_version: str, marks: dict[str, dict[str, str]]
) -> list[dict[str, Any]]:
    """Return the object's entries as the file says them."""
    owned = {
        name: CASES["sets"][name][kind] for name in CASES["sets"] if kind in CASES["sets"][name]
    }
    owned["marks"] = {
        "f:metadata": {
            f"f:{part}": {f"f:{key}": {} for key in keys} for part, keys in marks.items()
        }
    }
    entries = []
    for entry in writer["managedFields"]:
        fields: dict[str, Any] = {}
        for name in entry["owns"]:
            fields = field_sets.union(fields, owned[name])
        said = {"manager": entry["manager"], "operation": entry["operation"]}
        form = {"apiVersion": api_version, "fieldsType": "FieldsV1"}
        entries.append({**said, **form, "time": "2026-01-01T00:00:00Z", "fieldsV1": fields})
    return entries


async def deployed_by(world: command_world.World, writer: dict[str, Any]) -> None:
    """Given: a tool has deployed the objects, and Git says that they are taken over."""
    (cluster,) = world.running.clusters.values()
    for file, (kind, group, text) in ADOPTED.items():
        body = yaml.safe_load(text)
        marks = marks_of(writer, kind, group)
        for part, values in marks.items():
            body["metadata"][part] = {**body["metadata"].get(part, {}), **values}
        await kubectl.run(cluster, "create", "-f", "-", text=yaml.safe_dump(body))
        entries = managed_fields(writer, kind, body["apiVersion"], marks)
        patch = json.dumps({"metadata": {"managedFields": entries}})
        await kubectl.run(cluster, "patch", kind, "simple", "--type=merge", "-p", patch)
        taken = f"metadata:\n  annotations: {{volary.dev/take-over: '{writer['claim']}'}}\n"
        world.edit(file, "metadata:\n", taken)
    await kubectl.run(cluster, "rollout", "status", "deployment/simple", "--timeout=120s")


def owners(body: dict[str, Any]) -> set[tuple[str, str]]:
    """Who owns fields of an object, but for what controllers report."""
    return {
        (entry["manager"], entry["operation"])
        for entry in body["metadata"]["managedFields"]
        if not entry.get("subresource")
    }


@pytest.mark.parametrize("name", CASES["writers"])
async def test_whatever_a_tool_wrote_is_handed_over(tmp_path: Path, name: str) -> None:
    writer = CASES["writers"][name]
    async with command_world.world(tmp_path, "us", tls=True) as world:
        await deployed_by(world, writer)
        managers = {(entry["manager"], entry["operation"]) for entry in writer["managedFields"]}
        for kind in ("Deployment", "ConfigMap"):
            assert managers <= owners(world.find("us", kind, "simple"))

        planned = await world.volary("plan", ".", "--fleet", world.fleet)
        ended = await world.run("--strategy", "quick")

        said = " ".join(planned.out.split())
        for manager, _ in managers:
            assert f"adopts Deployment default/simple from {manager}" in said, planned
        for path in (".args", ".env", ".data.OLD", ".metadata.labels.team"):
            assert path in said, planned
        assert ended.code == 0, ended
        deployment = world.find("us", "Deployment", "simple")
        settings = world.find("us", "ConfigMap", "simple")
        (main,) = deployment["spec"]["template"]["spec"]["containers"]
        assert not {"args", "env"} & set(main)
        assert world.images("us") == "example/simple:v1 2/2"
        assert settings["data"] == {"GREETING": "hello"}
        for body in (deployment, settings):
            assert owners(body) == {("volary", "Apply")}
            for part, marks in writer["marks"].items():
                assert not set(marks) & set(body["metadata"][part])
            assert "team" not in body["metadata"]["labels"]
        settled = await world.settled()
        assert (await world.run("--strategy", "quick")).code == 0
        assert await world.settled() == settled


PATH = '.spec.template.spec.containers[name="simple"].image'


@pytest.mark.parametrize("manager", ["node-fetch", "Freelens", "Mozilla", "argocd-server"])
async def test_what_people_do_on_a_dashboard_is_taken_back(tmp_path: Path, manager: str) -> None:
    """Lens, Headlamp, Rancher and others write by patches, under names that are not theirs."""
    async with command_world.world(tmp_path, "us", tls=True) as world:
        await world.deployed()
        (cluster,) = world.running.clusters.values()
        as_tool = f"--field-manager={manager}"
        containers = [{"name": "simple", "image": "example/other:v9"}]
        change = json.dumps({"spec": {"template": {"spec": {"containers": containers}}}})
        more = json.dumps({"data": {"MORE": "1"}, "metadata": {"annotations": {"note": "mine"}}})
        await kubectl.run(cluster, "patch", "deployment", "simple", as_tool, "-p", change)
        await kubectl.run(cluster, "patch", "configmap", "simple", as_tool, "-p", more)

        planned = await world.volary("plan", ".", "--fleet", world.fleet)
        ended = await world.run("--strategy", "quick")

        said = " ".join(planned.out.split())
        back = f"takes back {PATH} (example/other:v9 → example/simple:v1) from {manager}"
        assert back in said, planned
        assert f"takes back .data.MORE (1 → none) from {manager}" in said
        assert ended.code == 0, ended
        assert world.images("us") == "example/simple:v1 2/2"
        settings = world.find("us", "ConfigMap", "simple")
        assert settings["data"] == {"GREETING": "hello"}
        assert settings["metadata"]["annotations"]["note"] == "mine"


async def test_a_program_that_writes_under_such_a_name_can_be_left_alone(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", tls=True) as world:
        excepted = "    kubernetes_multicluster:\n      conflictExceptions: [node-fetch]\n"
        world.edit("app.pipecd.yaml", "    kubernetes_multicluster:\n", excepted)
        await world.deployed()
        (cluster,) = world.running.clusters.values()
        more = json.dumps({"data": {"MORE": "1"}})
        await kubectl.run(
            cluster, "patch", "configmap", "simple", "--field-manager=node-fetch", "-p", more
        )
        world.edit("config.yaml", "hello", "good evening")

        ended = await world.run("--strategy", "quick")

        assert ended.code == 0, ended
        assert world.find("us", "ConfigMap", "simple")["data"] == {
            "GREETING": "good evening",
            "MORE": "1",
        }
