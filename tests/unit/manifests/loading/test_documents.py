import pytest

from volary.manifests.loading import documents
from volary.model import errors


def problems(text: str) -> list[str]:
    with pytest.raises(errors.UserError) as caught:
        documents.parse(text, file="a.yaml")
    return [str(each) for each in caught.value.problems]


def test_documents_are_read_with_their_lines_and_empty_ones_are_skipped() -> None:
    text = """\
# only a comment
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
  script: |
    one
    --- not a separator
---
# nothing here either
--- # a remark
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
"""
    found = documents.parse(text, file="a.yaml")

    assert [(item.name, str(item.origin)) for item in found] == [
        ("a", "a.yaml:3"),
        ("b", "a.yaml:13"),
    ]
    assert found[0].body["data"]["script"] == "one\n--- not a separator\n"


def test_lists_are_expanded_and_typed_lists_give_their_items_a_kind() -> None:
    text = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a}
- apiVersion: v1
  kind: ConfigMapList
  items:
  - metadata: {name: b}
"""
    found = documents.parse(text, file="a.yaml")

    assert [(item.kind, item.name, item.origin.line) for item in found] == [
        ("ConfigMap", "a", 4),
        ("ConfigMap", "b", 10),
    ]


def test_a_custom_kind_that_ends_in_list_is_an_object() -> None:
    text = "apiVersion: example.com/v1\nkind: AllowList\nmetadata: {name: a}\nitems: [x]\n"
    (found,) = documents.parse(text, file="a.yaml")

    assert found.kind == "AllowList"


def test_json_is_read_as_well() -> None:
    text = '{"apiVersion": "v1", "kind": "ConfigMap",\n\t"metadata": {"name": "a"}}'
    (found,) = documents.parse(text, file="a.json")

    assert found.name == "a"


def test_everything_that_is_wrong_is_said_at_once() -> None:
    text = """\
kind: ConfigMap
metadata: {name: a}
---
just text
---
apiVersion: v1
kind: ConfigMap
metadata:
  generateName: a-
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: 12
  labels:
    version: 1.2
---
apiVersion: v1
metadata: {name: c}
"""
    found = problems(text)

    assert [line.splitlines()[0] for line in found] == [
        "a.yaml:1: apiVersion is missing",
        "a.yaml:4: a Kubernetes object is expected, this is a text",
        "a.yaml:8: metadata.name: the ConfigMap has no name",
        "a.yaml:14: metadata.name: the name of the ConfigMap is not a text",
        "a.yaml:16: metadata.labels.version: the value of version must be a text, this is a number",
        "a.yaml:18: kind is missing",
    ]


def test_an_object_that_is_described_twice_is_refused_with_both_places() -> None:
    text = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: default}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: other}
"""
    with pytest.raises(errors.UserError) as caught:
        documents.check_unique(documents.parse(text, file="a.yaml"))

    (found,) = caught.value.problems
    assert str(found.where) == "a.yaml:5"
    assert found.message == "ConfigMap default/a is described twice, first in a.yaml:1"


def test_versions_of_one_group_are_one_object() -> None:
    text = """\
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {name: a}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: a}
"""
    with pytest.raises(errors.UserError, match="described twice"):
        documents.check_unique(documents.parse(text, file="a.yaml"))


def test_items_of_a_typed_list_get_its_kind_only_without_one_of_their_own() -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a}\n"
        "- {apiVersion: v1, kind: Secret, metadata: {name: b}}\n"
    )

    assert [each.kind for each in documents.parse(text, file="a.yaml")] == ["ConfigMap", "Secret"]
    assert problems("apiVersion: v1\nkind: ConfigMapList\nitems: [{kind: A, metadata: {name: b}}]")


@pytest.mark.parametrize(
    ("metadata", "hint"),
    [
        ("name: 1", "put it in quotes"),
        ("generateName: a-", "generateName makes a new object with every run"),
        ("labels: {a: b}", ""),
    ],
)
def test_an_object_without_a_name_is_told_what_to_do(metadata: str, hint: str) -> None:
    with pytest.raises(errors.UserError) as caught:
        documents.parse(f"apiVersion: v1\nkind: Pod\nmetadata: {{{metadata}}}", file="a.yaml")

    (problem,) = caught.value.problems
    assert problem.hint.startswith(hint)
    assert bool(problem.hint) is bool(hint)


@pytest.mark.parametrize(
    ("kind", "name", "is_refused"),
    [
        ("v1, kind: ConfigMap", "volary-inventory-4d2f", True),
        ("v1, kind: ConfigMap", "volary-inventory-", True),
        ("v1, kind: Secret", "volary-snapshot-4d2f-2", True),
        ("v1, kind: ConfigMap", "volary-inventories", False),
        ("v1, kind: Secret", "volary-inventory-4d2f", False),
        ("example.com/v1, kind: ConfigMap", "volary-inventory-4d2f", False),
    ],
)
def test_nothing_is_called_like_a_record_of_volarys_own(
    kind: str, name: str, is_refused: bool
) -> None:
    text = f"{{apiVersion: {kind}, metadata: {{name: {name}, namespace: other}}}}"
    written = documents.parse(text, file="a.yaml")

    if not is_refused:
        documents.refuse_own_records(written)
        return
    with pytest.raises(errors.UserError, match="called like a record that Volary keeps") as caught:
        documents.refuse_own_records(written)
    assert str(caught.value.problems[0].where) == "a.yaml:1"
