"""Both forms of discovery say the same; a broken group harms no other."""

from typing import Any

import pytest

from volary.clusters.api import discovery


def resource(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {
        "resource": name,
        "responseKind": {"kind": kind},
        "scope": "Namespaced",
        "verbs": ["get"],
        **more,
    }


CORE = {
    "kind": "APIGroupDiscoveryList",
    "items": [{"versions": [{"version": "v1", "resources": [resource("pods", "Pod")]}]}],
}
GROUPS = {
    "kind": "APIGroupDiscoveryList",
    "items": [
        {
            "metadata": {"name": "apps"},
            "versions": [
                {
                    "version": "v1",
                    "resources": [
                        resource(
                            "deployments",
                            "Deployment",
                            subresources=[{"subresource": "scale"}, {"subresource": "status"}],
                        )
                    ],
                }
            ],
        },
        {
            "metadata": {"name": "example.org"},
            "versions": [
                {"version": "v2", "resources": [resource("things", "Thing", scope="Cluster")]},
                {"version": "v1", "resources": [resource("things", "Thing")]},
            ],
        },
        {
            "metadata": {"name": "metrics.k8s.io"},
            "versions": [{"version": "v1beta1", "freshness": "Stale", "resources": None}],
        },
    ],
}


@pytest.fixture(scope="module")
def served() -> discovery.Catalog:
    return discovery.parse_aggregated(CORE, GROUPS)


def test_the_preferred_version_comes_first(served: discovery.Catalog) -> None:
    preferred, older = (
        served.find("example.org", "Thing"),
        served.find("example.org", "Thing", "v1"),
    )

    assert preferred is not None
    assert older is not None
    assert (preferred.version, preferred.namespaced) == ("v2", False)
    assert (older.version, older.namespaced) == ("v1", True)


def test_what_a_resource_knows(served: discovery.Catalog) -> None:
    assert served.find("apps", "Deployment") == discovery.Resource(
        "apps",
        "v1",
        "Deployment",
        "deployments",
        namespaced=True,
        subresources=frozenset({"scale", "status"}),
    )


def test_core_has_no_group(served: discovery.Catalog) -> None:
    pods = served.find("", "Pod")

    assert pods is not None
    assert (pods.base, pods.api_version, pods.title) == ("/api/v1", "v1", "pods")


def test_what_is_not_served(served: discovery.Catalog) -> None:
    assert served.find("apps", "Pod") is None
    assert served.find("apps", "Deployment", "v1beta1") is None


def test_a_stale_group_is_named(served: discovery.Catalog) -> None:
    assert served.stale == ("metrics.k8s.io",)


@pytest.mark.parametrize("body", [{}, {"items": None}, {"items": [{"metadata": None}]}])
def test_odd_answers_hold_nothing(body: dict[str, Any]) -> None:
    assert discovery.parse_aggregated(body) == discovery.Catalog()


def test_the_legacy_form() -> None:
    core = {"versions": ["v1"]}
    groups = {
        "groups": [
            {
                "name": "example.org",
                "versions": [{"version": "v1"}, {"version": "v2"}],
                "preferredVersion": {"version": "v2"},
            }
        ]
    }
    listing = {
        "resources": [
            {"name": "things/status", "kind": "Thing", "namespaced": True},
            {"name": "things", "kind": "Thing", "namespaced": True, "verbs": ["get"]},
        ]
    }

    assert discovery.parse_legacy_groups(core, groups) == [
        ("", "v1"),
        ("example.org", "v2"),
        ("example.org", "v1"),
    ]
    assert discovery.parse_legacy_version("example.org", "v2", listing) == [
        discovery.Resource(
            "example.org",
            "v2",
            "Thing",
            "things",
            namespaced=True,
            subresources=frozenset({"status"}),
        )
    ]


def test_a_group_with_several_stale_versions_is_named_once() -> None:
    versions = [{"version": "v1", "freshness": "Stale"}, {"version": "v2", "freshness": "Stale"}]
    fresh = {"metadata": {"name": "b"}, "versions": [{"version": "v1", "freshness": "Current"}]}
    body = {"items": [{"metadata": {"name": "a"}, "versions": versions}, fresh]}

    assert discovery.parse_aggregated(body).stale == ("a",)


def test_a_resource_without_a_kind_is_left_out() -> None:
    things = [
        resource("things", "Thing"),
        {"resource": "odd"},
        {"resource": "x", "responseKind": {}},
    ]
    body = {
        "items": [{"metadata": {"name": "g"}, "versions": [{"version": "v1", "resources": things}]}]
    }

    assert [one.plural for one in discovery.parse_aggregated(body).resources] == ["things"]


def test_where_requests_for_a_group_go(served: discovery.Catalog) -> None:
    deployments = served.find("apps", "Deployment")

    assert deployments is not None
    assert (deployments.base, deployments.api_version) == ("/apis/apps/v1", "apps/v1")
    assert deployments.title == "deployments.apps"


def test_the_first_of_a_kind_is_the_preferred_one() -> None:
    first = discovery.Resource("g", "v1", "Thing", "things", namespaced=True)
    alias = discovery.Resource("g", "v1", "Thing", "aliases", namespaced=True)
    known = discovery.catalog([first, alias])

    assert known.find("g", "Thing") is first
    assert known.find("g", "Thing", "v1") is first
    assert known.resources == (first, alias)


@pytest.mark.parametrize(
    ("body", "aggregated"),
    [({"kind": "APIGroupDiscoveryList"}, True), ({"kind": "APIGroupList"}, False), ({}, False)],
)
def test_which_form_it_is(body: dict[str, Any], aggregated: bool) -> None:
    assert discovery.is_aggregated(body) is aggregated


def test_legacy_answers_may_be_odd() -> None:
    listing = {"resources": ["text", {"name": "things/scale", "kind": "Scale"}]}

    assert discovery.parse_legacy_groups({}, {}) == []
    assert discovery.parse_legacy_groups({"versions": ["v1", "v2"]}, {"groups": None}) == [
        ("", "v1"),
        ("", "v2"),
    ]
    bare = {"groups": [{"name": "g"}, {"name": "h", "versions": [{"version": "v1"}]}]}
    assert discovery.parse_legacy_groups({}, bare) == [("h", "v1")]
    assert discovery.parse_legacy_version("g", "v1", {"resources": None}) == []
    assert discovery.parse_legacy_version("g", "v1", listing) == []


def test_a_legacy_resource_is_of_the_whole_cluster_unless_it_says_so() -> None:
    listing = {"resources": [{"name": "nodes", "kind": "Node"}]}
    (node,) = discovery.parse_legacy_version("", "v1", listing)

    assert (node.namespaced, node.subresources) == (False, frozenset())
