import pathlib

import pytest

from volary.manifests import redaction
from volary.manifests.diff import diff_text, object_diff
from volary.manifests.loading import documents
from volary.manifests.ownership import tracking
from volary.model.objects import manifest, ownership
from volary.model.pipeline import variant

CASES = sorted((pathlib.Path(__file__).parents[3] / "cases" / "diff_text").iterdir())


def read(text: str) -> list[manifest.Manifest]:
    return documents.parse(text, file="")


def secret(**fields: object) -> manifest.Manifest:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **fields}
    return manifest.Manifest(body)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_text(case: pathlib.Path) -> None:
    """Old and new manifests and the exact text; add a case by adding a folder."""
    old, new = (read((case / f"{name}.yaml").read_text()) for name in ("old", "new"))
    found = object_diff.compare(old, new)

    assert diff_text.render(found) == (case / "expected.txt").read_text()


def test_the_summary_counts() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{x: {}}}\n"
    old, new = read(text.format("one")), read(text.format("two"))

    assert object_diff.compare([], old).summary == (
        "1 added manifests, 0 changed manifests, 0 deleted manifests"
    )
    assert object_diff.compare(old, new).summary == (
        "0 added manifests, 1 changed manifests, 0 deleted manifests"
    )
    assert object_diff.compare(old, old).summary == "No changes were detected"


def test_a_new_commit_alone_is_no_change(simple: list[manifest.Manifest]) -> None:
    old, new = (
        [
            tracking.track(
                item,
                owner=ownership.Owner("web", "web-1"),
                commit=commit,
                variant=variant.Variant.PRIMARY,
                label=variant.VariantLabel(),
            )
            for item in simple
        ]
        for commit in ("1", "2")
    )

    assert object_diff.compare(old, new).is_empty


def test_string_data_is_what_the_server_makes_of_it() -> None:
    assert not object_diff.compare_pair(secret(data={"a": "eA=="}), secret(stringData={"a": "x"}))
    assert object_diff.compare_pair(secret(data={"a": "eA=="}), secret(stringData={"a": "y"}))


def test_no_secret_value_reaches_the_text() -> None:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "swordfish"}
    old = secret(data={"a": "c3dvcmRmaXNo"})
    new = secret(stringData={"a": "swordfish2", "b": "swordfish"})
    named = manifest.Manifest({**new.body, "metadata": {"name": "s", "annotations": annotations}})
    found = diff_text.render(object_diff.compare([old], [named]))

    assert "swordfish" not in found
    assert "c3dvcmRmaXNo" not in found
    assert found.count("*****") == 3


def test_values_are_masked_wherever_they_turn_up() -> None:
    masker = redaction.Masker()
    masker.learn(
        [secret(data={"a": "c3dvcmRmaXNo"}, stringData={"b": 'quo"ted\nsecond line of it'})]
    )

    assert masker.clean("a swordfish and c3dvcmRmaXNo") == "a ***** and *****"
    assert masker.clean('{"b": "quo\\"ted\\nsecond line of it"}') == '{"b": "*****"}'
    assert masker.clean("only the second line of it here") == "only the ***** here"
    assert masker.clean("nothing") == "nothing"


def test_longer_values_are_masked_before_their_beginnings_and_short_ones_are_not() -> None:
    masker = redaction.Masker(["pass", "password", "on"])

    assert masker.clean("password on pass") == "***** on *****"


@pytest.mark.parametrize(
    ("kind", "path", "expected"),
    [
        ("Secret", ("data", "a"), True),
        ("Secret", ("stringData", "a"), True),
        ("Secret", ("metadata", "annotations", tracking.LAST_APPLIED), True),
        ("Secret", ("metadata", "name"), False),
        ("Secret", (), False),
        ("ConfigMap", ("data", "a"), False),
        ("ConfigMap", ("metadata", "annotations", tracking.LAST_APPLIED), False),
    ],
)
def test_what_of_an_object_is_not_shown(
    kind: str, path: tuple[str | int, ...], expected: bool
) -> None:
    assert redaction.is_redacted({"kind": kind}, path) is expected


def test_the_values_of_a_secret_are_texts_that_are_not_empty() -> None:
    item = secret(data={"a": "eA==", "b": "", "c": "no base64"}, stringData={"d": "", "e": "y"})

    assert redaction.secret_values(item) == ["y", "x", "no base64"]
