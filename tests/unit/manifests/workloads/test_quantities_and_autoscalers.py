"""Numbers of resources, and what scales a workload."""

from decimal import Decimal

import pytest

from volary.manifests.workloads import autoscalers, config_references, quantities, workloads
from volary.model.objects import manifest


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("1", "1"),
        (1, "1"),
        (1.5, "1.5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-2", "-2"),
        ("1e3", "1000"),
        ("1E-3", "0.001"),
        ("1n", "0.000000001"),
        ("1u", "0.000001"),
        ("1m", "0.001"),
        ("2k", "2000"),
        ("2M", "2000000"),
        ("2G", "2000000000"),
        ("2T", "2000000000000"),
        ("2P", "2000000000000000"),
        ("2E", "2000000000000000000"),
        ("3Ki", "3072"),
        ("3Mi", "3145728"),
        ("3Gi", "3221225472"),
        ("3Ti", "3298534883328"),
        ("3Pi", "3377699720527872"),
        ("3Ei", "3458764513820540928"),
        ("0" * 63 + "1", "1"),
    ],
)
def test_a_quantity(written: object, expected: str) -> None:
    assert quantities.parse(written) == Decimal(expected)


@pytest.mark.parametrize(
    "written", [True, False, None, "", "x", "1 Gi", "1ki", [1], "0" * 64 + "1"]
)
def test_what_is_no_quantity(written: object) -> None:
    assert quantities.parse(written) is None


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("limits", "cpu"), True),
        (("spec", "requests", "memory"), True),
        (("emptyDir", "sizeLimit"), True),
        (("sizeLimit",), True),
        (("limits",), False),
        (("limits", "cpu", "x"), False),
        (("metadata", "name"), False),
        (("name",), False),
        ((), False),
    ],
)
def test_where_a_quantity_is_expected(path: tuple[str, ...], expected: bool) -> None:
    assert quantities.expected(path) is expected


def item(kind: str, namespace: str = "", version: str = "v1", **spec: object) -> manifest.Manifest:
    metadata = {"name": "web", "namespace": namespace}
    body = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
    return manifest.Manifest(body)


def scaler(
    kind: str = "HorizontalPodAutoscaler", namespace: str = "", **target: str
) -> manifest.Manifest:
    return item(kind, namespace, scaleTargetRef={"name": "web", **target})


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        (scaler(), True),
        (scaler(kind="HorizontalPodAutoscaler"), True),
        (scaler("ScaledObject"), True),
        # Only these two kinds scale anything.
        (scaler("Rollout"), False),
        (scaler(name="other"), False),
        (scaler(namespace="shop"), True),
        (scaler(namespace="other"), False),
        (item("HorizontalPodAutoscaler"), False),
    ],
)
def test_the_autoscaler_of_a_workload(candidate: manifest.Manifest, expected: bool) -> None:
    workload = item("Deployment", "shop", "apps/v1")

    assert (autoscalers.of(workload, [workload, candidate]) is candidate) is expected


def test_a_namespace_that_is_not_written_fits_any() -> None:
    assert autoscalers.is_for(scaler(namespace="shop"), item("Deployment"))
    assert not autoscalers.is_for(scaler(), item("StatefulSet"))


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        ("HorizontalPodAutoscaler", {}, (1, 1)),
        ("HorizontalPodAutoscaler", {"minReplicas": 2, "maxReplicas": 5}, (2, 5)),
        ("ScaledObject", {}, (0, 100)),
        ("ScaledObject", {"minReplicaCount": 3, "maxReplicaCount": 4}, (3, 4)),
    ],
)
def test_bounds(kind: str, spec: dict[str, int], expected: tuple[int, int]) -> None:
    found = item(kind, **spec)

    assert autoscalers.bounds(found) == expected
    changed = autoscalers.with_bounds(item(kind, other=1), 7, 9)
    assert autoscalers.bounds(changed) == (7, 9)
    assert changed.body["spec"]["other"] == 1


@pytest.mark.parametrize(
    ("kind", "version", "config", "secret"),
    [
        ("ConfigMap", "v1", True, False),
        ("Secret", "v1", True, True),
        ("Secret", "x.org/v1", False, False),
        ("ConfigMap", "x.org/v1", False, False),
        ("Pod", "v1", False, False),
    ],
)
def test_configuration(kind: str, version: str, config: bool, secret: bool) -> None:
    found = item(kind, version=version)

    assert config_references.is_config(found) is config
    assert config_references.is_secret(found) is secret


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"kind": "Pod", "spec": {"containers": []}}, ()),
        ({"spec": {"template": {"spec": {"a": 1}}}}, ("spec", "template")),
        (
            {"spec": {"jobTemplate": {"spec": {"template": {"spec": {"a": 1}}}}}},
            ("spec", "jobTemplate", "spec", "template"),
        ),
        ({"spec": {"template": {"spec": {}}}}, None),
        ({"kind": "ConfigMap"}, None),
    ],
)
def test_where_the_pod_template_is(body: dict[str, object], path: tuple[str, ...] | None) -> None:
    assert workloads.template_path(body) == path
    assert (workloads.pod_spec(body) is None) is (path is None)


def test_the_replicas_of_a_workload_and_which_kinds_have_variants() -> None:
    assert workloads.replicas({"spec": {}}) == 1
    assert workloads.replicas({"spec": {"replicas": 0}}) == 0
    assert workloads.has_replicas(item("StatefulSet", version="apps/v1"))
    assert workloads.has_replicas(item("Deployment", version="apps/v1"))
    assert not workloads.has_replicas(item("Deployment", version="x.org/v1"))
    assert not workloads.has_replicas(item("DaemonSet", version="apps/v1"))
