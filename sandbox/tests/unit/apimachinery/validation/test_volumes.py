"""Volumes, what mounts them, and what a container asks of its pod: refused as upstream does."""

from typing import Any

import pytest

import schema_samples as samples
from kube_sandbox.apimachinery.validation import validator

TEMPLATE = "spec.template.spec."
MODE = "must be a number between 0 and 0777 (octal), both inclusive"
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


def refused(body: dict[str, Any]) -> list[str]:
    found = validator.check(samples.of(body), samples.stored(body), None)
    return [str(cause).removeprefix(TEMPLATE) for cause in found]


def with_volumes(*volumes: dict[str, Any], **container: Any) -> dict[str, Any]:
    body = samples.containers({"name": "main", "image": "nginx", **container})
    body["spec"]["template"]["spec"]["volumes"] = list(volumes)
    return body


@pytest.mark.parametrize(
    "source",
    [
        {},
        {"emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        {"hostPath": {"path": "/var", "type": "DirectoryOrCreate"}},
        {"configMap": {"name": "c", "optional": True, "defaultMode": 0o600}},
        {"secret": {"secretName": "s", "items": [{"key": "a", "path": "b/c", "mode": 0}]}},
        {"persistentVolumeClaim": {"claimName": "data", "readOnly": True}},
        {"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
        {"nfs": {"server": "files", "path": "/export"}},
        {"csi": {"driver": "secrets-store.csi.k8s.io"}},
        {"image": {"reference": "registry.example/model:1"}},
    ],
)
def test_good_volumes_are_accepted(source: dict[str, Any]) -> None:
    assert refused(with_volumes({"name": "v", **source})) == []


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({"emptyDir": {}}, ["volumes[0].name: Required value"]),
        (
            {"name": "Bad_Name", "emptyDir": {}},
            [f'volumes[0].name: Invalid value: "Bad_Name": {LABEL}'],
        ),
        (
            {"name": "v", "emptyDir": {}, "configMap": {"name": "c"}},
            ["volumes[0].configMap: Forbidden: may not specify more than 1 volume type"],
        ),
        (
            {"name": "v", "configMap": {"name": "c"}, "emptyDir": {}, "secret": {}},
            [
                "volumes[0].secret: Forbidden: may not specify more than 1 volume type",
                "volumes[0].configMap: Forbidden: may not specify more than 1 volume type",
            ],
        ),
        ({"name": "v", "configMap": {}}, ["volumes[0].configMap.name: Required value"]),
        ({"name": "v", "secret": {}}, ["volumes[0].secret.secretName: Required value"]),
        (
            {"name": "v", "persistentVolumeClaim": {}},
            ["volumes[0].persistentVolumeClaim.claimName: Required value"],
        ),
        (
            {"name": "v", "emptyDir": {"sizeLimit": "-1Gi"}},
            [
                "volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid "
                "resource quantity"
            ],
        ),
        ({"name": "v", "hostPath": {}}, ["volumes[0].hostPath.path: Required value"]),
        (
            {"name": "v", "hostPath": {"path": "/a/../b", "type": "Disk"}},
            [
                "volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
                'volumes[0].hostPath.type: Unsupported value: "Disk": supported values: "", '
                '"BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", '
                '"FileOrCreate", "Socket"',
            ],
        ),
        (
            {"name": "v", "configMap": {"name": "c", "defaultMode": 512}},
            [f"volumes[0].configMap.defaultMode: Invalid value: 512: {MODE}"],
        ),
        (
            {"name": "v", "secret": {"secretName": "s", "items": [{"path": "/a", "mode": -1}]}},
            [
                "volumes[0].secret.items[0].key: Required value",
                'volumes[0].secret.items[0].path: Invalid value: "/a": must be a relative path',
                f"volumes[0].secret.items[0].mode: Invalid value: -1: {MODE}",
            ],
        ),
        (
            {"name": "v", "configMap": {"name": "c", "items": [{"key": "a", "path": "..b"}]}},
            [
                'volumes[0].configMap.items[0].path: Invalid value: "..b": must not start with '
                "'..'"
            ],
        ),
        (
            {"name": "v", "downwardAPI": {"items": [{"path": "n"}]}},
            [
                "volumes[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef is "
                "required"
            ],
        ),
        (
            {
                "name": "v",
                "downwardAPI": {
                    "items": [{"path": "n", "fieldRef": {"fieldPath": "status.podIP"}}]
                },
            },
            [
                'volumes[0].downwardAPI.fieldRef.fieldPath: Unsupported value: "status.podIP": '
                'supported values: "metadata.annotations", "metadata.labels", "metadata.name", '
                '"metadata.namespace", "metadata.uid"'
            ],
        ),
        (
            {
                "name": "v",
                "downwardAPI": {
                    "items": [{"path": "n", "resourceFieldRef": {"resource": "limits.cpu"}}]
                },
            },
            ["volumes[0].downwardAPI.resourceFieldRef.containerName: Required value"],
        ),
        (
            {
                "name": "v",
                "projected": {
                    "sources": [
                        {"configMap": {"items": [{"key": "a", "path": "x"}]}},
                        {"secret": {"name": "s", "items": [{"key": "b", "path": "x"}]}},
                        {"configMap": {"name": "c"}, "secret": {"name": "s"}},
                        {"serviceAccountToken": {"path": "t", "expirationSeconds": 60}},
                    ]
                },
            },
            [
                "volumes[0].projected.sources[0].configMap.name: Required value",
                'volumes[0].projected: Invalid value: "s": conflicting duplicate paths',
                "volumes[0].projected.sources[2]: Forbidden: may not specify more than 1 volume "
                "type",
                "volumes[0].projected.sources[3].serviceAccountToken.expirationSeconds: Invalid "
                "value: 60: may not specify a duration less than 10 minutes",
            ],
        ),
        (
            {"name": "v", "nfs": {"path": "export"}},
            [
                "volumes[0].nfs.server: Required value",
                'volumes[0].nfs.path: Invalid value: "export": must be an absolute path',
            ],
        ),
        (
            {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            [
                "volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at "
                "least 1 access mode is required",
                "volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value",
            ],
        ),
    ],
)
def test_malformed_volumes(volume: dict[str, Any], expected: list[str]) -> None:
    assert refused(with_volumes(volume)) == expected


def test_a_volume_that_is_refused_cannot_be_mounted() -> None:
    mounted = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}

    assert refused(with_volumes({"name": "v", "configMap": {}}, **mounted)) == [
        "volumes[0].configMap.name: Required value",
        'containers[0].volumeMounts[0].name: Not found: "v"',
    ]


