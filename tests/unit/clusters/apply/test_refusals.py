"""A refusal of the cluster becomes something its author can act on."""

import pytest

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


RBAC = "rbac.authorization.k8s.io/v1"


def worded(code: int, item: manifest.Manifest = ITEM, **body: object) -> errors.Problem:
    error = api_errors.translate(code, dict(body), what="patch deployments.apps web/shop")
    return refusals.problem_of(item, error, cluster="us")


def immutable(
    api_version: str, kind: str, field: str, why: str = "field is immutable"
) -> errors.Problem:
    """Return what is said about a value as long as a pod template, printed by the server."""
    item = manifest.Manifest(
        {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "namespace": "web"}}
    )
    message = f"Invalid value: core.PodTemplateSpec{{{'Name: nil, ' * 160}}}: {why}"
    cause = {"reason": "FieldValueInvalid", "message": message, "field": field}
    text = f'{kind} "x" is invalid: {field}: {message}'
    return worded(422, item, reason="Invalid", message=text, details={"causes": [cause]})


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


def test_of_many_fields_in_conflict_every_owner_is_named_and_the_first_fields() -> None:
    def cause(field: str, manager: str) -> dict[str, str]:
        message = f'conflict with "{manager}"'
        return {"reason": "FieldManagerConflict", "message": message, "field": field}

    causes = [cause(f".data.k{number:03}", "helm") for number in range(600)]
    body = {"causes": [*causes, cause(".data.last", "operator")]}

    found = worded(409, reason="Conflict", message="Apply failed", details=body)

    names = ", ".join(f".data.k{number:03}" for number in range(8))
    assert found.message == (
        f"Deployment web/shop on cluster us: helm owns {names} and 592 more;"
        " operator owns .data.last"
    )


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


def test_fields_that_are_wrong_otherwise_are_not_called_immutable() -> None:
    causes = [
        {"field": "spec.selector", "message": "field is immutable"},
        {"field": "spec.replicas", "message": "Invalid value: -1: must not be below 0"},
    ]
    said = ", ".join(f"{cause['field']}: {cause['message']}" for cause in causes)
    found = worded(422, reason="Invalid", message=said, details={"causes": causes})

    assert "on cluster us: spec.selector cannot be changed" in found.message


def test_a_missing_namespace_is_not_a_missing_object() -> None:
    missing = worded(404, reason="NotFound", message='namespaces "web" not found')

    assert missing.message == "namespace web does not exist on cluster us"
    assert "autoCreateNamespace" in missing.hint


def test_other_refusals_are_passed_on_with_the_object() -> None:
    found = refusals.problem_of(ITEM, errors.PermanentError("no"), cluster="us")

    assert found.message == "Deployment web/shop on cluster us: no"


def test_a_jobs_template_is_recognised_behind_its_whole_value() -> None:
    found = immutable("batch/v1", "Job", "spec.template")

    assert (
        found.message == "Job web/x on cluster us: spec.template cannot be changed on a live object"
    )
    assert "force-sync-by-replace" in found.hint
    assert "runs it again" in found.hint


def test_a_role_that_a_binding_refers_to_cannot_be_changed() -> None:
    found = immutable(RBAC, "RoleBinding", "roleRef", "cannot change roleRef")

    assert "roleRef cannot be changed on a live object" in found.message
    assert "force-sync-by-replace" in found.hint


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("v1", "PersistentVolumeClaim"),
        ("v1", "PersistentVolume"),
        ("v1", "Namespace"),
        ("v1", "Service"),
        ("apps/v1", "StatefulSet"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("postgresql.cnpg.io/v1", "Cluster"),
    ],
)
def test_no_hint_has_what_holds_data_deleted(api_version: str, kind: str) -> None:
    found = immutable(api_version, kind, "spec.storage")

    assert "spec.storage cannot be changed" in found.message
    assert found.hint
    assert "force-sync-by-replace" not in found.hint


def test_a_claim_that_cannot_grow_gets_no_permission_and_is_not_deleted() -> None:
    claim = manifest.Manifest(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "web"},
        }
    )
    found = worded(
        403,
        claim,
        reason="Forbidden",
        message='persistentvolumeclaims "data" is forbidden: only dynamically provisioned pvc can'
        " be resized and the storageclass that provisions the pvc must support resize",
    )

    assert "allowVolumeExpansion" in found.hint
    assert "Role" not in found.hint


@pytest.mark.parametrize(
    ("why", "hint"),
    [
        ("exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1", "ResourceQuota"),
        ("failed quota: q: must specify requests.cpu for: c", "ResourceQuota"),
        ("maximum cpu usage per Container is 2, but limit is 3", ""),
        ('admission webhook "p.example.com" denied the request: no', ""),
    ],
)
def test_a_403_that_is_not_about_permissions_asks_for_none(why: str, hint: str) -> None:
    found = worded(403, reason="Forbidden", message=f'pods "a" is forbidden: {why}')

    assert why in found.message
    assert "RoleBinding" not in found.hint
    assert (hint in found.hint) if hint else not found.hint


def test_a_namespace_that_is_going_is_waited_for() -> None:
    found = worded(
        403,
        reason="Forbidden",
        message="unable to create new content in namespace web because it is being terminated",
        details={"causes": [{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]},
    )

    assert found.hint.startswith("wait until namespace web is gone")


@pytest.mark.parametrize(
    ("where", "hint"),
    [
        ('in the namespace "web"', "by a Role and a RoleBinding"),
        ("at the cluster scope", "by a ClusterRole and a ClusterRoleBinding"),
    ],
)
def test_a_missing_permission_says_by_what_it_is_given(where: str, hint: str) -> None:
    message = f'deployments.apps "shop" is forbidden: User "u" cannot patch resource "d" {where}'
    found = worded(403, reason="Forbidden", message=message)

    assert found.hint.endswith(hint)
