"""A preview in each of its forms, compared with files; bounds and masking."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.cli.local import planning
from volary.controller.api import conversions
from volary.controller.preview import (
    diff_lines,
    markdown_format,
    previews,
    text_format,
)
from volary.manifests import redaction
from volary.manifests.diff import value_diff
from volary.model.objects import manifest
from volary.model.runs import run_plans
from volary.placement.replicas import assignment, divisible_workloads
from volary.server.http import encoding

CASES = Path(__file__).parents[3] / "cases/preview"


def key(kind: str, name: str, group: str = "") -> manifest.ResourceKey:
    return manifest.ResourceKey(group, kind, "shop", name)


IMAGE = ("spec", "template", "spec", "containers", 0, "image")
CHANGED = previews.ObjectPreview(
    key("Deployment", "web", "apps"),
    previews.Verb.CHANGED,
    differences=(
        value_diff.Item(("metadata", "labels", "team"), value_diff.ABSENT, "web"),
        value_diff.Item(IMAGE, "shop:v1", "shop:v2"),
    ),
)
SETTINGS = previews.ObjectPreview(
    key("ConfigMap", "settings"),
    previews.Verb.CHANGED,
    differences=(
        value_diff.Item(("data", "notes"), "a\nb\nc\nd\n", "a\nb\nC ```\nd\n"),
        value_diff.Item(("data", "ports"), [1, {"x": 2}], value_diff.ABSENT),
    ),
    omitted=3,
)
OBJECTS = (
    previews.ObjectPreview(key("Job", "seed", "batch"), previews.Verb.CREATED),
    CHANGED,
    SETTINGS,
    previews.ObjectPreview(key("Secret", "old"), previews.Verb.PRUNED),
    previews.ObjectPreview(
        key("PersistentVolumeClaim", "data"), previews.Verb.KEPT, "its data would go with it"
    ),
)
SHOWN = previews.Preview(
    application="shop",
    commit="0123456789abcdef0123456789abcdef01234567",
    subject="Release v2 @ops <b>\x1b[31m *now*",
    running_commit="fedcba9876543210fedcba9876543210fedcba98",
    running_reason="us, eu run it",
    strategy=run_plans.Strategy.PIPELINE,
    reason="Sync with the specified pipeline because images were updated",
    images=("shop:v2",),
    stages=(
        previews.StagePreview(
            "K8S_CANARY_ROLLOUT", "One pod", ("us", "eu", "full", "asia", "lost")
        ),
        previews.StagePreview("WAIT", skipped="the commit message starts with 'Release'"),
        previews.StagePreview("K8S_PRIMARY_ROLLOUT", "Everything", ("us",)),
    ),
    targets=(
        previews.TargetPreview("us", OBJECTS, unchanged=4),
        previews.TargetPreview("eu", OBJECTS, unchanged=4),
        previews.TargetPreview(
            "full",
            (previews.ObjectPreview(key("ConfigMap", "old"), previews.Verb.KEPT, "not pruned"),),
            unchanged=2,
            prune_refusal="nothing is pruned: 20 of 23 objects",
        ),
        previews.TargetPreview(
            "asia", problems=("ConfigMap shop/a: kubectl owns .data | x\nhint: y",)
        ),
        previews.TargetPreview(
            "lost", unreachable_reason="cluster lost did not answer within 15 s"
        ),
    ),
    warnings=("a.yaml:3: nothing reads this",),
    replicas=assignment.Assignment(
        (
            assignment.WorkloadAssignment(
                key("Deployment", "web", "apps"),
                {"us": divisible_workloads.Share(3), "lost": divisible_workloads.Share(1)},
                "2 more by free capacity: us 3, lost 1; lost keeps 1",
                {"us": 7},
            ),
            assignment.WorkloadAssignment(
                key("Job", "load", "batch"),
                {"us": divisible_workloads.Share(2, 4)},
                "2 evenly: us 2",
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
            found = text_format.render(SHOWN)
        case "md":
            found = markdown_format.render(SHOWN)
        case _:
            found = planning.render(SHOWN, "json") + "\n"

    assert found == (CASES / f"shop.{form}").read_text()


def test_a_comment_stays_within_its_bound_and_says_what_is_missing() -> None:
    many = tuple(
        replace(
            CHANGED,
            key=key("Deployment", f"web-{number}", "apps"),
            differences=(value_diff.Item(IMAGE, "a" * 3000, "b" * 3000),),
        )
        for number in range(30)
    )
    targets = tuple(
        previews.TargetPreview(f"cluster-{number}", many[number % 7 :]) for number in range(300)
    )

    found = markdown_format.render(replace(SHOWN, targets=targets))

    assert 5_000 < len(found) <= markdown_format.LONGEST
    assert "too long to show everything" in found
    assert "| … and 200 more |" in found
    assert found.count("<details>") == found.count("</details>")
    assert found.count("```diff") * 2 == found.count("```")


@given(st.text(max_size=400), st.text(max_size=400))
def test_no_text_breaks_out_of_a_comment(subject: str, value: str) -> None:
    """Neither a commit's subject nor a value may notify people, add markup or end a block."""
    item = replace(CHANGED, differences=(value_diff.Item(("data", value[:20]), "x", value),))
    shown = replace(
        SHOWN, subject=subject, targets=(previews.TargetPreview("us", (item,)),), warnings=(value,)
    )

    found = markdown_format.render(shown)

    assert found.count("</details>") - value.count("</details>") in (1, 0, -1)
    assert found.splitlines()[3].startswith("`0123456`")
    head = "\n".join(found.splitlines()[:8])
    assert "@" not in head
    assert "<" not in head.replace(markdown_format.marker("shop"), "")
    assert "\x1b" not in found


def test_a_difference_in_the_last_line_end_is_told() -> None:
    lines = list(diff_lines.of_item(value_diff.Item(("data", "a"), "one\n", "one")))

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

    found = previews.differences(before, after, redaction.Masker(["hunter2222"]))

    assert [(each.dotted, each.old, each.new) for each in found] == [
        ("data.password", "*****", "*****"),
        ("metadata.annotations.note", "x", "*****"),
    ]


def test_a_long_value_is_cut_and_says_so() -> None:
    before = {"metadata": {"name": "a"}, "data": {"big": "x"}}
    after = {"metadata": {"name": "a"}, "data": {"big": "y" * 5000}}

    (found,) = previews.differences(before, after, redaction.Masker())

    assert str(found.new).endswith("y … (1000 characters more)")


def test_the_api_says_the_same_as_the_command_line() -> None:
    answered = json.loads(encoding.encode(conversions.of_plan(SHOWN)))

    assert answered == json.loads(planning.render(SHOWN, "json"))
