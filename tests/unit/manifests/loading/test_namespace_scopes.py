from volary.manifests.loading import documents, namespace_scopes, object_keys
from volary.model.objects import manifest

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
    found = namespace_scopes.force(documents.parse(TEXT, file=""), "shop")

    assert [item.namespace for item in found] == ["shop", "", "", "", "shop"]


def test_filling_keeps_what_is_written() -> None:
    found = namespace_scopes.fill(documents.parse(TEXT, file=""), "shop")

    assert [item.namespace for item in found] == ["written", "", "", "", "shop"]


def test_a_cluster_knows_better_than_the_table() -> None:
    def known(group: str, kind: str) -> bool | None:
        return False if kind == "Unknown" else None

    found = namespace_scopes.force(documents.parse(TEXT, file=""), "shop", known)

    assert [item.namespace for item in found] == ["shop", "", "", "", ""]


def test_normalised_keys_forget_case_the_default_namespace_and_impossible_ones() -> None:
    scope = namespace_scopes.scope([])
    role = manifest.ResourceKey("rbac.authorization.k8s.io", "ClusterRole", "shop", "a")

    assert object_keys.normalise(manifest.ResourceKey("Apps", "Deployment", "default", "A")) == (
        manifest.ResourceKey("apps", "deployment", "", "A")
    )
    assert object_keys.normalise(role, scope).namespace == ""


def test_keys_are_read_back_with_colons_in_names() -> None:
    assert object_keys.parse("apps:Deployment::simple") == manifest.ResourceKey(
        "apps", "Deployment", "", "simple"
    )
    found = object_keys.parse("rbac.authorization.k8s.io:Role:x:system:a")
    assert found is not None
    assert found.name == "system:a"
    assert object_keys.parse("apps/v1:Deployment:simple") is None


def test_forcing_no_namespace_keeps_what_is_written_where_it_can_be() -> None:
    written = "metadata: {name: a, namespace: other}\n"
    texts = [f"apiVersion: v1\nkind: {kind}\n{written}" for kind in ("ConfigMap", "Namespace")]
    items = documents.parse("---\n".join(texts), file="")

    assert [each.namespace for each in namespace_scopes.force(items, "")] == ["other", ""]
    assert [each.namespace for each in namespace_scopes.fill(items, "shop")] == ["other", ""]
