"""A comment on a pull request stays short, and says what it leaves out."""

from dataclasses import replace

import pytest

from volary.controller.preview import markdown_format, previews, text_format
from volary.manifests.diff import value_diff
from volary.model.objects import manifest
from volary.model.runs import run_plans
from volary.placement.replicas import assignment, divisible_workloads

SAME = previews.TargetPreview("us", unchanged=3)
EMPTY = previews.Preview(
    "shop", "c1", "", "", "", run_plans.Strategy.QUICK_SYNC, "because", (), (), ()
)


def key(name: str) -> manifest.ResourceKey:
    return manifest.ResourceKey("apps", "Deployment", "shop", name)


def created(name: str) -> previews.ObjectPreview:
    return previews.ObjectPreview(key(name), previews.Verb.CREATED)


def rendered(**more: object) -> str:
    return markdown_format.render(replace(EMPTY, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(("count", "told"), [(100, ""), (101, "| … and 1 more | | | | | |")])
def test_a_hundred_clusters_have_a_row(count: int, told: str) -> None:
    calm = tuple(previews.TargetPreview(f"c{number}") for number in range(count - 1))
    refusing = previews.TargetPreview("last", problems=("no",))

    text = rendered(targets=(*calm, refusing))

    assert (told in text) is True
    assert text.count("\n| c") == 99
    assert "| last | | | | | **would refuse**: no |" in text, "what needs a look comes first"
    if not told:
        assert "more |" not in text
        assert text.index("| c0 ") < text.index("| last "), "otherwise they are in order"


@pytest.mark.parametrize(
    ("problems", "told"), [(("a",), "a |"), (("a\nhint: x", "b", "c"), "a (and 2 more) |")]
)
def test_of_several_problems_the_first_is_in_the_row(problems: tuple[str, ...], told: str) -> None:
    text = rendered(targets=(previews.TargetPreview("us", problems=problems),))

    assert f"**would refuse**: {told}" in text
    assert f"- {problems[-1]}" in text


def test_a_cluster_that_could_not_be_asked_says_why() -> None:
    lost = previews.TargetPreview("us", unreachable_reason="no answer")

    assert "| us | | | | | **could not be asked**: no answer |" in rendered(targets=(lost,))


def test_what_is_kept_and_warned_of_is_noted_in_the_row() -> None:
    kept = previews.ObjectPreview(key("data"), previews.Verb.KEPT, "it has data")
    one = previews.TargetPreview("us", (kept, created("web")), unchanged=2, warnings=("careful",))

    text = rendered(targets=(one, replace(one, target="eu", objects=(), warnings=())))

    assert "| us | 1 | 0 | 0 | 2 | 1 kept, see the warning below |" in text
    assert "| eu | 0 | 0 | 0 | 2 |  |" in text
    assert "\n> warning: careful" in text


@pytest.mark.parametrize(("count", "more"), [(30, False), (31, True)])
def test_thirty_stages_are_listed(count: int, more: bool) -> None:
    stages = tuple(previews.StagePreview(f"S{number}", "do it") for number in range(count))

    text = rendered(stages=stages)

    assert ("… and 1 more stages" in text) is more
    assert "30. `S29`: do it" in text
    assert "31." not in text


def test_a_stage_says_where_it_is_and_why_it_is_skipped() -> None:
    both = (SAME, replace(SAME, target="eu"))
    stages = (
        previews.StagePreview("A", "all", ("us", "eu")),
        previews.StagePreview("B", "one", ("eu",)),
        previews.StagePreview("C", skipped="nothing changed"),
    )

    text = rendered(targets=both, stages=stages)

    assert "1. `A`: all\n2. `B` on eu: one\n3. ~~C~~ skipped: nothing changed" in text


@pytest.mark.parametrize(("count", "more"), [(10, False), (11, True)])
def test_ten_warnings_are_shown(count: int, more: bool) -> None:
    text = rendered(warnings=tuple(f"careful {number}" for number in range(count)))

    assert ("> … and 1 more warnings" in text) is more
    assert text.count("> warning: careful") == 10


@pytest.mark.parametrize(("count", "more"), [(200, False), (201, True)])
def test_two_hundred_objects_are_listed(count: int, more: bool) -> None:
    objects = tuple(created(f"w{number}") for number in range(count))

    text = rendered(targets=(previews.TargetPreview("us", objects),))

    assert ("- … and 1 more objects" in text) is more
    assert text.count("- **created**") == 200


@pytest.mark.parametrize(("count", "more"), [(100, False), (101, True)])
def test_a_hundred_divided_workloads_are_listed(count: int, more: bool) -> None:
    divided = tuple(
        assignment.WorkloadAssignment(
            key(f"w{number}"), {"us": divisible_workloads.Share(1)}, "evenly"
        )
        for number in range(count)
    )

    text = rendered(replicas=assignment.Assignment(divided))

    assert ("- and 1 more workloads" in text) is more
    assert text.count(": evenly") == 100


def test_differences_go_before_clusters_do_when_it_is_too_long() -> None:
    long = value_diff.Item(("spec", "a"), "x" * 500, "y" * 500)
    changed = previews.ObjectPreview(key("web"), previews.Verb.CHANGED, differences=(long,) * 4)
    target = previews.TargetPreview("us", (changed,))

    whole = rendered(targets=(target,))
    cut = markdown_format.render(replace(EMPTY, targets=(target,)), longest=1500)
    none = markdown_format.render(replace(EMPTY, targets=(target,)), longest=700)

    assert "```diff" in whole
    assert "too long to show everything" not in whole
    assert "```diff" not in cut
    assert "- **changed** `Deployment" in cut
    assert "too long to show everything" in cut
    assert "- **changed**" not in none
    assert "too long to show everything" in none
    assert len(cut) <= 1500


def test_where_differences_hold_a_fence_theirs_is_longer() -> None:
    fenced = value_diff.Item(("data", "a"), "````", "b")
    changed = previews.ObjectPreview(key("web"), previews.Verb.CHANGED, differences=(fenced,))

    assert "  `````diff" in rendered(targets=(previews.TargetPreview("us", (changed,)),))


def test_the_marker_is_found_again_whatever_the_name_is() -> None:
    assert markdown_format.marker("shop/web-1.a") == "<!-- volary-plan: shop/web-1.a -->"
    assert markdown_format.marker("a --> b") == "<!-- volary-plan: a____b -->"


@pytest.mark.parametrize(
    ("states", "told"),
    [
        ((), "no changes"),
        ((SAME,), "no changes"),
        (
            (previews.TargetPreview("eu", (created("a"),)), SAME),
            "1 of 2 clusters would change",
        ),
        (
            (
                previews.TargetPreview("eu", problems=("x",)),
                previews.TargetPreview("ap", unreachable_reason="x"),
            ),
            "1 of 2 clusters would refuse, 1 of 2 clusters could not be asked",
        ),
    ],
)
def test_one_sentence_says_what_would_happen(
    states: tuple[previews.TargetPreview, ...], told: str
) -> None:
    assert text_format.conclusion(replace(EMPTY, targets=states)) == told


def test_clusters_that_would_do_the_same_are_shown_together() -> None:
    same = replace(SAME, target="eu")
    other = replace(SAME, target="ap", unchanged=4)

    groups = text_format.groups(replace(EMPTY, targets=(SAME, other, same)))

    assert [names for names, _ in groups] == [["us", "eu"], ["ap"]]
