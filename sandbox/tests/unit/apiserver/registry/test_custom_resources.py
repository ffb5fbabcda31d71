"""From a CustomResourceDefinition to a kind and back."""

from typing import Any

import pytest

from fixed_clock import FixedClock
from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.registry import custom_resources, registry
from kube_sandbox.apiserver.storage import verbs

Json = dict[str, Any]
CRD = kinds.CUSTOM_RESOURCE_DEFINITION


def _schema(**properties: Json) -> Json:
    spec = {"type": "object", "properties": properties}
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}


def _definition() -> Json:
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == "v1",
            "schema": _schema(size={"type": "integer"}, mode={"type": "string", "default": "auto"}),
            "subresources": {"status": {}},
        }
        for name in ("v1beta1", "v1")
    ]
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": versions,
        },
    }


@pytest.fixture
def cluster() -> registry.Registry:
    found = registry.Registry(FixedClock())
    found.create(kinds.NAMESPACE, "", {"metadata": {"name": "a"}})
    found.create(CRD, "", _definition())
    return found


def test_a_definition_is_established_in_a_second_step(cluster: registry.Registry) -> None:
    told = cluster.get(CRD, "", "widgets.example.com")
    changes = cluster.storage.since(CRD.bucket, 100)

    conditions = {each["type"]: each["status"] for each in told["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert told["status"]["acceptedNames"]["kind"] == "Widget"
    assert [each.event for each in changes] == ["ADDED", "MODIFIED"]
    assert [each.version for each in cluster.served if each.custom] == ["v1", "v1beta1"]


def test_versions_are_sorted_as_kubernetes_does() -> None:
    names = ["v1alpha1", "other", "v2", "v1beta2", "v10", "v1beta10", "v1"]
    definition = _definition()
    template = definition["spec"]["versions"][1]
    definition["spec"]["versions"] = [
        {**template, "name": name, "storage": name == "v1"} for name in names
    ]

    found = custom_resources.served_kinds(definition)

    assert [each.version for each in found] == [
        "v10",
        "v2",
        "v1",
        "v1beta10",
        "v1beta2",
        "v1alpha1",
        "other",
    ]


def test_objects_are_stored_once_and_told_in_every_version(cluster: registry.Registry) -> None:
    beta, stable = (cluster.kind(f"example.com/{each}", "Widget") for each in ("v1beta1", "v1"))

    made = cluster.create(beta, "a", {"metadata": {"name": "w"}, "spec": {"size": 1, "junk": 2}})

    told = cluster.get(stable, "a", "w")
    assert made.body["apiVersion"] == "example.com/v1beta1"
    assert told["apiVersion"] == "example.com/v1"
    assert told["spec"] == {"size": 1, "mode": "auto"}
    assert cluster.storage.count("widgets.example.com") == 1


def test_updates_must_say_what_they_update(cluster: registry.Registry) -> None:
    kind = cluster.kind("example.com/v1", "Widget")
    cluster.create(kind, "a", {"metadata": {"name": "w"}, "spec": {"size": 1}})

    with pytest.raises(api_errors.StatusError, match="must be specified for an update"):
        cluster.update(kind, "a", "w", {"metadata": {"name": "w"}, "spec": {"size": 2}})


def test_deleting_a_definition_deletes_its_objects_first(cluster: registry.Registry) -> None:
    kind = cluster.kind("example.com/v1", "Widget")
    cluster.create(kind, "a", {"metadata": {"name": "free"}})
    held = {"name": "held", "finalizers": ["example.com/hold"]}
    cluster.create(kind, "a", {"metadata": held})

    marked = cluster.delete(CRD, "", "widgets.example.com")
    waiting = cluster.find(CRD, "", "widgets.example.com")
    left = [each["metadata"]["name"] for each in cluster.objects(kind)]
    cluster.patch(kind, "a", "held", {"metadata": {"finalizers": None}}, verbs.PatchType.MERGE)

    assert not marked.gone
    assert waiting is not None
    assert left == ["held"]
    assert cluster.find(CRD, "", "widgets.example.com") is None
    with pytest.raises(api_errors.StatusError):
        cluster.kind("example.com/v1", "Widget")
