"""All problems of an application: where its objects really are, and what is too much."""

from typing import Any

from volary.model import errors, projects
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import catalog
from volary.model.placement import rollouts
from volary.tenancy import application_rules

EU, US, DEV = (fleets.Cluster(name) for name in ("eu", "us", "dev"))
TEAM = projects.Project(
    "team-b",
    destinations=(projects.Destination(rollouts.ClusterSelector(("eu", "us")), ("shop",)),),
)
RBAC = "rbac.authorization.k8s.io/v1"


def item(
    api_version: str, kind: str, name: str = "web", *, namespace: str = "", **body: Any
) -> manifest.Manifest:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    origin = errors.Location(f"{name}.yaml", 1)
    return manifest.Manifest(
        {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}, origin
    )


def definition(scope: str, kind: str = "Widget") -> manifest.Manifest:
    spec = {"group": "example.org", "names": {"kind": kind}, "scope": scope}
    return item("apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets", spec=spec)


def problems(
    *items: manifest.Manifest, served: Any = None, team: projects.Project = TEAM
) -> list[str]:
    places = application_rules.places(items, default="default", served=served)
    return [problem.message for problem in application_rules.object_problems(team, EU, places)]


def test_every_object_that_is_not_permitted_is_named_with_its_file() -> None:
    found = problems(
        item("apps/v1", "Deployment", "web", namespace="shop"),
        item(RBAC, "ClusterRoleBinding", "rbac/bind"),
        item("v1", "Secret", "token", namespace="kube-system"),
    )

    assert found == [
        "project team-b may not deploy ClusterRoleBinding (rbac.authorization.k8s.io):"
        " rbac/bind.yaml",
        "project team-b may not deploy to namespace kube-system of eu: token.yaml",
    ]


def test_each_has_a_hint_of_who_can_permit_it() -> None:
    places = application_rules.places([item(RBAC, "ClusterRole")], default="shop")

    (found,) = application_rules.object_problems(TEAM, EU, places)

    assert found.hint == "remove it, or let who keeps the file of project team-b permit it"


def test_a_manifest_does_not_say_whether_its_kind_is_namespaced() -> None:
    assert problems(item(RBAC, "ClusterRole", namespace="shop")) == [
        "project team-b may not deploy ClusterRole (rbac.authorization.k8s.io): web.yaml"
    ]


def test_what_names_no_namespace_gets_the_usual_one() -> None:
    assert problems(item("v1", "Secret")) == [
        "project team-b may not deploy to namespace default of eu: web.yaml"
    ]


def test_a_custom_kind_is_what_the_cluster_says() -> None:
    widget = item("example.org/v1", "Widget", namespace="shop")

    assert problems(widget, served=lambda *_: True) == []
    assert problems(widget, served=lambda *_: False) == [
        "project team-b may not deploy Widget (example.org): web.yaml"
    ]


def test_one_that_the_cluster_does_not_know_is_what_its_definition_says() -> None:
    wide = projects.Kinds(
        cluster_scoped=(projects.KindPattern("apiextensions.k8s.io", "CustomResourceDefinition"),)
    )
    team = projects.Project("team-b", destinations=TEAM.destinations, kinds=wide)
    widget = item("example.org/v1", "Widget", namespace="shop")

    assert problems(widget, definition("Namespaced"), team=team) == []
    assert problems(widget, definition("Cluster"), team=team) == [
        "project team-b may not deploy Widget (example.org): web.yaml"
    ]


