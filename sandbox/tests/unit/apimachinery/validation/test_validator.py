"""What is refused: the words of kube-apiserver, for creates and updates."""

import copy
from typing import Any

import pytest

import schema_samples as samples
from kube_sandbox.apimachinery.meta import causes
from kube_sandbox.apimachinery.validation import validator


def refused(body: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    kind = samples.of(body)
    before = samples.stored(old) if old is not None else None
    return [str(each) for each in validator.check(kind, samples.stored(body), before)]


def test_a_good_object_is_accepted() -> None:
    assert refused(samples.deployment()) == []
    assert refused(samples.deployment(replicas=0), samples.deployment()) == []


def test_the_sentence_of_a_status_names_kind_object_and_causes() -> None:
    found = [causes.required("a"), causes.invalid("b", -1, "must be greater than or equal to 0")]

    assert causes.message("apps", "Deployment", "v", found[:1]) == (
        'Deployment.apps "v" is invalid: a: Required value'
    )
    assert causes.message("", "Pod", "v", found) == (
        'Pod "v" is invalid: [a: Required value, b: Invalid value: -1: '
        "must be greater than or equal to 0]"
    )
    assert found[1].json == {
        "reason": "FieldValueInvalid",
        "message": "Invalid value: -1: must be greater than or equal to 0",
        "field": "b",
    }


_SUBDOMAIN = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"replicas": -1}, "spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
        ({"selector": None}, "spec.selector: Required value"),
        ({"selector": {}}, "spec.selector: Invalid value: {}: empty selector is invalid"),
        (
            {"selector": {"matchLabels": {"app": "other"}}},
            'spec.template.metadata.labels: Invalid value: {"app":"web"}: '
            "`selector` does not match template `labels`",
        ),
        (
            {"strategy": {"type": "Sideways"}},
            'spec.strategy.type: Unsupported value: "Sideways": supported values: "Recreate", '
            '"RollingUpdate"',
        ),
        (
            {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
            "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` "
            "is 'Recreate'",
        ),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}},
            "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when "
            "`maxSurge` is 0",
        ),
        (
            {"strategy": {"rollingUpdate": {"maxUnavailable": "150%"}}},
            "must not be greater than 100%",
        ),
        ({"strategy": {"rollingUpdate": {"maxSurge": "ten"}}}, "a valid percent string must be"),
        ({"progressDeadlineSeconds": 5, "minReadySeconds": 5}, "must be greater than minReady"),
    ],
)
def test_deployment(change: dict[str, Any], expected: str) -> None:
    assert any(expected in each for each in refused(samples.deployment(**change)))


def test_names_and_labels() -> None:
    bad_name = samples.deployment()
    bad_name["metadata"]["name"] = "Bad_Name"
    bad_label = samples.config_map(a="1")
    bad_label["metadata"]["labels"] = {"bad label": "x", "ok": "-no-"}
    no_name = samples.config_map(a="1")
    del no_name["metadata"]["name"]

    assert refused(bad_name)[0].startswith(
        f'metadata.name: Invalid value: "Bad_Name": {_SUBDOMAIN}'
    )
    found = refused(bad_label)
    assert found[0].startswith('metadata.labels: Invalid value: "bad label": name part must')
    assert found[1].startswith('metadata.labels: Invalid value: "-no-": a valid label must be')
    assert refused(no_name) == [
        "metadata.name: Required value: name or generateName is required",
    ]


