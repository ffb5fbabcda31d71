import pytest

from volary.manifests.loading import documents
from volary.manifests.variants import config_hash
from volary.model.objects import manifest


def config(data: dict[str, str] | None, name: str = "", **more: object) -> manifest.Manifest:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": data,
        **more,
    }
    return manifest.Manifest(body)


def secret(data: dict[str, str], name: str = "", kind: str = "my-type") -> manifest.Manifest:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": kind}
    return manifest.Manifest({**body, "data": data})


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ([config({})], "42745tchd9"),
        ([config({"one": ""})], "9g67k2htb6"),
        ([config({"two": "2", "one": "", "three": "3"})], "f5h7t85m9b"),
        ([secret({})], "t75bgf6ctb"),
        ([secret({"one": ""})], "74bd68bm66"),
        ([secret({"two": "Mg==", "one": "", "three": "Mw=="})], "dgcb6h9tmk"),
        (
            [config({"two": "2", "three": "3"}), secret({"one": "", "three": "Mw=="})],
            "57hhd7795k",
        ),
        ([config({"two": "2"}, "canary-by-config-change")], "75c9m2btb6"),
        (
            [
                config({"two": "2"}, "canary-by-config-change"),
                secret({"one": "Mg=="}, "secret-1"),
            ],
            "t7dtkdm455",
        ),
        ([secret({"one": "MQ=="}, "canary-by-secret-change", "Opaque")], "t58h88cd4b"),
    ],
)
def test_hashes_are_pipecds(objects: list[manifest.Manifest], expected: str) -> None:
    assert config_hash.config_hash(objects) == expected


def test_an_empty_list_has_no_hash() -> None:
    with pytest.raises(ValueError, match="no manifest to hash"):
        config_hash.config_hash([])


def test_what_go_writes_differently_counts() -> None:
    """Characters that Go escapes give the same hash as their escaped form in Go's text."""
    assert config_hash._config_map(config({"a": "<&>"}))["data"] == {"a": "<&>"}
    assert config_hash._go_json({"b": "<&>", "a": "ä\u2028"}) == (
        '{"a":"ä\\u2028","b":"\\u003c\\u0026\\u003e"}'
    )


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  template:
    spec:
      containers:
      - envFrom: [{configMapRef: {name: used}}, {configMapRef: {name: unknown}}]
      volumes:
      - {name: x, secret: {secretName: canary-by-secret-change}}
      - {name: y, projected: {sources: [{configMap: {name: projected}}]}}
"""


def hash_of(items: list[manifest.Manifest], **options: bool) -> object:
    found = config_hash.annotate(items, **options)[-1].body["spec"]["template"]
    return found.get("metadata", {}).get("annotations", {}).get("pipecd.dev/config-hash")


def test_config_maps_come_before_secrets_and_unused_ones_do_not_count() -> None:
    used, unused = config({"a": "1"}, "used"), config({"a": "1"}, "unused")
    hidden = secret({"one": "MQ=="}, "canary-by-secret-change", "Opaque")
    (deployment,) = documents.parse(DEPLOYMENT, file="")

    assert hash_of([hidden, unused, used, deployment]) == config_hash.config_hash([used, hidden])
    assert hash_of([hidden, deployment]) == "t58h88cd4b"
    assert hash_of([unused, deployment]) is None
    other = deployment.with_body({**deployment.body, "apiVersion": "x.org/v1"})
    assert hash_of([used, other]) is None, "only of a workload is it known what it uses"


def test_projected_volumes_count_only_on_request() -> None:
    projected = config({"a": "1"}, "projected")
    (deployment,) = documents.parse(DEPLOYMENT, file="")

    assert hash_of([projected, deployment]) is None
    assert hash_of([projected, deployment], include_projected=True) is not None


def test_of_two_with_one_name_the_one_in_the_same_namespace_counts() -> None:
    near = manifest.Manifest(
        {**config({"a": "1"}).body, "metadata": {"name": "used", "namespace": "shop"}}
    )
    far = manifest.Manifest(
        {**config({"a": "2"}).body, "metadata": {"name": "used", "namespace": "x"}}
    )
    (deployment,) = documents.parse(DEPLOYMENT, file="")

    assert hash_of([near, far, deployment]) == config_hash.config_hash([near])
    assert hash_of([far, deployment]) == config_hash.config_hash([far])


def test_a_kind_of_that_name_in_another_group_is_hashed_as_a_whole() -> None:
    for item in (config({"one": ""}), secret({"one": ""})):
        other = item.with_body({**item.body, "apiVersion": "x.org/v1"})
        third = item.with_body({**other.body, "spec": {}})

        hashes = {config_hash.config_hash([each]) for each in (item, other, third)}
        assert len(hashes) == 3


@pytest.mark.parametrize(
    ("place", "used"),
    [
        ({"containers": [{"env": [{"valueFrom": {"configMapKeyRef": {"name": "a"}}}]}]}, True),
        ({"containers": [{"envFrom": [{"configMapRef": {"name": "a"}}]}]}, True),
        ({"initContainers": [{"envFrom": [{"configMapRef": {"name": "a"}}]}]}, True),
        ({"volumes": [{"configMap": {"name": "a"}}]}, True),
        # Where PipeCD does not look.
        ({"ephemeralContainers": [{"envFrom": [{"configMapRef": {"name": "a"}}]}]}, False),
        ({"volumes": [{"projected": {"sources": [{"configMap": {"name": "a"}}]}}]}, False),
        ({"containers": [{"envFrom": [{"configMapRef": {"name": "b"}}]}]}, False),
    ],
)
def test_a_workload_is_marked_for_what_pipecd_sees_it_use(
    place: dict[str, object], used: bool
) -> None:
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"template": {"spec": place}},
    }
    marked = config_hash.annotate([config({"x": "y"}, "a"), manifest.Manifest(body)])[1]
    template = marked.body["spec"]["template"]

    assert (config_hash.ANNOTATION in template.get("metadata", {}).get("annotations", {})) is used
