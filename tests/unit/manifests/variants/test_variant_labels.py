from collections.abc import Callable

import pytest

from volary.manifests.services import services
from volary.manifests.variants import variants
from volary.manifests.workloads import workloads
from volary.model import errors, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant

LABEL = variant.VariantLabel()
Read = Callable[[str], manifest.Manifest]


def test_a_service_is_switched_in_its_selector_only(simple: list[manifest.Manifest]) -> None:
    service = simple[2]
    switched = services.select(service, LABEL.key, "canary")

    selector = {**service.body["spec"]["selector"], LABEL.key: "canary"}
    assert switched.body["spec"]["selector"] == selector
    assert service.body["spec"]["selector"][LABEL.key] == "primary"
    assert switched.body["spec"]["ports"] == service.body["spec"]["ports"]


def test_labels_of_another_shape_are_refused(one: Read) -> None:
    item = one(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"
        "spec: {selector: {matchLabels: [x]}}\n"
    )

    with pytest.raises(errors.UserError, match=r"spec\.selector\.matchLabels must be an object"):
        variants.label_workload(item, LABEL.key, "primary")


def test_without_references_deployments_carry_variants_else_stateful_sets(one: Read) -> None:
    text = "apiVersion: apps/v1\nkind: {}\nmetadata: {{name: a}}\n"
    items = [one(text.format(kind)) for kind in ("StatefulSet", "Deployment", "DaemonSet")]

    assert [item.kind for item in workloads.find(items, ())] == ["Deployment"]
    assert [item.kind for item in workloads.find(items[::2], ())] == ["StatefulSet"]
    assert workloads.find(items[2:], ()) == []


def test_a_manifest_that_two_references_match_is_found_once(one: Read) -> None:
    items = [one("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n")]
    reference = routing_options.ObjectReference

    assert workloads.find(items, (reference("", "a"), reference("Deployment", ""))) == items


def test_a_reference_with_a_name_means_that_workload_alone(one: Read) -> None:
    text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {}}}\n"
    items = [one(text.format(name)) for name in ("shop", "worker")]
    reference = routing_options.ObjectReference

    assert workloads.find(items, (reference("", "worker"),)) == items[1:]
    assert workloads.find(items, (reference("Deployment", ""),)) == items