_C = {"name": "main", "image": "i"}


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ({"name": "main"}, "containers[0].image: Required value"),
        ({"image": "i", "name": ""}, "containers[0].name: Required value"),
        ({**_C, "name": "Main"}, 'containers[0].name: Invalid value: "Main"'),
        ({**_C, "ports": [{"containerPort": 0}]}, "ports[0].containerPort: Required value"),
        ({**_C, "ports": [{"containerPort": 70000}]}, "must be between 1 and 65535, inclusive"),
        (
            {**_C, "ports": [{"containerPort": 1, "protocol": "tcp"}]},
            'ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"',
        ),
        (
            {**_C, "ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]},
            'ports[1].name: Duplicate value: "a"',
        ),
        ({**_C, "env": [{"value": "x"}]}, "env[0].name: Required value"),
        (
            {
                **_C,
                "env": [
                    {
                        "name": "A",
                        "value": "1",
                        "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}},
                    }
                ],
            },
            "may not be specified when `value` is not empty",
        ),
        (
            {**_C, "volumeMounts": [{"name": "gone", "mountPath": "/x"}]},
            'volumeMounts[0].name: Not found: "gone"',
        ),
        (
            {**_C, "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
            'resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        ),
        ({**_C, "imagePullPolicy": "Sometimes"}, 'Unsupported value: "Sometimes"'),
        ({**_C, "readinessProbe": {}}, "readinessProbe: Required value: must specify a handler"),
        (
            {**_C, "livenessProbe": {"tcpSocket": {"port": 1}, "successThreshold": 2}},
            "livenessProbe.successThreshold: Invalid value: 2: must be 1",
        ),
    ],
)
def test_containers(container: dict[str, Any], expected: str) -> None:
    found = refused(samples.containers(container))

    assert len(found) == 1
    assert found[0].startswith("spec.template.spec.")
    assert expected in found[0]


def test_pods_of_a_deployment_restart_always() -> None:
    body = samples.deployment()
    body["spec"]["template"]["spec"]["restartPolicy"] = "Never"

    assert refused(body) == [
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'
    ]


def test_containers_and_volumes_are_unique() -> None:
    body = samples.containers(_C, _C)
    body["spec"]["template"]["spec"]["volumes"] = [{"name": "v"}, {"name": "v"}]

    assert refused(body) == [
        'spec.template.spec.volumes[1].name: Duplicate value: "v"',
        'spec.template.spec.containers[1].name: Duplicate value: "main"',
    ]


def test_the_selector_of_a_deployment_is_immutable() -> None:
    new = samples.deployment(selector={"matchLabels": {"app": "new"}})
    new["spec"]["template"]["metadata"]["labels"] = {"app": "new"}

    assert refused(new, samples.deployment()) == [
        'spec.selector: Invalid value: {"matchLabels":{"app":"new"}}: field is immutable'
    ]


def _service(**spec: Any) -> dict[str, Any]:
    ports = {"ports": [{"port": 80}]}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {**ports, **spec},
    }


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"ports": []}, ["spec.ports: Required value"]),
        ({"ports": [], "clusterIP": "None"}, []),
        ({"type": "ExternalName"}, ["spec.externalName: Required value"]),
        (
            {"ports": [{"port": 0}]},
            [
                "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
                "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, "
                "inclusive",
            ],
        ),
        (
            {"ports": [{"port": 1}, {"port": 2, "name": "b"}]},
            ["spec.ports[0].name: Required value"],
        ),
        (
            {"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]},
            ['spec.ports[1]: Duplicate value: {"port":1,"protocol":"TCP"}'],
        ),
        (
            {"ports": [{"port": 1, "nodePort": 30000}]},
            [
                "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
            ],
        ),
        (
            {"type": "Magic"},
            [
                'spec.type: Unsupported value: "Magic": supported values: "ClusterIP", '
                '"ExternalName", "LoadBalancer", "NodePort"'
            ],
        ),
    ],
)
def test_services(spec: dict[str, Any], expected: list[str]) -> None:
    assert refused(_service(**spec)) == expected


def test_the_address_of_a_service_may_not_change() -> None:
    old = _service(clusterIP="10.0.0.1", clusterIPs=["10.0.0.1"])
    new = _service(clusterIP="10.0.0.250", clusterIPs=["10.0.0.1"])

    assert refused(new, old) == [
        'spec.clusterIPs[0]: Invalid value: ["10.0.0.250"]: may not change once set'
    ]


