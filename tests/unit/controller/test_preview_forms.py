"""A preview in each of its forms, compared with files; bounds and masking."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.controller import (
    presenting,
    preview,
    preview_json,
    preview_lines,
    preview_markdown,
    preview_text,
)
from volary.manifests import diff, masking
from volary.model import plan, resource
from volary.placement import assignment
from volary.server import encoding

CASES = Path(__file__).parents[2] / "cases/preview"


def key(kind: str, name: str, group: str = "") -> resource.ResourceKey:
    return resource.ResourceKey(group, kind, "shop", name)


IMAGE = ("spec", "template", "spec", "containers", 0, "image")
CHANGED = preview.ObjectPreview(
    key("Deployment", "web", "apps"),
    preview.Verb.CHANGED,
    differences=(
        diff.Item(("metadata", "labels", "team"), diff.ABSENT, "web"),
        diff.Item(IMAGE, "shop:v1", "shop:v2"),
    ),
)
SETTINGS = preview.ObjectPreview(
    key("ConfigMap", "settings"),
    preview.Verb.CHANGED,
    differences=(
        diff.Item(("data", "notes"), "a\nb\nc\nd\n", "a\nb\nC ```\nd\n"),
        diff.Item(("data", "ports"), [1, {"x": 2}], diff.ABSENT),
    ),
    omitted=3,
)
OBJECTS = (
    preview.ObjectPreview(key("Job", "seed", "batch"), preview.Verb.CREATED),
    CHANGED,
    SETTINGS,
    preview.ObjectPreview(key("Secret", "old"), preview.Verb.PRUNED),
    preview.ObjectPreview(
        key("PersistentVolumeClaim", "data"), preview.Verb.KEPT, "its data would go with it"
    ),
)
SHOWN = preview.Preview(
    application="shop",
    commit="0123456789abcdef0123456789abcdef01234567",
    subject="Release v2 @ops <b>\x1b[31m *now*",
    running_commit="fedcba9876543210fedcba9876543210fedcba98",
    running_reason="us, eu run it",
    strategy=plan.Strategy.PIPELINE,
    reason="Sync with the specified pipeline because images were updated",
    images=("shop:v2",),
    stages=(
        preview.StagePreview("K8S_CANARY_ROLLOUT", "One pod", ("us", "eu", "asia", "lost")),
        preview.StagePreview("WAIT", skipped="the commit message starts with 'Release'"),
        preview.StagePreview("K8S_PRIMARY_ROLLOUT", "Everything", ("us",)),
    ),
    targets=(
        preview.TargetPreview("us", OBJECTS, unchanged=4),
        preview.TargetPreview("eu", OBJECTS, unchanged=4),
        preview.TargetPreview(
            "asia", problems=("ConfigMap shop/a: kubectl owns .data | x\nhint: y",)
        ),
        preview.TargetPreview("lost", silence="cluster lost did not answer within 15 s"),
    ),
    warnings=("a.yaml:3: nothing reads this",),
    replicas=assignment.Assignment(
        (
            assignment.Divided(
                key("Deployment", "web", "apps"),
                {"us": assignment.Share(3), "lost": assignment.Share(1)},
                "2 more by free capacity: us 3, lost 1; lost keeps 1",
                {"us": 7},
            ),
            assignment.Divided(
                key("Job", "load", "batch"), {"us": assignment.Share(2, 4)}, "2 evenly: us 2"
            ),
        ),
        {"us": datetime(2026, 1, 31, 12, tzinfo=UTC)},
        {"lost": "no answer within 15 s"},
    ),
)


@pytest.mark.parametrize("form", ["text", "md", "json"])
def test_each_form_is_as_the_file_says(form: str) -> None:
    match form:
        case "text":
            found = preview_text.render(SHOWN)
        case "md":
            found = preview_markdown.render(SHOWN)
        case _:
            found = json.dumps(preview_json.render(SHOWN), indent=2) + "\n"

    assert found == (CASES / f"shop.{form}").read_text()


def test_a_comment_stays_within_its_bound_and_says_what_is_missing() -> None:
    many = tuple(
        replace(
            CHANGED,
            key=key("Deployment", f"web-{number}", "apps"),
            differences=(diff.Item(IMAGE, "a" * 3000, "b" * 3000),),
        )
        for number in range(30)
    )
    targets = tuple(
        preview.TargetPreview(f"cluster-{number}", many[number % 7 :]) for number in range(300)
    )

    found = preview_markdown.render(replace(SHOWN, targets=targets))

    assert 5_000 < len(found) <= preview_markdown.LONGEST
    assert "too long to show everything" in found
    assert "| … and 200 more |" in found
    assert found.count("<details>") == found.count("</details>")
    assert found.count("```diff") * 2 == found.count("```")


@given(st.text(max_size=400), st.text(max_size=400))
def test_no_text_breaks_out_of_a_comment(subject: str, value: str) -> None:
    """Neither a commit's subject nor a value may notify people, add markup or end a block."""
    item = replace(CHANGED, differences=(diff.Item(("data", value[:20]), "x", value),))
    shown = replace(
        SHOWN, subject=subject, targets=(preview.TargetPreview("us", (item,)),), warnings=(value,)
    )

    found = preview_markdown.render(shown)

    assert found.count("</details>") - value.count("</details>") in (1, 0, -1)
    assert found.splitlines()[3].startswith("`0123456`")
    head = "\n".join(found.splitlines()[:8])
    assert "@" not in head
    assert "<" not in head.replace(preview_markdown.marker("shop"), "")
    assert "\x1b" not in found


def test_a_difference_in_the_last_line_end_is_told() -> None:
    lines = list(preview_lines.of_item(diff.Item(("data", "a"), "one\n", "one")))

    assert lines == ["@@ data.a @@", " only the end of the last line differs"]


def test_differences_leave_out_marks_bookkeeping_and_secrets() -> None:
    before = {
        "kind": "Secret",
        "apiVersion": "v1",
        "metadata": {
            "name": "a",
            "resourceVersion": "1",
            "annotations": {"volary.dev/commit": "old", "note": "x"},
        },
        "data": {"password": "b25l"},
        "status": {"seen": 1},
    }
    after = {
        **before,
        "metadata": {
            "name": "a",
            "resourceVersion": "2",
            "annotations": {"volary.dev/commit": "new", "note": "hunter2222"},
        },
        "data": {"password": "dHdv"},
        "status": {"seen": 2},
    }

    found = preview.differences(before, after, masking.Masker(["hunter2222"]))

    assert [(each.dotted, each.old, each.new) for each in found] == [
        ("data.password", "*****", "*****"),
        ("metadata.annotations.note", "x", "*****"),
    ]


def test_a_long_value_is_cut_and_says_so() -> None:
    before = {"metadata": {"name": "a"}, "data": {"big": "x"}}
    after = {"metadata": {"name": "a"}, "data": {"big": "y" * 5000}}

    (found,) = preview.differences(before, after, masking.Masker())

    assert str(found.new).endswith("y … (1000 characters more)")


def test_the_api_says_the_same_as_the_command_line() -> None:
    answered = json.loads(encoding.encode(encoding.plain(presenting.of_plan(SHOWN))))

    assert answered == json.loads(json.dumps(preview_json.render(SHOWN)))
