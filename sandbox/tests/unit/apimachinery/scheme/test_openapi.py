"""The OpenAPI documents: what kubectl looks for in them."""

import json
from typing import Any

from kube_sandbox.apimachinery.scheme import catalog, openapi, schema, types

_DEPLOYMENTS = openapi.Resource("deployments", "Deployment", True, (), ("status", "scale"))


def _document() -> dict[str, Any]:
    content = openapi.builtin_document("apps", "v1", (_DEPLOYMENTS,)).content
    found: dict[str, Any] = json.loads(content)
    return found


def test_the_index_names_each_document_with_its_hash() -> None:
    document = openapi.builtin_document("apps", "v1", (_DEPLOYMENTS,))

    assert openapi.index({("apps", "v1"): document, ("", "v1"): document}) == {
        "paths": {
            "apis/apps/v1": {"serverRelativeURL": f"/openapi/v3/apis/apps/v1?hash={document.hash}"},
            "api/v1": {"serverRelativeURL": f"/openapi/v3/api/v1?hash={document.hash}"},
        }
    }


def test_patch_takes_field_validation() -> None:
    """So kubectl learns that the server validates fields."""
    single = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
    patch = _document()["paths"][single]["patch"]

    assert patch["x-kubernetes-group-version-kind"] == {
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
    }
    assert "fieldValidation" in [each["name"] for each in patch["parameters"]]


def test_fields_are_described_with_their_merge_keys() -> None:
    schemas = _document()["components"]["schemas"]

    replicas = schemas["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["replicas"]
    assert "Number of desired pods" in replicas["description"]
    assert replicas["format"] == "int32"
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-patch-strategy"] == "merge"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]


def test_every_reference_leads_somewhere() -> None:
    for (group, version, kind), _ in catalog.kinds().items():
        resource = openapi.Resource(f"{kind.lower()}s", kind, True)
        document = openapi.builtin_document(group, version, (resource,))
        found = json.loads(document.content)["components"]["schemas"]
        references = {
            part.split('"')[0] for part in document.content.decode().split("#/components/schemas/")
        } - {document.content.decode().split("#/components/schemas/")[0].split('"')[0]}

        assert references <= found.keys()


def test_custom_resources_have_documents() -> None:
    declared = {"type": "object", "properties": {"spec": {"type": "object", "description": "S"}}}
    widget = openapi.CustomResource(openapi.Resource("widgets", "Widget", True), declared)

    document = json.loads(openapi.custom_document("example.com", "v1", [widget]).content)

    found = document["components"]["schemas"]["com.example.v1.Widget"]
    assert found["properties"]["spec"]["description"] == "S"
    assert found["x-kubernetes-group-version-kind"][0]["kind"] == "Widget"
    assert "/apis/example.com/v1/namespaces/{namespace}/widgets" in document["paths"]


def test_the_catalog_knows_how_lists_merge() -> None:
    pod = catalog.find("", "v1", "Pod")
    assert pod is not None
    containers = pod.fields["spec"].fields["containers"]
    element = containers.element
    assert element is not None

    assert containers.keys == ("name",)
    assert element.fields["ports"].keys == ("containerPort", "protocol")
    assert element.fields["ports"].key_defaults == {"protocol": "TCP"}
    assert pod.fields["metadata"].fields["finalizers"].unique
    assert pod.fields["metadata"].fields["ownerReferences"].element is not None
    assert element.fields["command"].atomic
    assert element.fields["image"].shape is types.Shape.STRING


def test_every_built_in_kind_has_a_schema() -> None:
    for group, version, kind in catalog.kinds():
        assert schema.builtin(group, version, kind) is not None
    assert schema.builtin("apps", "v1", "Nope") is None
