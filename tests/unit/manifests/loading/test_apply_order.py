import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.manifests.loading import apply_order
from volary.model.objects import manifest

API = {
    "Namespace": "v1",
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
    "ServiceAccount": "v1",
    "ConfigMap": "v1",
    "Service": "v1",
    "Deployment": "apps/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "Ingress": "networking.k8s.io/v1",
    "VirtualService": "networking.istio.io/v1",
    "Thing": "example.com/v1",
}


def make(kind: str, name: str = "a", annotation: str | None = None) -> manifest.Manifest:
    metadata: dict[str, object] = {"name": name}
    if annotation is not None:
        metadata["annotations"] = {apply_order.ORDER: annotation}
    return manifest.Manifest({"apiVersion": API[kind], "kind": kind, "metadata": metadata})


def test_what_others_need_comes_first() -> None:
    kinds = ["Ingress", "HorizontalPodAutoscaler", "Deployment", "Service", "ConfigMap"]
    kinds += ["ServiceAccount", "CustomResourceDefinition", "Namespace"]
    found = apply_order.sort([make(kind) for kind in kinds])

    assert [item.kind for item in found] == list(reversed(kinds))


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        ("networking.istio.io", "VirtualService"),
        ("gateway.networking.k8s.io", "HTTPRoute"),
        ("split.smi-spec.io", "TrafficSplit"),
        ("traefik.io", "TraefikService"),
        ("networking.k8s.io", "Ingress"),
    ],
)
def test_routes_go_before_the_services_that_they_lead_to(group: str, kind: str) -> None:
    route = apply_order.deletion_rank(manifest.ResourceKey(group, kind, "x", "a"))

    assert route < apply_order.deletion_rank(manifest.ResourceKey("", "Service", "x", "a"))


def test_the_annotation_decides_before_the_kind() -> None:
    found = apply_order.sort(
        [
            make("Namespace", "late", "2"),
            make("Deployment", "plain"),
            make("Deployment", "first", "-1"),
            make("ConfigMap", "invalid", "soon"),
        ]
    )

    assert [item.name for item in found] == ["first", "invalid", "plain", "late"]


@pytest.mark.parametrize("annotation", [None, "", "0", "soon", " 1", "1_0", "\u0663"])
def test_without_a_plain_number_the_order_is_0(annotation: str | None) -> None:
    item = make("Ingress", "plain", annotation)

    assert apply_order.annotated(item) == 0
    assert apply_order.sort([make("Deployment", "later", "1"), item])[0] is item


def test_one_rank_holds_what_may_be_applied_together() -> None:
    groups = apply_order.ranks([make("Deployment", "a"), make("ConfigMap"), make("Thing", "b")])

    assert [[item.kind for item in group] for group in groups] == [
        ["ConfigMap"],
        ["Deployment", "Thing"],
    ]


def test_services_go_first_then_workloads_then_the_rest() -> None:
    kinds = ["Namespace", "CustomResourceDefinition", "ConfigMap", "Deployment", "Service"]
    found = apply_order.for_deletion([make(kind) for kind in kinds])

    assert [item.kind for item in found] == list(reversed(kinds))


def test_a_knative_service_is_not_deleted_as_a_service() -> None:
    assert (
        apply_order.deletion_rank(manifest.ResourceKey("serving.knative.dev", "Service", "x", "a"))
        > apply_order.WORKLOAD
    )
    assert (
        apply_order.deletion_rank(manifest.ResourceKey("", "Service", "x", "a"))
        == apply_order.SERVICE
    )


@given(
    st.lists(st.tuples(st.sampled_from(sorted(API)), st.sampled_from(["1", "0", "-3", "x", ""])))
)
def test_sorting_is_stable_and_loses_nothing(chosen: list[tuple[str, str]]) -> None:
    """Manifests of one rank keep the order in which they were written."""
    items = [make(kind, str(index), text) for index, (kind, text) in enumerate(chosen)]
    found = apply_order.sort(items)

    assert sorted(item.name for item in found) == sorted(item.name for item in items)
    ranks = [(apply_order.rank(item), int(item.name)) for item in found]
    assert ranks == sorted(ranks)
    assert [item for group in apply_order.ranks(items) for item in group] == found


@pytest.mark.parametrize(
    ("group", "kind", "namespace", "expected"),
    [
        ("networking.istio.io", "VirtualService", "a", 0),
        ("x.org", "VirtualService", "a", 3),
        ("", "Service", "a", 1),
        ("serving.knative.dev", "Service", "a", 3),
        ("apps", "Deployment", "a", 2),
        ("batch", "Job", "a", 2),
        ("", "Pod", "a", 2),
        ("x.org", "Pod", "a", 3),
        ("", "ConfigMap", "a", 3),
        ("rbac.authorization.k8s.io", "ClusterRole", "", 4),
        # A namespace is written, so it is somebody else's kind of that name.
        ("rbac.authorization.k8s.io", "ClusterRole", "a", 3),
        ("rbac.authorization.k8s.io", "Role", "", 3),
        ("apiextensions.k8s.io", "CustomResourceDefinition", "", 5),
        ("", "Namespace", "", 6),
        ("x.org", "Namespace", "", 3),
    ],
)
def test_the_place_in_the_order_of_deleting(
    group: str, kind: str, namespace: str, expected: int
) -> None:
    key = manifest.ResourceKey(group, kind, namespace, "x")

    assert apply_order.deletion_rank(key) == expected
