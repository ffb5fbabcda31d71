"""Requests are plain values that can be looked at before anything is sent."""

import json

import pytest

from volary.clusters.api import api_errors, discovery, requests

DEPLOYMENTS = discovery.Resource("apps", "v1", "Deployment", "deployments", namespaced=True)
ROLES = discovery.Resource(
    "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False
)
PODS = discovery.Resource("", "v1", "Pod", "pods", namespaced=True)
WEB = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"replicas": 2}}


@pytest.mark.parametrize(
    ("resource", "place", "expected"),
    [
        (PODS, {}, "/api/v1/pods"),
        (PODS, {"namespace": "shop"}, "/api/v1/namespaces/shop/pods"),
        (
            DEPLOYMENTS,
            {"namespace": "shop", "name": "web"},
            "/apis/apps/v1/namespaces/shop/deployments/web",
        ),
        (
            ROLES,
            {"namespace": "ignored", "name": "system:node"},
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
        ),
        (PODS, {"namespace": "a/../b", "name": "../../x?y"}, None),
    ],
)
def test_paths(resource: discovery.Resource, place: dict[str, str], expected: str | None) -> None:
    """Nothing in a name can lead elsewhere."""
    found = requests.path(resource, **place)

    if expected is None:
        assert found == "/api/v1/namespaces/a%2F..%2Fb/pods/..%2F..%2Fx%3Fy"
    else:
        assert found == expected


def test_apply() -> None:
    request = requests.write(
        "PATCH", DEPLOYMENTS, WEB, field_manager="volary", force=True, dry_run=True
    )

    assert (request.method, request.content_type) == ("PATCH", "application/apply-patch+yaml")
    assert request.query == {
        "fieldManager": "volary",
        "fieldValidation": "Strict",
        "dryRun": "All",
        "force": "true",
    }
    assert json.loads(request.body or b"") == WEB
    assert request.what == "patch deployments.apps shop/web"
    assert request.idempotent


def test_reads_may_be_repeated_and_other_writes_may_not() -> None:
    writing = {"field_manager": "volary", "dry_run": False}

    assert requests.get(DEPLOYMENTS, "web", namespace="shop").idempotent
    assert requests.list_page(DEPLOYMENTS, requests.Selection(), page_size=5).idempotent
    assert not requests.write("POST", DEPLOYMENTS, WEB, **writing).idempotent  # type: ignore[arg-type]
    assert not requests.write("PUT", DEPLOYMENTS, WEB, **writing).idempotent  # type: ignore[arg-type]
    assert not requests.delete(
        DEPLOYMENTS, "web", namespace="shop", propagation="Background"
    ).idempotent


@pytest.mark.parametrize(
    ("method", "path", "what"),
    [
        ("POST", "", "create deployments.apps shop/web"),
        ("PUT", "/web", "update deployments.apps shop/web"),
    ],
)
def test_whole_objects_are_written(method: str, path: str, what: str) -> None:
    request = requests.write(method, DEPLOYMENTS, WEB, field_manager="volary", dry_run=False)

    assert (request.method, request.content_type) == (method, "application/json")
    assert request.path == f"/apis/apps/v1/namespaces/shop/deployments{path}"
    assert request.query == {"fieldManager": "volary", "fieldValidation": "Strict"}
    assert json.loads(request.body or b"") == WEB
    assert request.what == what


def test_an_object_without_a_name_is_created_with_a_generated_one() -> None:
    body = {"metadata": {"generateName": "web-", "namespace": "shop"}}
    request = requests.write("POST", DEPLOYMENTS, body, field_manager="volary", dry_run=True)

    assert request.path == "/apis/apps/v1/namespaces/shop/deployments"
    assert request.query["dryRun"] == "All"
    assert request.what == "create deployments.apps shop"


def test_delete_with_preconditions() -> None:
    request = requests.delete(
        DEPLOYMENTS,
        "web",
        namespace="shop",
        uid="u",
        resource_version="7",
        propagation="Foreground",
    )

    assert (request.method, request.content_type) == ("DELETE", "application/json")
    assert request.path == "/apis/apps/v1/namespaces/shop/deployments/web"
    assert request.what == "delete deployments.apps shop/web"
    assert json.loads(request.body or b"") == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Foreground",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
    }


def test_delete_without_preconditions() -> None:
    request = requests.delete(ROLES, "admin", namespace="", propagation="Background")

    assert json.loads(request.body or b"") == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
    }
    assert request.what == "delete clusterroles.rbac.authorization.k8s.io admin"


def test_reading_one_object() -> None:
    request = requests.get(DEPLOYMENTS, "web", namespace="shop")

    assert (request.method, request.target) == (
        "GET",
        "/apis/apps/v1/namespaces/shop/deployments/web",
    )
    assert (request.what, request.body) == ("get deployments.apps shop/web", None)
    assert (request.accept, request.content_type) == ("application/json", "")


def test_a_page_without_limits_and_selectors() -> None:
    request = requests.list_page(PODS, requests.Selection(), page_size=0)

    assert (request.method, request.target, request.what) == ("GET", "/api/v1/pods", "list pods")


def test_a_query_is_encoded() -> None:
    selection = requests.Selection("shop", "a in (b,c)")
    request = requests.watch(PODS, selection, resource_version="9", seconds=60)

    assert request.target == (
        "/api/v1/namespaces/shop/pods?labelSelector=a+in+%28b%2Cc%29&watch=1"
        "&allowWatchBookmarks=true&resourceVersion=9&timeoutSeconds=60"
    )
    assert (request.method, request.what) == ("GET", "watch pods shop")


LIST = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}}


@pytest.mark.parametrize(
    ("body", "is_list"),
    [
        ({**LIST, "items": []}, True),
        ({**LIST, "items": None}, True),
        (LIST, False),
        ({**LIST, "items": {}}, False),
        ({"items": []}, False),
        ({**LIST, "kind": "Pods", "items": []}, True),
        ({**LIST, "kind": "Pods", "apiVersion": "v2", "items": []}, False),
        ({**LIST, "kind": "Pods", "metadata": {}, "items": []}, False),
        ({**LIST, "kind": "PodList", "metadata": None, "items": []}, True),
    ],
)
def test_what_is_a_list(body: dict[str, object], is_list: bool) -> None:
    if is_list:
        assert requests.parse_page(body, PODS, what="list pods").items == ()
    else:
        with pytest.raises(api_errors.RequestError, match=r"^list pods: the answer is not a list$"):
            requests.parse_page(body, PODS, what="list pods")


def test_a_page_says_where_the_next_one_begins() -> None:
    metadata = {"resourceVersion": "5", "continue": "t"}
    items = [{"metadata": {"name": "a"}}, {"kind": "Other"}]
    page = requests.parse_page({**LIST, "metadata": metadata, "items": items}, PODS, what="x")

    assert (page.token, page.resource_version) == ("t", "5")
    assert page.items == (
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "Other"},
    )


def test_list_pages_and_watches_select_alike() -> None:
    selection = requests.Selection("shop", "a=b", "metadata.name=web")
    page = requests.list_page(PODS, selection, page_size=5, token="t")
    watch = requests.watch(PODS, selection, resource_version="9", seconds=60)

    assert page.query == {
        "labelSelector": "a=b",
        "fieldSelector": "metadata.name=web",
        "limit": "5",
        "continue": "t",
    }
    assert watch.query == {
        "labelSelector": "a=b",
        "fieldSelector": "metadata.name=web",
        "watch": "1",
        "allowWatchBookmarks": "true",
        "resourceVersion": "9",
        "timeoutSeconds": "60",
    }
    assert page.path == watch.path
