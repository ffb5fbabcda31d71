import textwrap

import pytest

from volary.manifests.loading import documents
from volary.manifests.variants import patches
from volary.model import errors
from volary.model.objects import manifest
from volary.model.pipeline.stage_kinds import rollout_stages

TEXT = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: envoy}
data:
  weight.yaml: |
    # Weights of the clusters.
    clusters:
    - name: primary # stays
      weight: 90
    - name: canary
      weight: "10"
      tags: [a, b]
      text: |
        several
        lines

    # The end.
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 10
  template:
    spec:
      containers:
      - {name: web, image: "example/web:v1", env: [{name: A, value: "1"}]}
      - {name: side, image: "example/side:v1"}
"""
ROOT = "$.data.'weight.yaml'"


def patch(
    kind: str,
    name: str,
    operations: tuple[rollout_stages.PatchOperation, ...] = (),
    root: str = "",
) -> rollout_stages.Patch:
    return rollout_stages.Patch(rollout_stages.PatchTarget(kind, name, root), operations)


def patched(path: str, value: str, root: str = "", kind: str = "ConfigMap") -> manifest.Manifest:
    operation = rollout_stages.PatchOperation(path=path, value=value)
    name = "envoy" if kind == "ConfigMap" else "web"
    items = documents.parse(TEXT, file="a.yaml")
    found = patches.apply(items, [patch(kind, name, (operation,), root)])
    return found[0 if kind == "ConfigMap" else 1]


def document(path: str, value: str) -> str:
    return str(patched(path, value, ROOT).body["data"]["weight.yaml"])


def test_a_value_in_a_document_changes_and_nothing_around_it() -> None:
    before = documents.parse(TEXT, file="")[0].body["data"]["weight.yaml"]

    assert document("$.clusters[0].weight", "50") == before.replace("90", "50")
    assert document("$.clusters[1].weight", "50") == before.replace('"10"', '"50"')
    assert document("$.clusters[1].tags[1]", "z") == before.replace("[a, b]", "[a, z]")
    assert document("$.clusters[1].tags", "none") == before.replace("[a, b]", "none")


def test_block_texts_and_whole_lists_can_be_replaced() -> None:
    text = document("$.clusters[1].text", "other")
    whole = document("$.clusters", "[]")

    assert '  text: "other"\n\n# The end.\n' in text
    assert whole == "# Weights of the clusters.\nclusters: []\n\n# The end.\n"


def test_every_match_of_a_descendant_path_is_replaced() -> None:
    found = document("$..weight", "0")

    assert found.count("weight: 0") == 1
    assert found.count('weight: "0"') == 1


def test_a_plain_value_is_read_again_and_a_quoted_one_stays_a_text() -> None:
    number = patched("$.spec.replicas", "90", kind="Deployment")
    quoted = patched("$.spec.template.spec.containers[0].env[0].value", "90", kind="Deployment")

    assert number.body["spec"]["replicas"] == 90
    env = quoted.body["spec"]["template"]["spec"]["containers"][0]["env"]
    assert env == [{"name": "A", "value": "90"}]


def test_every_element_can_be_meant() -> None:
    found = patched("$.spec.template.spec.containers[*].image", "x:2", kind="Deployment")
    containers = found.body["spec"]["template"]["spec"]["containers"]

    assert [each["image"] for each in containers] == ["x:2", "x:2"]


def test_patches_build_on_each_other() -> None:
    operations = (
        rollout_stages.PatchOperation(path="$.clusters[0].name", value="first"),
        rollout_stages.PatchOperation(path="$.clusters[0].weight", value="1"),
    )
    change = patch("ConfigMap", "envoy", operations, ROOT)
    found = patches.apply(documents.parse(TEXT, file=""), [change, change])[0]

    assert "- name: first # stays\n  weight: 1\n" in found.body["data"]["weight.yaml"]


@pytest.mark.parametrize(
    ("path", "value", "root", "message"),
    [
        ("", "1", "", "no path given"),
        (
            "$.data.gone",
            "1",
            "",
            "failed to replace value at path: $.data.gone, error: there is no",
        ),
        ("data", "1", "", "failed to replace value at path: data, error: a path starts with $"),
        ("$.a", "1", "$.data", "the value for the specified root $.data must be a string"),
        ("$.a", "1", "$.nothing", "failed to get value at the root: $.nothing"),
        ("$.clusters[0].weight", "a: b: c", ROOT, "mapping values are not allowed here"),
        ("$.kind", "", "", "the result is no Kubernetes object"),
    ],
)
def test_what_does_not_fit_is_an_error(path: str, value: str, root: str, message: str) -> None:
    with pytest.raises(errors.UserError) as caught:
        patched(path, value, root)

    found = caught.value.problems[0].message
    assert found.startswith("failed to patch manifest: ConfigMap envoy, error: ")
    assert message in found


def test_a_patch_whose_result_cannot_be_read_says_to_quote_the_value() -> None:
    with pytest.raises(errors.UserError) as caught:
        patched("$.spec.replicas", "{a: 1, a: 2}", kind="Deployment")

    (problem,) = caught.value.problems
    assert problem.hint == (
        "a value that is not a plain word or number has to be quoted inside the patch"
    )


def test_a_patch_without_target_names_what_there_is() -> None:
    with pytest.raises(errors.UserError) as caught:
        patches.apply(documents.parse(TEXT, file=""), [patch("ConfigMap", "envoi")])

    (found,) = caught.value.problems
    assert found.message == "no manifest matches the given patch: kind=ConfigMap, name=envoi"
    assert found.hint == "of kind ConfigMap there are: envoy"


def test_an_empty_value_can_be_filled() -> None:
    text = textwrap.dedent("""\
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: a}
        data:
          x: |
            key:
            other: 1
        """)
    operation = rollout_stages.PatchOperation(path="$.key", value="value")
    change = patch("ConfigMap", "a", (operation,), "$.data.x")
    (found,) = patches.apply(documents.parse(text, file=""), [change])

    assert found.body["data"]["x"] == "key: value\nother: 1\n"


def test_an_error_says_where_the_manifest_is_from() -> None:
    place = errors.Location("app.yaml", 3)
    items = [manifest.Manifest(item.body, place) for item in documents.parse(TEXT, file="")]
    odd = rollout_stages.Patch(
        rollout_stages.PatchTarget("Deployment", "web"),
        (rollout_stages.PatchOperation(path="$.nothing", value="1"),),
    )
    broken = rollout_stages.Patch(
        rollout_stages.PatchTarget("Deployment", "web"),
        (rollout_stages.PatchOperation(path="$.spec.replicas", value="a: b: c"),),
    )

    for patch in (odd, broken):
        with pytest.raises(errors.UserError, match="failed to patch manifest") as caught:
            patches.apply(items, [patch])
        assert caught.value.problems[0].where == place


@pytest.mark.parametrize("name", ["envoy", "web"])
def test_a_target_is_of_the_kind_and_the_name(name: str) -> None:
    operation = rollout_stages.PatchOperation(path="$.metadata.name", value="x")
    kind = "ConfigMap" if name == "web" else "Deployment"

    items = documents.parse(TEXT, file="")

    with pytest.raises(errors.UserError, match=f"kind={kind}, name={name}"):
        patches.apply(
            items, [rollout_stages.Patch(rollout_stages.PatchTarget(kind, name), (operation,))]
        )
