"""Releases that are judged by what the cluster itself tells of their pods."""

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import command_world
from measured_world import findings

V1, V2 = "simple:v1", "simple:v2"
APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {kind: Service, name: simple}
  workloads: [{kind: Deployment, name: simple}]
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 2}}
    - name: ANALYSIS
      with:
        duration: 4s
        holdFor: 1s
        metrics:
        - {name: pod-restarts, interval: 1s, expected: {max: 0}}
        - {name: pod-oom-kills, interval: 1s, expected: {max: 0}}
"""
REST = """\
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
"""


def measures(given: command_world.World, more: str = "") -> None:
    """Given: an application file that measures, and a new version."""
    (given.directory / "app.pipecd.yaml").unlink(missing_ok=True)
    given.write({"volary.yaml": APPLICATION + more + REST}, message="Measure")
    given.edit("deployment.yaml", V1, V2, message="Release v2")


def values(ended: command_world.Ended, metric: str) -> list[list[float]]:
    return [
        each["document"]["values"]
        for each in findings(ended, "measurement")
        if each["metric"] == metric
    ]


async def test_pods_that_run_out_of_memory_take_the_release_back(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", "eu") as given:
        await given.deployed()
        given.running.clusters["eu"].faults.images.add(
            "*simple:v2", "crash-after=1s,out-of-memory=true"
        )
        measures(given)
        ended = await given.run("--strategy", "pipeline", "--output", "json")

        assert ended.code == 1, ended
        last = ended.events[-1]
        assert last["status"] == "rolled_back", last
        assert "on eu: " in last["reason"]
        assert "is outside the expected ≤ 0" in last["reason"]
        assert {*map(given.images, ("us", "eu"))} == {"example/simple:v1 2/2"}
        told = {each["metric"] for each in findings(ended, "measurement")}
        assert told == {"pod-restarts", "pod-oom-kills"}


CHECKED = """\
        https: [{url: "http://127.0.0.1:9/", interval: 1s, noData: pass}]
"""


ASKED = """\
        metrics: [{name: pod-oom-kills, interval: 1s, expected: {max: 0}}]
