"""A refusal of the cluster becomes something its author can act on."""

from volary.clusters.api import api_errors
from volary.clusters.apply import refusals
from volary.model import errors
from volary.model.objects import manifest

ITEM = manifest.Manifest(
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "shop", "namespace": "web"},
    },
    errors.Location("deployment.yaml", 1),
)


def worded(code: int, **body: object) -> errors.Problem:
    error = api_errors.translate(code, dict(body), what="patch deployments.apps web/shop")
    return refusals.problem_of(ITEM, error, cluster="us")


def test_a_conflict_says_who_owns_what() -> None:
    found = worded(
        409,
        reason="Conflict",
        message="Apply failed with 2 conflicts",
        details={
            "causes": [
                {
                    "reason": "FieldManagerConflict",
                    "message": 'conflict with "kubectl-scale" with subresource "scale"',
                    "field": ".spec.replicas",
                },
                {
                    "reason": "FieldManagerConflict",
                    "message": 'conflict with "helm"',
                    "field": ".metadata.labels.app",
                },
            ]
        },
    )

    assert found.message == (
        "Deployment web/shop on cluster us: helm owns .metadata.labels.app;"
        " kubectl-scale owns .spec.replicas"
    )
    assert "volary.dev/force-conflicts: enabled" in found.hint
    assert found.where.file == "deployment.yaml"


def test_an_immutable_field_is_named_with_the_way_out() -> None:
    found = worded(
        422,
        reason="Invalid",
        message='Deployment.apps "shop" is invalid: spec.selector: field is immutable',
        details={
            "causes": [
                {
                    "reason": "FieldValueInvalid",
                    "message": 'Invalid value: {"matchLabels":{}}: field is immutable',
                    "field": "spec.selector",
                }
            ]
        },
    )

    assert "spec.selector cannot be changed" in found.message
    assert "pipecd.dev/force-sync-by-replace: enabled" in found.hint


def test_a_missing_namespace_is_not_a_missing_object() -> None:
    missing = worded(404, reason="NotFound", message='namespaces "web" not found')

    assert missing.message == "namespace web does not exist on cluster us"
    assert "autoCreateNamespace" in missing.hint


def test_other_refusals_are_passed_on_with_the_object() -> None:
    found = refusals.problem_of(ITEM, errors.PermanentError("no"), cluster="us")

    assert found.message == "Deployment web/shop on cluster us: no"