def test_a_refused_volume_leaves_its_name_to_the_next() -> None:
    assert refused(with_volumes({"name": "v", "configMap": {}}, {"name": "v"})) == [
        "volumes[0].configMap.name: Required value"
    ]


@pytest.mark.parametrize(
    ("mounts", "expected"),
    [
        ([{"name": "v", "mountPath": "/a", "subPath": "x"}], []),
        (
            [{"mountPath": "/a"}],
            [
                "volumeMounts[0].name: Required value",
                'volumeMounts[0].name: Not found: ""',
            ],
        ),
        ([{"name": "v"}], ["volumeMounts[0].mountPath: Required value"]),
        (
            [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/a"}],
            ['volumeMounts[1].mountPath: Invalid value: "/a": must be unique'],
        ),
        (
            [{"name": "v", "mountPath": "/a", "subPath": "../x"}],
            ["volumeMounts.subPath: Invalid value: \"../x\": must not contain '..'"],
        ),
        (
            [{"name": "v", "mountPath": "/a", "mountPropagation": "Bidirectional"}],
            [
                "volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is "
                "available only to privileged containers"
            ],
        ),
        (
            [{"name": "v", "mountPath": "/a", "recursiveReadOnly": "Enabled"}],
            [
                "volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly "
                "is true"
            ],
        ),
    ],
)
def test_mounts(mounts: list[dict[str, Any]], expected: list[str]) -> None:
    found = refused(with_volumes({"name": "v"}, volumeMounts=mounts))

    assert [cause.removeprefix("containers[0].") for cause in found] == expected


def test_devices_are_claims_in_block_mode() -> None:
    claim = {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}
    devices = [
        {"name": "disk", "devicePath": "/dev/a"},
        {"name": "v", "devicePath": "/dev/a"},
    ]

    assert refused(with_volumes(claim, {"name": "v"}, volumeDevices=devices)) == [
        'containers[0].volumeDevices[1].name: Invalid value: "v": can only use volume source type '
        "of PersistentVolumeClaim or Ephemeral for block mode",
        'containers[0].volumeDevices[1].devicePath: Invalid value: "/dev/a": must be unique',
    ]


def test_a_pod_of_a_stateful_set_mounts_its_claims() -> None:
    body = samples.deployment()
    body["kind"] = "StatefulSet"
    body["spec"] = {
        **{key: body["spec"][key] for key in ("selector", "template")},
        "serviceName": "web",
        "volumeClaimTemplates": [
            {
                "metadata": {"name": "data"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }
        ],
    }
    container = body["spec"]["template"]["spec"]["containers"][0]

    container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    assert refused(body) == []

    container["volumeMounts"] = [{"name": "other", "mountPath": "/data"}]
    assert refused(body) == ['containers[0].volumeMounts[0].name: Not found: "other"']


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ({"fieldRef": {"fieldPath": "metadata.labels['app']"}}, []),
        ({"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}, []),
        (
            {"fieldRef": {"fieldPath": "spec.replicas"}},
            [
                '.fieldRef.fieldPath: Invalid value: "spec.replicas": error converting fieldPath: '
                "field label not supported: spec.replicas"
            ],
        ),
        (
            {"fieldRef": {"fieldPath": "metadata.name['app']"}},
            ['.fieldRef: Invalid value: "metadata.name": does not support subscript'],
        ),
        (
            {"resourceFieldRef": {"resource": "limits.gpu"}},
            [
                '.resourceFieldRef.resource: Unsupported value: "limits.gpu": supported values: '
                '"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", '
                '"requests.ephemeral-storage", "requests.memory"'
            ],
        ),
        (
            {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}},
            [
                '.resourceFieldRef.divisor: Invalid value: "cpu": only divisor\'s values 1m and 1 '
                "are supported with the cpu resource"
            ],
        ),
        (
            {"configMapKeyRef": {"name": "c"}},
            [".configMapKeyRef.key: Required value"],
        ),
        (
            {"secretKeyRef": {"name": "s", "key": "a b"}},
            [
                '.secretKeyRef.key: Invalid value: "a b": a valid config key must consist of '
                "alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
                "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
            ],
        ),
    ],
)
def test_variables_from_elsewhere(variable: dict[str, Any], expected: list[str]) -> None:
    found = refused(with_volumes(env=[{"name": "A", "valueFrom": variable}]))

    assert [cause.removeprefix("containers[0].env[0].valueFrom") for cause in found] == expected


def test_variables_come_from_one_source() -> None:
    found = refused(with_volumes(envFrom=[{}, {"configMapRef": {}}, {"secretRef": {"name": "s"}}]))

    assert found == [
        'containers[0].envFrom[0]: Invalid value: "": must specify one of: `configMapRef` or '
        "`secretRef`",
        "containers[0].envFrom[1].configMapRef.name: Required value",
    ]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"accessModes": ["ReadWriteOnce", "Sometimes"]},
            [
                'spec.accessModes: Unsupported value: "Sometimes": supported values: '
                '"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'
            ],
        ),
        (
            {"accessModes": ["ReadWriteOncePod", "ReadOnlyMany"]},
            ["spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"],
        ),
        (
            {"resources": {"requests": {"storage": "0"}}},
            ['spec.resources[storage]: Invalid value: "0": must be greater than zero'],
        ),
    ],
)
def test_claims(spec: dict[str, Any], expected: list[str]) -> None:
    good = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    body = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c"},
        "spec": {**good, **spec},
    }

    assert refused(body) == expected
