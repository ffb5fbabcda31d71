"""Differences as lines that a terminal or a fence of Markdown shows."""

import pytest

from volary.controller.preview import diff_lines, previews
from volary.manifests.diff import value_diff
from volary.model.objects import manifest

KEY = manifest.ResourceKey("apps", "Deployment", "shop", "web")


def item(old: object, new: object, *path: str | int) -> value_diff.Item:
    return value_diff.Item(path or ("spec", "a"), old, new)


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        (1, 2, ["-1", "+2"]),
        ("a", "b", ["-a", "+b"]),
        (value_diff.ABSENT, "b", ["+b"]),
        ("a", value_diff.ABSENT, ["-a"]),
        ("", "b", ['-""', "+b"]),
        # Texts of many lines: only what differs, with two lines around it.
        ("1\n2\n3\n4\n5", "1\n2\n3\n4\nx", [" 3", " 4", "-5", "+x"]),
        ("a\nb", "a\nb\n", [" only the end of the last line differs"]),
        ("a", "a\nb", [" a", "+b"]),
        # One side is no text.
        ("a\nb", 3, ["-a", "-b", "+3"]),
        (3, "a\nb", ["-3", "+a", "+b"]),
    ],
)
def test_a_difference_is_shown_as_what_goes_and_what_comes(
    old: object, new: object, lines: list[str]
) -> None:
    head, *rest = diff_lines.of_item(item(old, new))

    assert head == "@@ spec.a @@"
    assert rest == lines


def shown(count: int, omitted: int = 0) -> previews.ObjectPreview:
    differences = tuple(item(value_diff.ABSENT, number) for number in range(count))
    return previews.ObjectPreview(KEY, previews.Verb.CHANGED, "", differences, omitted)


def test_as_many_lines_as_fit_are_shown_and_the_others_counted() -> None:
    assert len(diff_lines.of_object(shown(2), most=4)) == 4
    assert diff_lines.of_object(shown(2), most=3)[-2:] == ["@@ spec.a @@", "… 1 more lines"]
    assert diff_lines.of_object(shown(1, omitted=5), most=3)[-1] == "… 5 more fields differ"
    assert diff_lines.of_object(shown(0), most=3) == []


def test_what_steers_a_terminal_is_replaced() -> None:
    assert diff_lines.plain("a\tb\x1b[31m\u202e") == "a\tb\ufffd[31m\ufffd"
