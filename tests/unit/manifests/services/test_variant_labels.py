from collections.abc import Callable

import pytest

from volary.manifests.services import variant_labels
from volary.manifests.workloads import workloads
from volary.model import applications, errors
from volary.model.objects import manifest
from volary.model.pipeline import variant

LABEL = variant.VariantLabel()
Read = Callable[[str], manifest.Manifest]


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("", "missing spec.selector"),
        ("selector: {app: web}", "missing pipecd.dev/variant key in spec.selector"),
        (
            "selector: {pipecd.dev/variant: canary}",
            "require primary but got canary for pipecd.dev/variant key in spec.selector",
        ),
    ],
)
def test_a_service_that_cannot_be_switched_is_refused(
    one: Read, selector: str, message: str
) -> None:
    item = one(f"apiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec: {{{selector}}}\n")

    with pytest.raises(errors.UserError, match=f"service validation failed: {message}"):
        variant_labels.check_service(item, LABEL)


def test_a_service_is_switched_in_its_selector_only(simple: list[manifest.Manifest]) -> None:
    service = simple[2]
    variant_labels.check_service(service, LABEL)
    switched = variant_labels.select(service, LABEL.key, "canary")

    assert variant_labels.selected(switched.body, LABEL.key) == "canary"
    assert variant_labels.selected(service.body, LABEL.key) == "primary"
    assert switched.body["spec"]["ports"] == service.body["spec"]["ports"]


def test_workloads_without_the_label_are_all_named(
    simple: list[manifest.Manifest], one: Read
) -> None:
    other = one("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: other}\nspec: {}\n")
    chosen = workloads.find([*simple, other], ())

    with pytest.raises(errors.UserError) as caught:
        variant_labels.check_workloads(chosen, LABEL)
    assert [each.message for each in caught.value.problems] == [
        'missing "pipecd.dev/variant: primary" in selector of workload other'
    ]
    variant_labels.check_workloads(
        [variant_labels.label_workload(other, LABEL.key, "primary")], LABEL
    )


def test_labels_of_another_shape_are_refused(one: Read) -> None:
    item = one(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"
        "spec: {selector: {matchLabels: [x]}}\n"
    )

    with pytest.raises(errors.UserError, match=r"spec\.selector\.matchLabels must be an object"):
        variant_labels.label_workload(item, LABEL.key, "primary")


def test_without_references_deployments_carry_variants_else_stateful_sets(one: Read) -> None:
    text = "apiVersion: apps/v1\nkind: {}\nmetadata: {{name: a}}\n"
    items = [one(text.format(kind)) for kind in ("StatefulSet", "Deployment", "DaemonSet")]

    assert [item.kind for item in workloads.find(items, ())] == ["Deployment"]
    assert [item.kind for item in workloads.find(items[::2], ())] == ["StatefulSet"]
    assert workloads.find(items[2:], ()) == []


def test_a_manifest_that_two_references_match_is_found_once(one: Read) -> None:
    items = [one("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n")]
    reference = applications.ObjectReference

    assert workloads.find(items, (reference("", "a"), reference("Deployment", ""))) == items
