"""What other tools and people wrote before, or between releases: Git's again, and said so."""

import base64
from pathlib import Path
from typing import Any

import pytest

import command_world
import kubectl
from kube_sandbox.apiserver.storage import verbs

pytestmark = kubectl.needed

NAMES = ("us", "eu", "asia")
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
PASSWORD = base64.b64encode(b"hunter2hunter2").decode()
OTHER = base64.b64encode(b"letmeinletmein").decode()
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {{name: simple}}\ndata: {{password: {0}{1}}}\n"
#: As people had it before: more labels, keys, arguments and variables than Git has.
BEFORE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: simple, labels: {team: shop}}
data: {GREETING: hello, OLD: "1"}
---
apiVersion: v1
kind: Service
metadata: {name: simple}
spec:
  selector: {app: simple, pipecd.dev/variant: primary}
  ports: [{port: 80, targetPort: 9085}]
---
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


def container(world: command_world.World, cluster: str) -> dict[str, Any]:
    body = world.find(cluster, "Deployment", "simple")
    containers = body["spec"]["template"]["spec"]["containers"]
    assert [item["name"] for item in containers] == ["simple"]
    return dict(containers[0])


async def plan(world: command_world.World) -> command_world.Ended:
    return await world.volary("plan", ".", "--fleet", world.fleet)


def as_git_has_it(world: command_world.World, cluster: str, image: str) -> None:
    """Nothing is left of `BEFORE`, nor of what people did."""
    deployment = world.find(cluster, "Deployment", "simple")
    main = container(world, cluster)
    assert not {"args", "env"} & set(main)
    assert main["image"] == image
    assert deployment["spec"]["replicas"] == 2
    assert "team" not in deployment["metadata"]["labels"]
    settings = world.find(cluster, "ConfigMap", "simple")
    assert settings["data"] == {"GREETING": "hello"}
    assert "team" not in settings["metadata"]["labels"]
    for body in (deployment, settings, world.find(cluster, "Secret", "simple")):
        assert LAST_APPLIED not in body["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("words", "manager"),
    [
        (("apply", "-f", "-"), "kubectl-client-side-apply"),
        (("apply", "--server-side", "-f", "-"), "kubectl"),
        (("create", "-f", "-"), "kubectl-create"),
        (("apply", "--server-side", "--field-manager=helm", "-f", "-"), "helm"),
        (
            ("apply", "--server-side", "--field-manager=argocd-controller", "-f", "-"),
            "argocd-controller",
        ),
        (
            ("apply", "--server-side", "--field-manager=kustomize-controller", "-f", "-"),
            "kustomize-controller",
        ),
    ],
)
async def test_adopted_objects_are_as_git_has_them(
    tmp_path: Path, words: tuple[str, ...], manager: str
) -> None:
    """What goes is said before anything is written, and is what goes."""
    async with command_world.world(tmp_path, *NAMES, tls=True) as world:
        before = BEFORE + "---\n" + SECRET.format(PASSWORD, f", old: {OTHER}")
        for cluster in world.running.clusters.values():
            await kubectl.run(cluster, *words, text=before)
            await kubectl.run(cluster, "rollout", "status", "deployment/simple", "--timeout=120s")
        us = world.running.clusters["us"]
        await kubectl.run(us, "annotate", "configmap", "simple", "volary.dev/prune=disabled")
        world.write({"secret.yaml": SECRET.format(PASSWORD, "")}, message="A secret")
        untouched = await world.settled()

        planned = await plan(world)

        said = " ".join(planned.out.split())
        assert planned.code == 4, planned
        assert await world.settled() == untouched
        assert f"adopts Deployment default/simple from {manager}" in said
        assert '.spec.template.spec.containers[name="simple"].args' in said
        assert '.spec.template.spec.containers[name="sidecar"]' in said
        assert f"adopts ConfigMap default/simple from {manager}, removes " in said
        assert ".data.OLD" in said
        assert not {PASSWORD, OTHER, "hunter2", "letmein"} & set(planned.out.split())

        ended = await world.run("--strategy", "quick")

        assert ended.code == 0, ended
        assert f"adopts Secret default/simple from {manager}" in " ".join(
            (ended.out + ended.err).split()
        )
        for name in NAMES:
            as_git_has_it(world, name, "example/simple:v1")
            assert world.find(name, "Secret", "simple")["data"] == {"password": PASSWORD}
        kept = world.find("us", "ConfigMap", "simple")["metadata"]["annotations"]
        assert kept["volary.dev/prune"] == "disabled"
        settled = await world.settled()
        again = await plan(world)
        assert again.code == 0, again
        assert (await world.run("--strategy", "quick")).code == 0
        assert await world.settled() == settled


