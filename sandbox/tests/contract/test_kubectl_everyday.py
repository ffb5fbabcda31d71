"""What somebody does with stock kubectl on a fresh cluster in the course of a day."""

import json
from pathlib import Path

import pytest

from kube_sandbox import fleet
from sandbox_fixtures import FleetFactory, Follow, Kubectl, deployment


@pytest.fixture
async def cluster(fleet_of: FleetFactory) -> fleet.Cluster:
    running = await fleet_of(["us"])
    return running.clusters["us"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run web --image=nginx --port=80", "pod/web created"),
        ("create deployment web --image=nginx --replicas=2", "deployment.apps/web created"),
        ("create configmap c --from-literal=a=b", "configmap/c created"),
        ("create secret generic s --from-literal=a=b", "secret/s created"),
        ("create job j --image=busybox -- true", "job.batch/j created"),
        ("create ingress i --rule=a.example/*=d:80", "ingress.networking.k8s.io/i created"),
        (
            "create pdb p --selector=app=web --min-available=1",
            "poddisruptionbudget.policy/p created",
        ),
        ("create role r --verb=get --resource=pods", "role.rbac.authorization.k8s.io/r created"),
        ("create quota q --hard=pods=20", "resourcequota/q created"),
        ("create priorityclass pc --value=10", "priorityclass.scheduling.k8s.io/pc created"),
    ],
)
async def test_kinds_are_created_and_gone_again(
    kubectl: Kubectl, cluster: fleet.Cluster, words: str, said: str
) -> None:
    created = await kubectl(cluster, *words.split())
    name = said.partition(" ")[0]
    deleted = await kubectl(cluster, "delete", name)
    again = await kubectl(cluster, "get", name, check=False)

    assert created.out == f"{said}\n"
    assert "deleted" in deleted.out
    assert "NotFound" in again.err


async def test_a_job_is_made_from_a_cron_job(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    words = ("create", "cronjob", "c", "--image=busybox", "--schedule=*/5 * * * *", "--", "true")
    await kubectl(cluster, *words)
    await kubectl(cluster, "create", "job", "j", "--from=cronjob/c")
    await kubectl(cluster, "wait", "--for=condition=Complete", "job/j", "--timeout=300s")

    jobs = await kubectl(cluster, "get", "job", "j", "-o", "jsonpath={.metadata.ownerReferences}")

    assert json.loads(jobs.out)[0]["kind"] == "CronJob"


async def test_a_service_is_exposed_and_followed(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await kubectl(cluster, "create", "deployment", "web", "--image=nginx", "--port=80")
    await kubectl(cluster, "rollout", "status", "deployment/web")
    await kubectl(cluster, "expose", "deployment", "web")

    old = await kubectl(cluster, "get", "endpoints", "web")
    new = await kubectl(cluster, "get", "endpointslices", "-l", "kubernetes.io/service-name=web")
    described = await kubectl(cluster, "describe", "service", "web")

    assert "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice" in old.err
    assert ":80" in old.out
    assert " 80 " in new.out
    assert "TargetPort:               80/TCP" in described.out


async def test_hand_written_endpoints_reach_a_service(
    kubectl: Kubectl, follow: Follow, cluster: fleet.Cluster
) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "database"},
        "spec": {"ports": [{"port": 5432}]},
    }
    endpoints = {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": "database"},
        "subsets": [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 5432}]}],
    }
    for body in (service, endpoints):
        await kubectl(cluster, "apply", "-f", "-", text=json.dumps(body))
    selector = "kubernetes.io/service-name=database"

    words = ("get", "endpointslices", "-l", selector, "-w", "--output-watch-events")
    async with follow(cluster, *words) as lines:
        async for line in lines:
            if "192.0.2.1" in line:
                break
        else:
            pytest.fail("no slice came")


