"""What may not change once an object is there, with the values and diffs real servers show."""

import copy
from typing import Any

import pytest

import schema_samples as samples
from kube_sandbox.apimachinery.validation import validator

IMMUTABLE = "field is immutable"


def refused(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    found = validator.check(samples.of(old), samples.stored(new), samples.stored(old))
    return [str(cause) for cause in found]


def changed(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy with another value at a path such as ``spec.containers.0.image``."""
    new = copy.deepcopy(body)
    *steps, last = path.split(".")
    place: Any = new
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
    if value is None:
        del place[last]
    else:
        place[int(last) if isinstance(place, list) else last] = value
    return new


def named(api_version: str, kind: str, **rest: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **rest}


POD = named(
    "v1",
    "Pod",
    spec={
        "nodeName": "n1",
        "activeDeadlineSeconds": 100,
        "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute"}],
        "containers": [
            {"name": "c", "image": "nginx:1", "env": [{"name": "A", "value": "<b>"}]},
        ],
    },
)
JOB = named(
    "batch/v1",
    "Job",
    spec={
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "nginx:1"}]},
        }
    },
)
CLAIM = named(
    "v1",
    "PersistentVolumeClaim",
    spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.containers.0.image", "nginx:2"),
        ("spec.activeDeadlineSeconds", 50),
        ("spec.tolerations.0.tolerationSeconds", 9),
        ("spec.tolerations.1", {"key": "b", "operator": "Exists"}),
        ("metadata.labels", {"a": "b"}),
    ],
)
def test_what_may_change_in_a_pod(path: str, value: Any) -> None:
    old = copy.deepcopy(POD)
    if path == "spec.tolerations.1":
        new = copy.deepcopy(POD)
        new["spec"]["tolerations"].append(value)
    else:
        new = changed(old, path, value)

    assert refused(old, new) == []


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (
            "spec.containers.0.env.0.value",
            "2",
            """@@ -13,7 +13,7 @@
       "Env": [
         {
           "Name": "A",
-          "Value": "\\u003cb\\u003e",
+          "Value": "2",
           "ValueFrom": null
         }
       ],
""",
        ),
        (
            "spec.hostNetwork",
            True,
            """@@ -50,7 +50,7 @@
   "AutomountServiceAccountToken": null,
   "NodeName": "n1",
   "SecurityContext": {
-    "HostNetwork": false,
+    "HostNetwork": true,
     "HostPID": false,
     "HostIPC": false,
     "ShareProcessNamespace": null,
""",
        ),
    ],
)
def test_the_rest_of_a_pod_is_refused_with_the_difference(
    path: str, value: Any, expected: str
) -> None:
    found = refused(POD, changed(POD, path, value))

    head = (
        "spec: Forbidden: pod updates may not change fields other than "
        "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
        "`spec.tolerations` (only additions to existing tolerations),"
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously "
        "negative)\n"
    )
    assert found == [head + expected]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (
            "spec.containers",
            [*POD["spec"]["containers"], {"name": "d", "image": "x"}],
            "spec.containers: Forbidden: pod updates may not add or remove containers",
        ),
        (
            "spec.activeDeadlineSeconds",
            101,
            "spec.activeDeadlineSeconds: Invalid value: 101: must be less than or equal to "
            "previous value",
        ),
        (
            "spec.tolerations",
            [],
            "spec.tolerations: Forbidden: existing toleration can not be modified except its "
            "tolerationSeconds",
        ),
    ],
)
def test_pods_have_rules_of_their_own(path: str, value: Any, expected: str) -> None:
    assert refused(POD, changed(POD, path, value)) == [expected]


def test_the_template_of_a_job_is_shown_as_the_server_holds_it() -> None:
    (found,) = refused(JOB, changed(JOB, "spec.template.spec.containers.0.image", "nginx:2"))

    assert found.startswith(
        'spec.template: Invalid value: {"labels":{"a":"b"},"Spec":{"Volumes":null,'
        '"InitContainers":null,"Containers":[{"Name":"c","Image":"nginx:2","Command":null,'
    )
    assert '"DNSPolicy":"ClusterFirst"' in found
    assert found.endswith("}}: field is immutable")


def test_a_job_that_never_ran_may_be_scheduled_elsewhere() -> None:
    suspended = changed(JOB, "spec.suspend", True)
    elsewhere = changed(suspended, "spec.template.spec.nodeSelector", {"disk": "ssd"})
    another = changed(suspended, "spec.template.spec.containers.0.image", "nginx:2")
    running = changed(suspended, "status.startTime", samples.NOW)

    assert refused(suspended, elsewhere) == []
    assert len(refused(suspended, another)) == 1
    assert len(refused(running, changed(elsewhere, "status.startTime", samples.NOW))) == 1


@pytest.mark.parametrize(
    ("mode", "parallelism", "expected"),
    [
        ("NonIndexed", 4, ["spec.completions: Invalid value: 4: field is immutable"]),
        ("Indexed", 4, []),
        (
            "Indexed",
            2,
            [
                "spec.completions: Invalid value: 4: can only be modified in tandem with "
                "spec.parallelism"
            ],
        ),
    ],
)
def test_completions_of_a_job(mode: str, parallelism: int, expected: list[str]) -> None:
    old = changed(changed(JOB, "spec.completionMode", mode), "spec.completions", 2)
    new = changed(changed(old, "spec.completions", 4), "spec.parallelism", parallelism)

    assert refused(old, new) == expected


def test_a_claim_is_refused_with_the_difference() -> None:
    assert refused(CLAIM, changed(CLAIM, "spec.accessModes", ["ReadOnlyMany"])) == [
        """spec: Forbidden: spec is immutable after creation except resources.requests and \
volumeAttributesClassName for bound claims
@@ -1,6 +1,6 @@
 {
   "AccessModes": [
-    "ReadWriteOnce"
+    "ReadOnlyMany"
   ],
   "Selector": null,
   "Resources": {
"""
    ]


def test_a_bound_claim_may_grow_and_not_shrink() -> None:
    bound = {**CLAIM, "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
    size = "spec.resources.requests.storage"

    assert refused(bound, changed(bound, size, "2Gi")) == []
    assert refused(bound, changed(bound, size, "500Mi")) == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    ]
    assert refused(CLAIM, changed(CLAIM, "spec.volumeName", "pv-1")) == []


BINDING = named(
    "rbac.authorization.k8s.io/v1",
    "RoleBinding",
    roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"},
)
VOLUME = named(
    "v1",
    "PersistentVolume",
    spec={
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/a"},
    },
)


@pytest.mark.parametrize(
    ("body", "path", "value", "expected"),
    [
        (
            BINDING,
            "roleRef.name",
            "b",
            'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role",'
            '"Name":"b"}: cannot change roleRef',
        ),
        (
            named("storage.k8s.io/v1", "StorageClass", provisioner="a/b"),
            "provisioner",
            "c/d",
            "provisioner: Forbidden: updates to provisioner are forbidden.",
        ),
        (
            named("storage.k8s.io/v1", "StorageClass", provisioner="a/b"),
            "volumeBindingMode",
            "WaitForFirstConsumer",
            'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
        ),
        (
            named("scheduling.k8s.io/v1", "PriorityClass", value=1),
            "value",
            2,
            "value: Forbidden: may not be changed in an update.",
        ),
        (
            named("networking.k8s.io/v1", "IngressClass", spec={"controller": "a.io/b"}),
            "spec.controller",
            "c.io/d",
            'spec.controller: Invalid value: "c.io/d": field is immutable',
        ),
        (
            named("discovery.k8s.io/v1", "EndpointSlice", addressType="IPv4", endpoints=[]),
            "addressType",
            "IPv6",
            'addressType: Invalid value: "IPv6": field is immutable',
        ),
        (
            named("apps/v1", "ControllerRevision", revision=1, data={"a": 1}),
            "data",
            {"a": 2},
            'data: Invalid value: {"a":2}: field is immutable',
        ),
    ],
)
def test_other_kinds(body: dict[str, Any], path: str, value: Any, expected: str) -> None:
    assert refused(body, changed(body, path, value)) == [expected]


def test_the_source_of_a_volume_is_refused_with_the_difference() -> None:
    (found,) = refused(VOLUME, changed(VOLUME, "spec.hostPath.path", "/b"))

    assert found.startswith(
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after "
        "creation\n@@ "
    )
    assert '-    "Path": "/a",\n+    "Path": "/b",\n' in found


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"hostPath": None}, ["spec: Required value: must specify a volume type"]),
        (
            {"nfs": {"server": "s", "path": "/p"}},
            ["spec.nfs: Forbidden: may not specify more than 1 volume type"],
        ),
        (
            {"capacity": {}},
            [
                "spec.capacity: Required value",
                'spec.capacity: Unsupported value: {}: supported values: "storage"',
            ],
        ),
        ({"accessModes": []}, ["spec.accessModes: Required value"]),
    ],
)
def test_volumes_of_a_cluster(change: dict[str, Any], expected: list[str]) -> None:
    spec = {key: value for key, value in {**VOLUME["spec"], **change}.items() if value is not None}
    body = {**VOLUME, "spec": spec}
    found = validator.check(samples.of(body), samples.stored(body), None)

    assert [str(cause) for cause in found] == expected


def test_the_rest_of_a_stateful_set_is_refused() -> None:
    body = samples.deployment()
    body["kind"] = "StatefulSet"
    body["spec"]["serviceName"] = "a"

    assert refused(body, changed(body, "spec.serviceName", "b")) == [
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', "
        "'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
        "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
    ]


def test_the_class_of_a_balancer_is_immutable() -> None:
    spec = {"type": "LoadBalancer", "ports": [{"port": 80}], "loadBalancerClass": "a/b"}
    old = named("v1", "Service", spec=spec)

    assert refused(old, changed(old, "spec.loadBalancerClass", "c/d")) == [
        'spec.loadBalancerClass: Invalid value: "c/d": may not change once set'
    ]