def test_immutable_config_maps_and_secrets() -> None:
    old = {**samples.config_map(a="1"), "immutable": True}
    new = {**samples.config_map(a="2"), "immutable": True}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "type": "a/b"}

    assert refused(new, old) == [
        "data: Forbidden: field is immutable when `immutable` is set",
    ]
    assert refused(samples.config_map(a="1"), old) == [
        "immutable: Forbidden: field is immutable when `immutable` is set",
    ]
    assert refused({**secret, "type": "c/d"}, secret) == [
        'type: Invalid value: "c/d": field is immutable'
    ]


def test_keys_and_sizes_of_data() -> None:
    assert "data[bad key]: Invalid value" in refused(samples.config_map(**{"bad key": ""}))[0]
    assert "Too long" in refused(samples.config_map(a="x" * (1024 * 1024 + 1)))[0]
    tls = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "type": "kubernetes.io/tls",
    }
    assert refused(tls) == [
        "data[tls.crt]: Required value",
        "data[tls.key]: Required value",
    ]


def test_a_running_pod_changes_its_image_only() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [_C]},
    }
    image = copy.deepcopy(pod)
    image["spec"]["containers"][0]["image"] = "other"
    command = copy.deepcopy(pod)
    command["spec"]["containers"][0]["command"] = ["x"]

    assert refused(image, pod) == []
    assert refused(command, pod)[0].startswith("spec: Forbidden: pod updates may not change")


def test_what_a_stateful_set_and_a_job_keep() -> None:
    template = samples.deployment()["spec"]["template"]
    selector = {"matchLabels": {"app": "web"}}
    stateful = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "s"},
        "spec": {"serviceName": "a", "selector": selector, "template": template},
    }
    moved = copy.deepcopy(stateful)
    moved["spec"]["serviceName"] = "b"
    scaled = copy.deepcopy(stateful)
    scaled["spec"]["replicas"] = 5
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [_C]}}},
    }
    changed = copy.deepcopy(job)
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "other"

    assert refused(scaled, stateful) == []
    assert refused(moved, stateful)[0].startswith("spec: Forbidden: updates to statefulset spec")
    assert refused(changed, job)[0].startswith("spec.template: Invalid value: ")
    job["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    assert refused(job) == [
        'spec.template.spec.restartPolicy: Unsupported value: "Always": supported values: '
        '"OnFailure", "Never"'
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            {
                "apiVersion": "networking.k8s.io/v1",
                "kind": "Ingress",
                "spec": {"rules": [{"http": {"paths": [{"path": "/", "backend": {}}]}}]},
            },
            "spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified",
        ),
        (
            {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"},
            "either `defaultBackend` or `rules` must be specified",
        ),
        (
            {
                "apiVersion": "autoscaling/v2",
                "kind": "HorizontalPodAutoscaler",
                "spec": {
                    "minReplicas": 5,
                    "maxReplicas": 2,
                    "scaleTargetRef": {"kind": "Deployment", "name": "d"},
                },
            },
            "spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`",
        ),
        (
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "spec": {"minAvailable": 1, "maxUnavailable": 1},
            },
            "minAvailable and maxUnavailable cannot be both set",
        ),
        (
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "Role",
                "rules": [{"apiGroups": [""], "resources": ["pods"]}],
            },
            "rules[0].verbs: Required value: verbs must contain at least one value",
        ),
        (
            {"apiVersion": "batch/v1", "kind": "CronJob", "spec": {"schedule": "* * *"}},
            "expected exactly 5 fields, found 3",
        ),
        (
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "spec": {"resources": {"requests": {"storage": "1Gi"}}},
            },
            "spec.accessModes: Required value: at least 1 access mode is required",
        ),
    ],
)
def test_other_kinds(body: dict[str, Any], expected: str) -> None:
    found = refused({**body, "metadata": {"name": "n"}})

    assert any(expected in each for each in found)


def test_owner_references_are_complete_and_have_one_controller() -> None:
    body = samples.config_map(a="1")
    owner = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "o",
        "uid": "u",
        "controller": True,
    }
    body["metadata"]["ownerReferences"] = [owner, {**owner, "uid": ""}]

    found = refused(body)

    assert 'metadata.ownerReferences[1].uid: Invalid value: "": must not be empty' in found
    assert any("Only one reference can have Controller set to true" in each for each in found)