BY_HAND = (
    ("scale", "deployment", "simple", "--replicas=4"),
    ("set", "env", "deployment/simple", "DEBUG=1"),
    ("patch", "configmap", "simple", "-p", '{"data": {"GREETING": "hi", "MORE": "1"}}'),
    ("annotate", "deployment", "simple", "note=by-hand"),
    ("rollout", "restart", "deployment/simple"),
)


async def by_hand(world: command_world.World, name: str, image: str = "simple:hand") -> None:
    """Given: somebody changed things in one cluster."""
    cluster = world.running.clusters[name]
    for words in BY_HAND:
        await kubectl.run(cluster, *words)
    await kubectl.run(cluster, "set", "image", "deployment/simple", f"simple=example/{image}")
    await world.settled()


def mended(world: command_world.World, image: str) -> None:
    for name in NAMES:
        main = container(world, name)
        assert (main["image"], "env" in main) == (image, False)
        assert world.find(name, "Deployment", "simple")["spec"]["replicas"] == 2
        assert world.find(name, "ConfigMap", "simple")["data"] == {"GREETING": "hello"}
    touched = world.find("eu", "Deployment", "simple")
    assert touched["metadata"]["annotations"]["note"] == "by-hand"
    pods = touched["spec"]["template"]["metadata"]["annotations"]
    assert "kubectl.kubernetes.io/restartedAt" in pods


async def test_what_people_changed_is_taken_back_by_the_next_release(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, *NAMES, tls=True) as world:
        await world.deployed()
        await by_hand(world, "eu")
        untouched = await world.settled()
        world.edit("deployment.yaml", "example/simple:v1", "example/simple:v2")

        planned = await plan(world)

        said = " ".join(planned.out.split())
        assert "takes back .spec.replicas (4 → 2) from kubectl" in said, planned
        path = '.spec.template.spec.containers[name="simple"]'
        assert f"{path}.image (example/simple:hand → example/simple:v2) from kubectl-set" in said
        assert f"takes back {path}.env" in said
        assert "takes back .data.GREETING (hi → hello) from kubectl-patch" in said
        assert "takes back .data.MORE (1 → none) from kubectl-patch" in said
        assert await world.settled() == untouched

        ended = await world.run()

        assert ended.code == 0, ended
        assert "takes back .spec.replicas (4 → 2) from kubectl" in " ".join(
            (ended.out + ended.err).split()
        )
        mended(world, "example/simple:v2")


async def test_plain_values_of_secrets_are_git_s_by_key(tmp_path: Path) -> None:
    """API servers leave a key in ``data`` when it is gone from the ``stringData`` applied."""
    plain = "apiVersion: v1\nkind: Secret\nmetadata: {{name: simple}}\nstringData: {{{0}}}\n"
    async with command_world.world(tmp_path, "us", tls=True) as world:
        secret = {"secret.yaml": plain.format("password: hunter2hunter2, old: letmeinletmein")}
        world.write(secret, message="Two keys")
        assert (await world.run("--strategy", "quick")).code == 0
        changed = '{"stringData": {"password": "letmeinletmein"}}'
        await kubectl.run(world.running.clusters["us"], "patch", "secret", "simple", "-p", changed)
        secret = {"secret.yaml": plain.format("password: hunter2hunter2")}
        world.write(secret, message="One key")

        planned = await plan(world)
        assert planned.out.count("-*****") == 2
        assert "takes back .data.password from kubectl-patch" in planned.out

        assert (await world.run("--strategy", "quick")).code == 0
        assert world.find("us", "Secret", "simple")["data"] == {"password": PASSWORD}


