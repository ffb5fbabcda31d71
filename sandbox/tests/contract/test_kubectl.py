"""Stock kubectl against the sandbox: reading, writing and asking around."""

import asyncio
import json

import pytest
import yaml

import process_time
from kube_sandbox import fleet
from sandbox_fixtures import FleetFactory, Follow, Kubectl, deployment

WIDGETS = yaml.safe_dump(
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "additionalPrinterColumns": [
                        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
                    ],
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "size": {"type": "integer", "description": "How big."}
                                    },
                                }
                            },
                        }
                    },
                }
            ],
        },
    }
)


@pytest.fixture
async def cluster(fleet_of: FleetFactory) -> fleet.Cluster:
    running = await fleet_of(["eu"])
    return running.clusters["eu"]


async def _deployed(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await kubectl(cluster, "apply", "-f", "-", text=deployment())
    await kubectl(cluster, "wait", "--for=condition=Available", "deploy/web", "--timeout=300s")


async def _image(kubectl: Kubectl, cluster: fleet.Cluster) -> str:
    path = "jsonpath={.spec.template.spec.containers[0].image}"
    return (await kubectl(cluster, "get", "deploy", "web", "-o", path)).out


async def test_it_tells_what_it_is_and_serves(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    version = await kubectl(cluster, "version")
    kinds = await kubectl(cluster, "api-resources", "-o", "wide")
    field = await kubectl(cluster, "explain", "deployment.spec.replicas")

    assert "Server Version: v1.36" in version.out
    assert "deployments" in kinds.out
    assert "horizontalpodautoscalers" in kinds.out
    assert "FIELD: replicas <integer>" in field.out
    assert "Number of desired pods" in field.out


async def test_it_reads_in_every_form(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _deployed(kubectl, cluster)

    wide = await kubectl(cluster, "get", "pods", "-o", "wide")
    everywhere = await kubectl(cluster, "get", "pods", "-A", "-l", "app=web")
    selected = await kubectl(cluster, "get", "pods", "-l", "app!=web")
    as_yaml = await kubectl(cluster, "get", "deploy", "web", "-o", "yaml")
    as_json = await kubectl(cluster, "get", "deploy", "-o", "json")
    described = await kubectl(cluster, "describe", "deploy", "web")

    assert "NODE" in wide.out.splitlines()[0]
    assert wide.out.count("Running") == 2
    assert everywhere.out.startswith("NAMESPACE")
    assert "No resources found" in selected.err
    assert yaml.safe_load(as_yaml.out)["status"]["readyReplicas"] == 2
    assert [each["kind"] for each in json.loads(as_json.out)["items"]] == ["Deployment"]
    assert "2 desired | 2 updated | 2 total | 2 available" in described.out
    assert "ScalingReplicaSet" in described.out


async def test_client_side_apply_is_idempotent_and_diff_agrees(
    kubectl: Kubectl, cluster: fleet.Cluster
) -> None:
    first = await kubectl(cluster, "apply", "-f", "-", text=deployment())
    second = await kubectl(cluster, "apply", "-f", "-", text=deployment())
    same = await kubectl(cluster, "diff", "-f", "-", text=deployment())
    changed = await kubectl(cluster, "diff", "-f", "-", text=deployment("nginx:2"), check=False)
    third = await kubectl(cluster, "apply", "-f", "-", text=deployment("nginx:2"))

    assert first.out == "deployment.apps/web created\n"
    assert second.out == "deployment.apps/web unchanged\n"
    assert same.out == ""
    assert changed.code == 1
    assert "+      - image: nginx:2" in changed.out
    assert third.out == "deployment.apps/web configured\n"
    assert await _image(kubectl, cluster) == "nginx:2"


async def test_server_side_apply_names_the_other_manager(
    kubectl: Kubectl, cluster: fleet.Cluster
) -> None:
    words = ("apply", "--server-side", "-f", "-")
    await kubectl(cluster, *words, "--field-manager=first", text=deployment("nginx:1"))

    refused = await kubectl(
        cluster, *words, "--field-manager=second", text=deployment("nginx:2"), check=False
    )
    before = await _image(kubectl, cluster)
    await kubectl(
        cluster,
        *words,
        "--field-manager=second",
        "--force-conflicts",
        text=deployment("nginx:2"),
    )

    assert refused.code == 1
    assert 'conflict with "first"' in refused.err
    assert before == "nginx:1"
    assert await _image(kubectl, cluster) == "nginx:2"


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        (
            "strategic",
            '{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"nginx:7"}]}}}}',
        ),
        (
            "merge",
            '{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"nginx:7"}]}}}}',
        ),
        (
            "json",
            '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"nginx:7"}]',
        ),
    ],
)
async def test_all_three_patches(
    kubectl: Kubectl, cluster: fleet.Cluster, kind: str, patch: str
) -> None:
    await kubectl(cluster, "apply", "-f", "-", text=deployment())

    await kubectl(cluster, "patch", "deploy", "web", f"--type={kind}", "-p", patch)

    ports = "jsonpath={.spec.template.spec.containers[0].ports}"
    kept = await kubectl(cluster, "get", "deploy", "web", "-o", ports)
    assert await _image(kubectl, cluster) == "nginx:7"
    # A merge patch replaces lists, the others leave their neighbours alone.
    assert bool(kept.out) is (kind != "merge")


async def test_small_writes(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _deployed(kubectl, cluster)

    await kubectl(cluster, "scale", "deploy", "web", "--replicas=3")
    await kubectl(cluster, "label", "deploy", "web", "tier=front")
    await kubectl(cluster, "annotate", "deploy", "web", "note=x")
    await kubectl(cluster, "wait", "--for=jsonpath={.status.readyReplicas}=3", "deploy/web")
    found = json.loads((await kubectl(cluster, "get", "deploy", "web", "-o", "json")).out)
    await kubectl(cluster, "replace", "-f", "-", text=deployment("nginx:9"))

    assert found["spec"]["replicas"] == 3
    assert found["metadata"]["labels"]["tier"] == "front"
    assert found["metadata"]["annotations"]["note"] == "x"
    assert await _image(kubectl, cluster) == "nginx:9"


async def test_a_stale_replace_is_refused(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await kubectl(cluster, "create", "configmap", "a", "--from-literal=k=v")
    old = (await kubectl(cluster, "get", "cm", "a", "-o", "yaml")).out
    await kubectl(cluster, "label", "cm", "a", "x=y")

    refused = await kubectl(cluster, "replace", "-f", "-", text=old, check=False)

    assert "the object has been modified" in refused.err


@pytest.mark.parametrize(
    "words",
    [
        ("namespace", "shop"),
        ("configmap", "a", "--from-literal=k=v"),
        ("secret", "generic", "a", "--from-literal=k=v"),
        ("serviceaccount", "a"),
        ("deployment", "a", "--image=nginx:1", "--replicas=2", "--port=80"),
        ("service", "nodeport", "a", "--tcp=80:8080"),
        ("job", "a", "--image=busybox", "--", "true"),
        ("ingress", "a", "--rule=a.example.com/*=web:80"),
        ("role", "a", "--verb=get", "--resource=pods"),
        ("poddisruptionbudget", "a", "--selector=app=a", "--min-available=1"),
    ],
    ids=lambda words: words[0],
)
async def test_create_writes_what_it_says(
    kubectl: Kubectl, cluster: fleet.Cluster, words: tuple[str, ...]
) -> None:
    """These commands send protobuf; what is stored is what they would send as JSON."""
    name = "shop" if words[0] == "namespace" else "a"
    flags = ("--dry-run=client", "-o", "json")
    options, rest = words, ()
    if "--" in words:
        at = words.index("--")
        options, rest = words[:at], words[at:]
    wanted = json.loads((await kubectl(cluster, "create", *options, *flags, *rest)).out)

    await kubectl(cluster, "create", *words)

    found = json.loads((await kubectl(cluster, "get", words[0], name, "-o", "json")).out)
    for part in ("data", "rules", "type"):
        assert found.get(part, None) == wanted.get(part, found.get(part))
    _contains(found.get("spec", {}), wanted.get("spec", {}))


def _contains(found: object, wanted: object) -> None:
    """Everything wanted is there; the server may have filled in more."""
    if isinstance(wanted, dict):
        assert isinstance(found, dict)
        for key, value in wanted.items():
            if value not in (None, {}, []):
                _contains(found[key], value)
    elif isinstance(wanted, list):
        assert isinstance(found, list)
        for left, right in zip(found, wanted, strict=True):
            _contains(left, right)
    else:
        assert found == wanted


async def test_a_watch_shows_changes_as_they_come(
    kubectl: Kubectl, follow: Follow, cluster: fleet.Cluster
) -> None:
    await kubectl(cluster, "create", "configmap", "a")
    await kubectl(cluster, "create", "configmap", "first")
    await kubectl(cluster, "label", "cm", "first", "w=1")

    async with follow(cluster, "get", "cm", "-l", "w=1", "-w") as lines:
        # What is there already is shown first; from then on nothing is missed.
        listed = [await anext(lines), await anext(lines)]
        await kubectl(cluster, "label", "cm", "a", "w=1")
        changed = await anext(lines)

    assert [each.split()[:2] for each in listed] == [["NAME", "DATA"], ["first", "0"]]
    assert changed.split()[:2] == ["a", "0"]


async def test_deleting_waits_until_it_is_true(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _deployed(kubectl, cluster)

    await kubectl(cluster, "delete", "deploy", "web", "--cascade=foreground", "--timeout=300s")

    left = await kubectl(cluster, "get", "deploy,rs,pods", "-o", "name")
    assert left.out == ""


async def test_events_and_logs(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _deployed(kubectl, cluster)

    events = await kubectl(cluster, "events", "--for", "deploy/web")
    log = await kubectl(cluster, "logs", "deploy/web")
    running = await kubectl(cluster, "exec", "deploy/web", "--", "ls", check=False)

    assert "ScalingReplicaSet" in events.out
    assert "is emulated" in log.out
    assert running.code != 0


async def test_the_log_before_a_restart(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _deployed(kubectl, cluster)
    none = await kubectl(cluster, "logs", "-p", "deploy/web", check=False)
    run = ("run", "breaks", "--image=crash:1")
    await kubectl(cluster, *run)
    ended = "jsonpath={.status.containerStatuses[0].lastState.terminated}"
    await kubectl(cluster, "wait", "pod/breaks", f"--for={ended}", "--timeout=300s")

    before = await kubectl(cluster, "logs", "-p", "breaks")

    assert "previous terminated container" in none.err
    assert "is emulated" in before.out


async def test_usage_needs_a_metrics_server(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _deployed(kubectl, cluster)

    for what in ("pods", "nodes"):
        answer = await kubectl(cluster, "top", what, check=False)

        assert answer.code == 1
        assert answer.err.strip() == "error: Metrics API not available"


async def test_the_cluster_is_dumped(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _deployed(kubectl, cluster)

    dump = await kubectl(cluster, "cluster-info", "dump", "--all-namespaces")

    assert '"kind": "DeploymentList"' in dump.out
    assert "is emulated" in dump.out


async def test_apply_prunes_what_is_no_longer_there(
    kubectl: Kubectl, cluster: fleet.Cluster
) -> None:
    def config(name: str) -> str:
        metadata = {"name": name, "labels": {"app": "shop"}}
        return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})

    prune = ("apply", "--prune", "-l", "app=shop", "-f", "-")
    await kubectl(cluster, *prune, text=f"{config('one')}---\n{config('two')}")

    pruned = await kubectl(cluster, *prune, text=config("one"))

    assert "configmap/two pruned" in pruned.out
    left = await kubectl(cluster, "get", "configmaps", "-l", "app=shop", "-o", "name")
    assert left.out.split() == ["configmap/one"]


async def test_custom_resources(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: 3}}"
    await kubectl(cluster, "apply", "-f", "-", text=WIDGETS)
    await kubectl(cluster, "wait", "--for=condition=Established", "crd/widgets.example.com")
    await kubectl(cluster, "apply", "-f", "-", text=widget)

    table = await kubectl(cluster, "get", "wd")
    help_text = await kubectl(cluster, "explain", "widget.spec.size")
    await kubectl(cluster, "delete", "crd", "widgets.example.com", "--timeout=300s")
    gone = await kubectl(cluster, "get", "wd", check=False)

    assert [line.split()[:2] for line in table.out.splitlines()] == [["NAME", "SIZE"], ["w", "3"]]
    assert "How big." in help_text.out
    assert "could not find the requested resource" in gone.err


async def test_a_definition_can_be_changed(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await kubectl(cluster, "apply", "-f", "-", text=WIDGETS)
    changed = yaml.safe_load(WIDGETS)
    changed["spec"]["names"]["shortNames"] = ["wgt"]

    await kubectl(cluster, "label", "crd", "widgets.example.com", "team=a")
    await kubectl(cluster, "apply", "-f", "-", text=yaml.safe_dump(changed))
    second = ("--server-side", "--force-conflicts", "--field-manager=second")
    await kubectl(cluster, "apply", *second, "-f", "-", text=WIDGETS)

    table = await kubectl(cluster, "get", "wd")
    assert "No resources found" in table.err


async def test_a_list_is_checked_and_a_kind_that_comes_later_is_named(
    kubectl: Kubectl, cluster: fleet.Cluster
) -> None:
    """Both are what kubectl asks the document of OpenAPI v2 about."""
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    listed = {"apiVersion": "v1", "kind": "List", "items": [{**item, "data": {"k": "v"}}]}
    wrong = {**listed, "items": [{**item, "dta": {"k": "v"}}]}
    widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: 3}}"

    applied = await kubectl(cluster, "apply", "-f", "-", text=yaml.safe_dump(listed))
    refused = await kubectl(cluster, "apply", "-f", "-", text=yaml.safe_dump(wrong), check=False)
    early = await kubectl(cluster, "apply", "-f", "-", text=widget, check=False)

    assert applied.out == "configmap/a created\n"
    assert 'unknown field "dta" in io.k8s.api.core.v1.ConfigMap' in refused.err
    assert 'no matches for kind "Widget" in version "example.com/v1"' in early.err
    assert "ensure CRDs are installed first" in early.err


async def test_without_a_metrics_server_top_says_so(
    kubectl: Kubectl, cluster: fleet.Cluster
) -> None:
    for kind in ("pods", "nodes"):
        answer = await kubectl(cluster, "top", kind, check=False)

        assert answer.code == 1
        assert answer.err == "error: Metrics API not available\n"


async def test_mistakes_are_told_as_a_real_server_does(
    kubectl: Kubectl, cluster: fleet.Cluster
) -> None:
    typo = deployment().replace("replicas:", "replcas:")

    unknown = await kubectl(cluster, "apply", "-f", "-", text=typo, check=False)
    missing = await kubectl(cluster, "get", "cm", "nope", check=False)
    nowhere = await kubectl(cluster, "create", "configmap", "a", "-n", "nowhere", check=False)
    immortal = await kubectl(cluster, "delete", "ns", "default", check=False)

    assert 'unknown field "spec.replcas"' in unknown.err
    assert missing.err == 'Error from server (NotFound): configmaps "nope" not found\n'
    assert 'namespaces "nowhere" not found' in nowhere.err
    assert "this namespace may not be deleted" in immortal.err


async def test_nodes_can_be_drained(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _deployed(kubectl, cluster)
    path = "jsonpath={.items[0].spec.nodeName}"
    node = (await kubectl(cluster, "get", "pods", "-o", path)).out

    await kubectl(cluster, "drain", node, "--ignore-daemonsets", "--timeout=300s")

    left = await kubectl(
        cluster, "get", "pods", "-o", "name", f"--field-selector=spec.nodeName={node}"
    )
    assert left.out == ""


async def test_with_a_metrics_server_top_shows_what_pods_are_said_to_use(
    kubectl: Kubectl, fleet_of: FleetFactory
) -> None:
    running = await fleet_of(["eu"], metrics_server=True)
    cluster = running.clusters["eu"]
    cluster.faults.images.add("nginx:*", "cpu=250m,memory=400Mi")
    reader = "--as=system:serviceaccount:default:reader"
    await kubectl(cluster, "create", "serviceaccount", "reader")
    subject = "--serviceaccount=default:reader"
    await kubectl(cluster, "create", "rolebinding", "reader", "--clusterrole=view", subject)
    await _deployed(kubectl, cluster)
    async with asyncio.timeout(process_time.HANG):
        # Of a pod nothing is told before its node was read twice.
        while True:
            told = await kubectl(cluster, "top", "pods", check=False)
            if told.out.count("web-") == 2:
                break
            await asyncio.sleep(0.2)

    pods = await kubectl(cluster, "top", "pods", "-l", "app=web", "--no-headers", reader)
    nodes = await kubectl(cluster, "top", "nodes", "--no-headers")
    missing = await kubectl(cluster, "top", "pod", "nobody", check=False)
    denied = await kubectl(cluster, "delete", "pods.metrics.k8s.io", "--all", check=False)

    assert [line.split()[1:] for line in pods.out.splitlines()] == [["250m", "400Mi"]] * 2
    assert sum(int(line.split()[1].removesuffix("m")) for line in nodes.out.splitlines()) == 500
    assert 'pods "nobody" not found' in missing.err
    assert "does not allow this method" in denied.err