"""


def checks_only(given: command_world.World, more: str = "") -> None:
    """Given: an application file that measures nothing of pods, and a new version."""
    (given.directory / "app.pipecd.yaml").unlink(missing_ok=True)
    before, _, _ = APPLICATION.partition("        metrics:")
    given.write({"volary.yaml": before + CHECKED + more + REST}, message="Measure")
    given.edit("deployment.yaml", V1, V2, message="Release v2")


async def test_canarys_pods_are_judged_where_nothing_is_said_of_them(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us") as given:
        await given.deployed()
        given.running.clusters["us"].faults.images.add(
            "*simple:v2", "crash-after=1s,out-of-memory=true"
        )
        # So that memory alone decides: these pods crash again and again.
        checks_only(given, "        restartThreshold: 1000\n")
        ended = await given.run("--strategy", "pipeline", "--output", "json")

        assert ended.code == 1, ended
        assert "pod-oom-kills on us" in ended.events[-1]["reason"]
        assert "1 is outside the expected ≤ 0" in ended.events[-1]["reason"]
        assert given.images("us") == "example/simple:v1 2/2"


LIMITED = """\
          resources: {limits: {memory: 100Mi}}
          image: example/"""


def limited(given: command_world.World, **memory: str) -> None:
    """Given: containers with a memory limit of 100 MiB, and what each version uses."""
    given.running.clusters["us"].install_metrics_server()
    for version, used in memory.items():
        given.running.clusters["us"].faults.images.add(f"*simple:{version}", f"memory={used}")
    given.edit("deployment.yaml", "          image: example/", LIMITED)


def measures_memory(given: command_world.World) -> None:
    """Given: the same file, and time for three looks also where each takes seconds."""
    checks_only(given)
    given.edit("volary.yaml", "duration: 4s", "duration: 20s", message="Measure longer")


async def test_a_pod_about_to_run_out_of_memory_takes_the_release_back(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us") as given:
        limited(given, v1="50Mi", v2="97Mi")
        await given.deployed()
        measures_memory(given)
        ended = await given.run("--strategy", "pipeline", "--output", "json")

        assert ended.code == 1, ended
        assert "pod-memory-limit on us" in ended.events[-1]["reason"]
        assert "0.97 is outside the expected ≤ 0.95" in ended.events[-1]["reason"]
        assert given.images("us") == "example/simple:v1 2/2"


async def test_where_primary_is_as_full_it_says_nothing_and_use_is_shown(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us") as given:
        limited(given, v1="96Mi", v2="97Mi")
        await given.deployed()
        measures_memory(given)
        ended = await given.run("--strategy", "pipeline", "--output", "json")

        assert ended.code == 0, ended
        said = {each["metric"]: each["document"]["sentence"] for each in findings(ended, "verdict")}
        assert "primary uses 96% of its memory limit too" in said["pod-memory-limit"]
        assert "canary has a median of" in said["pod-memory"]
        assert values(ended, "pod-cpu")[-1] == [0.001, 0.001]
        assert given.images("us") == "example/simple:v2 2/2"


def strangers(registry: Any, name: str, image: str) -> None:
    """Given: the canary of another application of that name; its pods have the labels of ours."""
    labels = {"app": "simple", "pipecd.dev/variant": "canary"}
    marks = {
        "volary.dev/managed-by": "volary",
        "volary.dev/application": "simple",
        "volary.dev/application-id": "0123456789abcdef",
    }
    annotations = {**marks, "volary.dev/resource-key": f"apps:Deployment:default:{name}"}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {**labels, **marks},
            "annotations": annotations,
        },
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": image}]},
            },
        },
    }
    create(registry, body)


BY_HAND = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "by-hand",
        "namespace": "default",
        "labels": {"app": "simple", "pipecd.dev/variant": "canary"},
    },
    "spec": {"containers": [{"name": "main", "image": "example/stranger:bad"}]},
}


async def test_pods_of_strangers_with_canarys_labels_are_not_judged(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us") as given:
        await given.deployed()
        cluster = given.running.clusters["us"]
        cluster.faults.images.add("*stranger:bad", "crash-after=1s,out-of-memory=true")
        cluster.faults.images.add("*simple:v3", "crash-after=1s,out-of-memory=true")
        strangers(cluster.registry, "crashing", "example/stranger:bad")
        create(cluster.registry, BY_HAND)
        checks_only(given, "        restartThreshold: 1000\n")
        healthy = await given.run("--strategy", "pipeline", "--output", "json")
        # Nor do theirs stand in for ours.
        strangers(cluster.registry, "healthy", "example/stranger:v1")
        given.edit("deployment.yaml", V2, "simple:v3", message="Release v3")
        broken = await given.run("--strategy", "pipeline", "--output", "json")

        assert healthy.code == 0, healthy
        assert values(healthy, "pod-oom-kills") == [[0.0, 0.0]]
        theirs = [
            pod
            for pod in cluster.view.list("Pod", "default")
            if "stranger:bad" in pod["spec"]["containers"][0]["image"]
        ]
        assert max(pod["status"]["containerStatuses"][0]["restartCount"] for pod in theirs) > 1
        assert broken.code == 1, broken
        assert "pod-oom-kills on us" in broken.events[-1]["reason"]
        assert [1.0, 1.0] in values(broken, "pod-oom-kills")
        assert given.images("us") == "example/simple:v2 2/2"


async def test_quiet_pods_pass_unasked_and_nobody_is_asked_where_it_is_off(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us") as given:
        await given.deployed()
        checks_only(given)
        quiet = await given.run("--strategy", "pipeline", "--output", "json")
        given.edit("volary.yaml", "holdFor: 1s", "judgePods: false", message="Off")
        given.edit("deployment.yaml", V2, "simple:v3", message="Release v3")
        off = await given.run("--strategy", "pipeline", "--output", "json")

        assert (quiet.code, off.code) == (0, 0), (quiet, off)
        assert values(quiet, "pod-restarts") == [[0.0, 0.0]]
        assert values(quiet, "pod-oom-kills") == [[0.0, 0.0]]
        assert values(off, "pod-restarts") == []
        # Said once of what a cluster does not tell.
        lines = [each["line"] for each in quiet.events if each["event"] == "task-logged"]
        assert sum("us has no metrics-server" in line for line in lines) == 1


async def test_quiet_pods_pass_and_their_memory_is_judged_where_it_is_told(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us") as given:
        await given.deployed()
        measures(given, "        - {name: pod-memory, interval: 1s, expected: {max: 200000000}}\n")
        silent = await given.run("--strategy", "pipeline", "--output", "json")
        cluster = given.running.clusters["us"]
        cluster.install_metrics_server()
        cluster.faults.images.add("*simple:v3", "memory=90Mi")
        cluster.faults.images.add("*simple:v4", "memory=400Mi")
        given.edit("deployment.yaml", V2, "simple:v3", message="Release v3")
        good = await given.run("--strategy", "pipeline", "--output", "json")
        given.edit("deployment.yaml", "simple:v3", "simple:v4", message="Release v4")
        greedy = await given.run("--strategy", "pipeline", "--output", "json")

        assert silent.code == 1, silent
        assert "it has no metrics-server that answers" in json.dumps(
            findings(silent, "measurement")
        )
        assert good.code == 0, good
        assert values(good, "pod-restarts")[0] == [0.0, 0.0]
        assert values(good, "pod-memory")[-1] == [90 * 2.0**20] * 2
        assert greedy.code == 1, greedy
        assert "pod-memory on us" in greedy.events[-1]["reason"]
        assert given.images("us") == "example/simple:v3 2/2"


async def test_a_canary_that_somebody_replaces_is_not_promoted_unmeasured(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us") as given:
        await given.deployed()
        measures(given)
        given.edit("volary.yaml", "duration: 4s", "duration: 1h", message="Measure for long")
        words = ("--strategy", "pipeline", "--output", "json")
        async with given.start("run", ".", "--fleet", given.fleet, *words) as started:
            line = b"-"
            while b'"measurement"' not in line:
                line = await started.process.stdout.readline()
                assert line, "it ended without a measurement"
            registry = given.running.clusters["us"].registry
            changed = copy.deepcopy(given.find("us", "Deployment", "simple-canary"))
            changed["spec"]["template"]["spec"]["containers"][0]["image"] = "example/simple:v77"
            kind = registry.kind("apps/v1", "Deployment")
            registry.update(kind, "default", "simple-canary", changed)
            ended = await started.ended()

        assert ended.code == 1, ended
        reason = ended.events[-1]["reason"]
        assert "simple-canary was changed while its pods were measured" in reason
        assert given.images("us") == "example/simple:v1 2/2"
        assert given.find("us", "Deployment", "simple-canary") is None


RBAC = "rbac.authorization.k8s.io"


def limited_user(given: command_world.World, *looking: str) -> None:
    """Given: whoever releases may do what it takes, and list these besides, as RBAC has it."""
    cluster = given.running.clusters["us"]
    rules = [
        {
            "apiGroups": ["", "apps"],
            "resources": ["configmaps", "secrets", "services", "deployments"],
            "verbs": ["*"],
        },
        *(
            {"apiGroups": [group], "resources": [kind], "verbs": ["list", "watch"]}
            for kind, _, group in (each.partition(".") for each in looking)
        ),
    ]
    named = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": "limited", "namespace": "default"}}
    create(cluster.registry, {**named, "kind": "Role", "rules": rules})
    binding = {
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "limited"},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "limited"}],
    }
    create(cluster.registry, {**named, "kind": "RoleBinding", **binding})
    path = Path(given.fleet).parent / "us.kubeconfig"
    path.write_text(path.read_text().replace("\n  user:\n", "\n  user:\n    as: limited\n", 1))


async def test_what_may_not_be_looked_at_is_said_before_the_run_and_condemns_nobody(
    tmp_path: Path,
) -> None:
    async with command_world.world(tmp_path, "us") as given:
        limited(given, v1="50Mi", v2="50Mi")
        await given.deployed()
        limited_user(given, "pods", "endpointslices.discovery.k8s.io")
        checks_only(given)
        unasked = await given.run("--strategy", "pipeline", "--output", "json")
        # A rule that somebody wrote cannot pass so: nothing is begun.
        given.edit("volary.yaml", CHECKED, f"{ASKED}{CHECKED}", message="Ask for it")
        given.edit("deployment.yaml", V2, "simple:v3", message="Release v3")
        asked = await given.run("--strategy", "pipeline", "--output", "json")

        assert unasked.code == 0, unasked
        may_not = "cluster us: the user may not list {} in namespace default"
        sets, metrics = map(may_not.format, ("replicasets.apps", "pods.metrics.k8s.io"))
        usage = "pod-memory-limit, pod-cpu, pod-memory"
        told = f"{sets}, so this cannot be measured: pod-restarts, pod-oom-kills, {usage}"
        assert f"warning: {told}\n" in unasked.err
        assert f"warning: {metrics}, so this cannot be measured: {usage}\n" in unasked.err
        [ended] = [
            each
            for each in unasked.events
            if each["event"] == "task-finished" and each["stageName"] == "ANALYSIS"
        ]
        assert "nothing was measured of https-0, pod-restarts, pod-oom-kills" in ended["reason"]
        assert "successful" not in ended["reason"]
        said = [each for each in unasked.events if each["event"] == "task-logged"]
        [line] = [each for each in said if each["line"].startswith("pass: pod-restarts")]
        assert line["level"] == "warning"
        assert 'cannot list resource "replicasets" in API group "apps"' in line["line"]
        assert asked.code == 2, asked
        assert f"error: {sets}, so this cannot be measured: pod-oom-kills" in asked.err
        assert given.images("us") == "example/simple:v2 2/2"


def create(registry: Any, body: Mapping[str, Any]) -> None:
    """Given: an object that somebody makes in the cluster."""
    kind = registry.kind(body["apiVersion"], body["kind"])
    registry.create(kind, body["metadata"].get("namespace", ""), dict(body))