async def test_a_sync_of_the_same_commit_mends_what_people_changed(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, *NAMES, tls=True) as world:
        await world.deployed()
        await by_hand(world, "eu")
        await kubectl.run(world.running.clusters["us"], "delete", "service", "simple")

        ended = await world.run("--strategy", "quick")

        assert ended.code == 0, ended
        mended(world, "example/simple:v1")
        assert world.find("us", "Service", "simple") is not None


async def test_a_rollback_wins_over_what_people_and_controllers_did(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, *NAMES, tls=True) as world:
        await world.deployed()
        world.edit("deployment.yaml", "example/simple:v1", "example/simple:bad")
        world.edit("app.pipecd.yaml", "  pipeline:", "  timeout: 20s\n  pipeline:")
        async with world.start(
            "run", ".", "--fleet", world.fleet, "--strategy", "quick"
        ) as started:
            await started.until("eu K8S_SYNC: configured Deployment")
            await world.settled()
            operator = verbs.Options(manager="shop-operator", agent="operator")
            registry = world.running.clusters["eu"].registry
            registry.patch(
                registry.kind("apps/v1", "Deployment"),
                "default",
                "simple",
                {"spec": {"minReadySeconds": 1, "replicas": 5}},
                verbs.PatchType.MERGE,
                operator,
            )
            await by_hand(world, "eu", "simple:bad-by-hand")
            ended = await started.ended()

        assert ended.code == 1, ended
        mended(world, "example/simple:v1")


async def test_who_refuses_conflicts_is_stopped_by_them(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, *NAMES, tls=True) as world:
        await world.deployed()
        await by_hand(world, "eu")
        before = await world.settled()
        refused = "    kubernetes_multicluster:\n      conflicts: refuse\n"
        world.edit("app.pipecd.yaml", "    kubernetes_multicluster:\n", refused)
        stopped = await world.run("--strategy", "quick")

        assert stopped.code == 2, stopped
        assert "kubectl owns .spec.replicas" in " ".join(stopped.err.split())
        assert await world.settled() == before

        excepted = f"{refused}      conflictExceptions: [.spec, kubectl-patch]\n"
        world.edit("app.pipecd.yaml", refused, excepted)
        ended = await world.run("--strategy", "quick")

        assert ended.code == 0, ended
        mended(world, "example/simple:v1")


async def test_plain_values_that_somebody_applied_before_are_adopted(tmp_path: Path) -> None:
    """Keys that went from it are nobody's in ``managedFields``, and stay live without this."""
    plain = "apiVersion: v1\nkind: Secret\nmetadata: {{name: simple}}\nstringData: {{{0}}}\n"
    values = "password: hunter2hunter2, old: letmeinletmein"
    async with command_world.world(tmp_path, "us", tls=True) as world:
        us = world.running.clusters["us"]
        for keys in (f"{values}, dropped: letmeinletmein", values):
            apply = ("apply", "--server-side", "-f", "-")
            await kubectl.run(us, *apply, text=plain.format(keys))
        live = world.find("us", "Secret", "simple")["data"]
        assert set(live) == {"password", "old", "dropped"}
        secret = {"secret.yaml": plain.format("password: hunter2hunter2")}
        world.write(secret, message="One key")

        planned = await plan(world)

        said = " ".join(planned.out.split())
        adopted = "adopts Secret default/simple from kubectl, removes .data.old, .data.dropped"
        assert adopted in said, planned
        ended = await world.run("--strategy", "quick")

        assert ended.code == 0, ended
        assert adopted in " ".join((ended.out + ended.err).split())
        assert world.find("us", "Secret", "simple")["data"] == {"password": PASSWORD}
        assert not {"hunter2hunter2", "letmeinletmein"} & set(said.split())

        changed = plain.format("password: letmeinletmein, more: letmeinletmein")
        await kubectl.run(us, "apply", "--server-side", "-f", "-", text=changed)
        planned = await plan(world)

        said = " ".join(planned.out.split())
        assert "takes back .data.more from kubectl; takes back .data.password from kubectl" in said
        assert (await world.run("--strategy", "quick")).code == 0
        assert world.find("us", "Secret", "simple")["data"] == {"password": PASSWORD}
