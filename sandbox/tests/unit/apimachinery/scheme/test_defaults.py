"""What the server fills in, compared with facts recorded from kube-apiserver 1.36."""

from typing import Any

import pytest

import schema_samples as samples
from kube_sandbox.apimachinery.scheme import pod_defaults

_TEMPLATE = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
_FILLED_SPEC = {
    "containers": [
        {
            "name": "c",
            "image": "i",
            "resources": {},
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "imagePullPolicy": "Always",
        }
    ],
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
_SELECTOR = {"matchLabels": {"app": "x"}}


def stored(api_version: str, kind: str, **fields: Any) -> dict[str, Any]:
    metadata = fields.pop("metadata", {"name": "n"})
    return samples.stored({"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields})


def test_deployment() -> None:
    spec = stored("apps/v1", "Deployment", spec={"selector": _SELECTOR, "template": _TEMPLATE})

    assert spec["spec"] == {
        "selector": _SELECTOR,
        "template": {"metadata": {"labels": {"app": "x"}}, "spec": _FILLED_SPEC},
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
        },
    }


def test_a_recreating_deployment_gets_no_rolling_update() -> None:
    spec = {"selector": _SELECTOR, "template": _TEMPLATE, "strategy": {"type": "Recreate"}}

    assert stored("apps/v1", "Deployment", spec=spec)["spec"]["strategy"] == {"type": "Recreate"}


def test_stateful_set() -> None:
    claims = [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]
    found = stored(
        "apps/v1",
        "StatefulSet",
        spec={
            "serviceName": "s",
            "selector": _SELECTOR,
            "template": _TEMPLATE,
            "volumeClaimTemplates": claims,
        },
    )

    spec = found["spec"]
    assert spec["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    assert spec["podManagementPolicy"] == "OrderedReady"
    assert spec["persistentVolumeClaimRetentionPolicy"] == {
        "whenDeleted": "Retain",
        "whenScaled": "Retain",
    }
    claim = spec["volumeClaimTemplates"][0]
    assert claim["kind"] == "PersistentVolumeClaim"
    assert claim["spec"]["volumeMode"] == "Filesystem"
    assert claim["status"] == {"phase": "Pending"}
    assert found["status"] == {"replicas": 0, "availableReplicas": 0}


def test_daemon_set() -> None:
    found = stored("apps/v1", "DaemonSet", spec={"selector": _SELECTOR, "template": _TEMPLATE})

    assert found["spec"]["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
    }
    assert found["metadata"]["annotations"] == {"deprecated.daemonset.template.generation": "1"}


def test_job_and_cron_job() -> None:
    pod = {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
    }
    job = stored("batch/v1", "Job", spec={"template": pod})
    cron = stored(
        "batch/v1",
        "CronJob",
        spec={"schedule": "* * * * *", "jobTemplate": {"spec": {"template": pod}}},
    )

    assert {key: value for key, value in job["spec"].items() if key != "template"} == {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "manualSelector": False,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    }
    assert job["metadata"]["labels"] == {"app": "x"}
    template = cron["spec"]["jobTemplate"]
    assert template["metadata"] == {}
    assert "backoffLimit" not in template["spec"]
    assert template["spec"]["template"]["spec"]["dnsPolicy"] == "ClusterFirst"
    assert cron["spec"]["concurrencyPolicy"] == "Allow"


def test_a_job_with_parallelism_alone_has_no_completions() -> None:
    job = stored("batch/v1", "Job", spec={"parallelism": 3, "template": _TEMPLATE})

    assert "completions" not in job["spec"]


@pytest.mark.parametrize(
    ("kind", "filled"),
    [
        ("ClusterIP", {"internalTrafficPolicy": "Cluster"}),
        ("NodePort", {"internalTrafficPolicy": "Cluster", "externalTrafficPolicy": "Cluster"}),
        (
            "LoadBalancer",
            {
                "internalTrafficPolicy": "Cluster",
                "externalTrafficPolicy": "Cluster",
                "allocateLoadBalancerNodePorts": True,
            },
        ),
        ("ExternalName", {}),
    ],
)
def test_service(kind: str, filled: dict[str, Any]) -> None:
    found = stored("v1", "Service", spec={"type": kind, "ports": [{"port": 80}]})

    assert found["spec"] == {
        "type": kind,
        "sessionAffinity": "None",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        **filled,
    }
    assert found["status"] == {"loadBalancer": {}}


def test_a_secret_encodes_its_plain_data_over_what_was_there() -> None:
    found = stored("v1", "Secret", stringData={"p": "hunter2"}, data={"p": "AAAA", "q": "AAAA"})

    assert found["data"] == {"p": "aHVudGVyMg==", "q": "AAAA"}
    assert found["type"] == "Opaque"
    assert "stringData" not in found


def test_autoscaler_by_version() -> None:
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 5}
    new = stored("autoscaling/v2", "HorizontalPodAutoscaler", spec=spec)
    old = stored("autoscaling/v1", "HorizontalPodAutoscaler", spec=spec)

    target = {"type": "Utilization", "averageUtilization": 80}
    assert new["spec"]["metrics"] == [
        {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    ]
    assert new["spec"]["minReplicas"] == old["spec"]["minReplicas"] == 1
    assert "metrics" not in old["spec"]


def test_a_pod_gets_more_than_a_template() -> None:
    container = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}
    found = stored("v1", "Pod", spec={"containers": [container]})

    assert found["spec"]["enableServiceLinks"] is True
    resources = found["spec"]["containers"][0]["resources"]
    assert resources == {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
    assert found["status"]["phase"] == "Pending"


def test_probes_volumes_and_environment_inside_a_template() -> None:
    container = {
        "name": "c",
        "image": "i",
        "env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "livenessProbe": {"httpGet": {"port": 80}},
    }
    volumes = [
        {"name": "a", "configMap": {"name": "x"}},
        {"name": "b"},
        {"name": "c", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {"name": "d", "hostPath": {"path": "/"}},
    ]
    found = stored("v1", "Pod", spec={"containers": [container], "volumes": volumes})["spec"]

    main = found["containers"][0]
    assert main["livenessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    assert main["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] == "v1"
    assert found["volumes"] == [
        {"name": "a", "configMap": {"name": "x", "defaultMode": 420}},
        {"name": "b", "emptyDir": {}},
        {
            "name": "c",
            "projected": {
                "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
                "defaultMode": 420,
            },
        },
        {"name": "d", "hostPath": {"path": "/", "type": ""}},
    ]


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("registry.example:5000/nginx", "Always"),
        ("registry.example:5000/nginx:2", "IfNotPresent"),
        ("nginx@sha256:" + "0" * 64, "IfNotPresent"),
    ],
)
def test_the_pull_policy_follows_the_tag(image: str, policy: str) -> None:
    assert pod_defaults.pull_policy(image) == policy


def test_namespace_network_policy_binding_and_claim() -> None:
    space = stored("v1", "Namespace", metadata={"name": "team"})
    policy = stored("networking.k8s.io/v1", "NetworkPolicy", spec={"egress": [{}]})
    binding = stored(
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        roleRef={"kind": "Role", "name": "r"},
        subjects=[{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}],
    )
    claim = stored("v1", "PersistentVolumeClaim", spec={"accessModes": ["ReadWriteOnce"]})

    assert space["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}
    assert space["status"] == {"phase": "Active"}
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert binding["roleRef"]["apiGroup"] == "rbac.authorization.k8s.io"
    assert [each.get("apiGroup") for each in binding["subjects"]] == [
        "rbac.authorization.k8s.io",
        None,
    ]
    assert claim["spec"]["volumeMode"] == "Filesystem"
    assert claim["status"] == {"phase": "Pending"}


def test_defaults_are_stable() -> None:
    """What was filled in once stays as it is when the object is read again."""
    once = samples.stored(samples.deployment())

    assert samples.stored(once) == once