async def test_what_is_edited_is_checked(
    kubectl: Kubectl, cluster: fleet.Cluster, tmp_path: Path
) -> None:
    await kubectl(cluster, "apply", "-f", "-", text=deployment())
    other = "sed -i '/matchLabels/,/template/ s/app: web/app: other/'"

    good = await kubectl(cluster, "edit", "deploy/web", editor="sed -i s/nginx:1/nginx:9/")
    bad = await kubectl(cluster, "edit", "deploy/web", editor=other, check=False)

    image = "jsonpath={.spec.template.spec.containers[0].image}"
    assert good.out == "deployment.apps/web edited\n"
    assert (await kubectl(cluster, "get", "deploy", "web", "-o", image)).out == "nginx:9"
    assert bad.code == 1
    assert 'deployments.apps "web" is invalid' in bad.err
    copies = [copy.read_text() for copy in tmp_path.glob("kubectl-edit-*")]
    assert any("field is immutable" in text for text in copies)


async def test_volumes_are_checked(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    container = {
        "name": "c",
        "image": "nginx",
        "volumeMounts": [{"name": "a", "mountPath": "/a"}],
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [container], "volumes": [{"name": "b", "configMap": {}}]},
    }

    refused = await kubectl(cluster, "create", "-f", "-", text=json.dumps(pod), check=False)

    assert refused.err == (
        'The Pod "p" is invalid: \n'
        "* spec.volumes[0].configMap.name: Required value\n"
        '* spec.containers[0].volumeMounts[0].name: Not found: "a"\n'
    )


async def test_a_pod_may_not_become_another(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await kubectl(cluster, "run", "web", "--image=nginx:1")
    image = '{"spec":{"containers":[{"name":"web","image":"nginx:2"}]}}'
    host = '{"spec":{"hostname":"other"}}'

    changed = await kubectl(cluster, "patch", "pod", "web", "-p", image)
    refused = await kubectl(cluster, "patch", "pod", "web", "-p", host, check=False)

    assert changed.out == "pod/web patched\n"
    assert "pod updates may not change fields other than" in refused.err
    assert '-  "Hostname": "",\n+  "Hostname": "other",\n' in refused.err


@pytest.mark.parametrize(
    "words",
    [
        "exec web -- ls",
        "attach web",
        "port-forward pod/web 18080:80",
        "cp web:/etc/hosts hosts",
        "get --raw /api/v1/namespaces/default/pods/web/proxy/",
    ],
)
async def test_what_needs_a_process_is_refused_with_the_reason(
    kubectl: Kubectl, cluster: fleet.Cluster, words: str
) -> None:
    await kubectl(cluster, "run", "web", "--image=nginx")
    await kubectl(cluster, "wait", "--for=condition=Ready", "pod/web", "--timeout=300s")

    refused = await kubectl(cluster, *words.split(), check=False)

    assert refused.code == 1
    assert "is not emulated: " in refused.err


async def test_unknown_fields_are_refused_unless_one_says_so(
    kubectl: Kubectl, cluster: fleet.Cluster
) -> None:
    text = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"dta":{}}'

    refused = await kubectl(cluster, "apply", "-f", "-", text=text, check=False)
    warned = await kubectl(cluster, "apply", "--validate=warn", "-f", "-", text=text)

    assert 'strict decoding error: unknown field "dta"' in refused.err
    assert 'Warning: unknown field "dta"' in warned.err
    assert warned.out == "configmap/c created\n"


async def test_a_paused_rollout_is_not_undone(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await kubectl(cluster, "apply", "-f", "-", text=deployment())
    await kubectl(cluster, "rollout", "status", "deployment/web")
    await kubectl(cluster, "set", "image", "deployment/web", "main=nginx:2")
    await kubectl(cluster, "rollout", "status", "deployment/web")
    await kubectl(cluster, "rollout", "pause", "deployment/web")

    refused = await kubectl(cluster, "rollout", "undo", "deployment/web", check=False)
    unknown = await kubectl(
        cluster, "rollout", "history", "deployment/web", "--revision=99", check=False
    )

    assert "you cannot rollback a paused deployment" in refused.err
    assert "unable to find the specified revision" in unknown.err
