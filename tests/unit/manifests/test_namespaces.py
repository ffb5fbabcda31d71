from volary.manifests import keys, load, namespaces
from volary.model import resource

TEXT = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: written}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: b, namespace: wrong}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec: {group: example.com, scope: Cluster, names: {kind: Thing}}
---
apiVersion: example.com/v1
kind: Thing
metadata: {name: c}
---
apiVersion: other.example.com/v1
kind: Unknown
metadata: {name: d}
"""


def test_a_namespace_is_forced_on_namespaced_kinds_only() -> None:
    found = namespaces.force(load.parse(TEXT, file=""), "shop")

    assert [item.namespace for item in found] == ["shop", "", "", "", "shop"]


def test_filling_keeps_what_is_written() -> None:
    found = namespaces.fill(load.parse(TEXT, file=""), "shop")

    assert [item.namespace for item in found] == ["written", "", "", "", "shop"]


def test_a_cluster_knows_better_than_the_table() -> None:
    def known(group: str, kind: str) -> bool | None:
        return False if kind == "Unknown" else None

    found = namespaces.force(load.parse(TEXT, file=""), "shop", known)

    assert [item.namespace for item in found] == ["shop", "", "", "", ""]


def test_normalised_keys_forget_case_the_default_namespace_and_impossible_ones() -> None:
    scope = namespaces.scope([])
    role = resource.ResourceKey("rbac.authorization.k8s.io", "ClusterRole", "shop", "a")

    assert keys.normalise(resource.ResourceKey("Apps", "Deployment", "default", "A")) == (
        resource.ResourceKey("apps", "deployment", "", "A")
    )
    assert keys.normalise(role, scope).namespace == ""


def test_keys_are_read_back_with_colons_in_names() -> None:
    assert keys.parse("apps:Deployment::simple") == resource.ResourceKey(
        "apps", "Deployment", "", "simple"
    )
    found = keys.parse("rbac.authorization.k8s.io:Role:x:system:a")
    assert found is not None
    assert found.name == "system:a"
    assert keys.parse("apps/v1:Deployment:simple") is None
