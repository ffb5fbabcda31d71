"""What users do not want compared is left out, and nothing else."""

import copy

import pytest

from volary.manifests.drift import ignoring
from volary.model import drift_rules, json
from volary.model.objects import manifest

WANTED: json.JsonObject = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "annotations": {"a/b": "1"}},
    "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "x", "image": "x:1"}]}}},
}
KEY = manifest.ResourceKey("apps", "Deployment", "shop", "web")


def live_object() -> json.JsonObject:
    live = copy.deepcopy(WANTED)
    live["spec"]["replicas"] = 5
    live["spec"]["template"]["spec"]["containers"][0]["image"] = "x:2"
    live["metadata"]["annotations"]["a/b"] = "2"
    scaler = {
        "manager": "scaler",
        "operation": "Update",
        "apiVersion": "apps/v1",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
    }
    live["metadata"]["managedFields"] = [scaler]
    return live


def paths(*rules: drift_rules.IgnoredDifference) -> list[str]:
    return [one.shown_path for one in ignoring.compare(WANTED, live_object(), rules)]


IMAGE = 'spec.template.spec.containers[name="x"].image'
ANNOTATION = "metadata.annotations.a/b"


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        (drift_rules.IgnoredDifference(), [ANNOTATION, "spec.replicas", IMAGE]),
        (drift_rules.IgnoredDifference(json_pointers=("/spec/replicas",)), [ANNOTATION, IMAGE]),
        (drift_rules.IgnoredDifference(json_pointers=("/spec",)), [ANNOTATION]),
        (
            drift_rules.IgnoredDifference(json_pointers=("/metadata/annotations/a~1b",)),
            ["spec.replicas", IMAGE],
        ),
        (
            drift_rules.IgnoredDifference(
                json_pointers=("/spec/template/spec/containers/0/image", "/spec/nothing/0")
            ),
            [ANNOTATION, "spec.replicas"],
        ),
        (drift_rules.IgnoredDifference(managed_fields_managers=("scaler",)), [ANNOTATION, IMAGE]),
        (
            drift_rules.IgnoredDifference(managed_fields_managers=("else",)),
            [ANNOTATION, "spec.replicas", IMAGE],
        ),
    ],
)
def test_pointers_and_managers_leave_out_fields(
    rule: drift_rules.IgnoredDifference, left: list[str]
) -> None:
    assert paths(rule) == left


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        (drift_rules.IgnoredDifference(), False),
        (drift_rules.IgnoredDifference(group="apps"), True),
        (drift_rules.IgnoredDifference(group="*"), True),
        (drift_rules.IgnoredDifference(group="apps", kind="StatefulSet"), False),
        (drift_rules.IgnoredDifference(group="apps", kind="Deployment", name="web"), True),
        (drift_rules.IgnoredDifference(group="apps", kind="Deployment", name="we"), False),
        (drift_rules.IgnoredDifference(group="apps", namespace="shop"), True),
        (drift_rules.IgnoredDifference(group="apps", namespace="other"), False),
    ],
)
def test_a_rule_is_for_the_objects_that_it_names(
    rule: drift_rules.IgnoredDifference, holds: bool
) -> None:
    assert bool(ignoring.for_object((rule,), KEY)) is holds


def test_an_annotation_of_pipecd_leaves_out_an_object() -> None:
    marked = copy.deepcopy(WANTED)
    marked["metadata"]["annotations"][ignoring.IGNORE] = "true"

    assert ignoring.is_ignored(marked, None)
    assert ignoring.is_ignored(WANTED, marked)
    assert not ignoring.is_ignored(WANTED, live_object())