def test_a_definition_that_changes_the_scope_makes_it_both() -> None:
    """Before it is written, and after."""
    everything = projects.Kinds(
        (projects.KindPattern("*", "*"),), (projects.KindPattern("apiextensions.k8s.io", "*"),)
    )
    team = projects.Project("team-b", destinations=TEAM.destinations, kinds=everything)
    widget = item("example.org/v1", "Widget", namespace="shop")

    def found(*, served: bool, written: str) -> list[str]:
        known = {"Widget": served, "CustomResourceDefinition": False}
        return problems(widget, definition(written), served=lambda _, kind: known[kind], team=team)

    refused = ["project team-b may not deploy Widget (example.org): web.yaml"]
    assert found(served=True, written="Namespaced") == []
    assert found(served=True, written="Cluster") == refused
    assert found(served=False, written="Namespaced") == refused


def test_a_definition_of_a_kind_of_kubernetes_changes_nothing_of_it() -> None:
    spec = {
        "group": "rbac.authorization.k8s.io",
        "names": {"kind": "ClusterRole"},
        "scope": "Namespaced",
    }
    forged = item("evil.example/v1", "CustomResourceDefinition", namespace="shop", spec=spec)

    assert "project team-b may not deploy ClusterRole (rbac.authorization.k8s.io): web.yaml" in (
        problems(forged, item(RBAC, "ClusterRole", namespace="shop"))
    )


def test_kinds_that_nothing_knows_are_refused() -> None:
    widget = item("example.org/v1", "Widget", namespace="shop")

    (found,) = application_rules.unknown_kind_problems(TEAM, [widget], lambda *_: None)

    assert found.message == (
        "project team-b may not deploy Widget (example.org), which the cluster does not serve:"
        " web.yaml"
    )
    assert (
        application_rules.unknown_kind_problems(
            TEAM, [widget, definition("Namespaced")], lambda *_: None
        )
        == []
    )


def test_namespaces_that_are_made_count_as_objects() -> None:
    made = application_rules.created_namespaces(["shop", "other"])

    assert [each.message for each in application_rules.object_problems(TEAM, EU, made)] == [
        "project team-b may not deploy Namespace: Namespace shop",
        "project team-b may not deploy Namespace: Namespace other",
    ]


def test_clusters_that_a_file_names_are_named_and_others_are_counted() -> None:
    found = application_rules.cluster_problems(TEAM, [EU, US, DEV, fleets.Cluster("x")], ["dev"])

    assert [each.message for each in found] == [
        "project team-b may not deploy to cluster dev",
        "project team-b may not deploy to 1 cluster of 4 that the application's targets choose",
    ]


def test_a_name_is_refused_in_the_same_way_whether_there_is_such_a_cluster_or_not() -> None:
    """Else names could be tried until one is right."""
    there = application_rules.cluster_problems(TEAM, [DEV], ["dev"])
    absent = application_rules.cluster_problems(TEAM, [], ["dev"])

    assert there == absent != []


def test_clusters_that_are_permitted_are_no_problem() -> None:
    assert application_rules.cluster_problems(TEAM, [EU, US], ["eu"]) == []


def test_a_stage_is_named_with_its_place() -> None:
    team = projects.Project("team-b", stages=("K8S_SYNC",))
    stage = pipelines.Stage("K8S_PRIMARY_ROLLOUT", catalog.of("K8S_SYNC").options(), index=2)

    assert [each.message for each in application_rules.stage_problems(team, [stage])] == [
        "project team-b may not have the stage K8S_PRIMARY_ROLLOUT: stage 3"
    ]


def test_limits_count_objects_and_bytes() -> None:
    items = [item("v1", "Secret", f"é{number}", namespace="shop") for number in range(3)]
    size = application_rules.rendered_bytes(items)

    def found(**limits: int) -> list[str]:
        team = projects.Project("team-b", limits=projects.ProjectLimits(**limits))
        return [each.message for each in application_rules.size_problems(team, "eu", items)]

    assert found() == found(objects=3, rendered_bytes=size) == []
    assert found(objects=2, rendered_bytes=size - 1) == [
        "project team-b may have 2 objects of one application on a cluster: eu would get 3",
        f"project team-b may have {size - 1} bytes of rendered manifests for a cluster: eu would"
        f" get {size}",
    ]
