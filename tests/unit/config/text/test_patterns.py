"""Expressions of users: RE2's grammar, and never more work than a text is long."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.config.text import globs, patterns

#: Each takes years with an engine that tries one way after another.
ADVERSARIAL = [
    "^(a+)+$",
    "(a|aa)+$",
    "(a*)*b",
    "(.*)*x",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(a?){60}a{60}",
    "(a|a|a|a|a)*c",
]


@pytest.mark.parametrize("pattern", ADVERSARIAL)
def test_an_answer_costs_at_most_the_program_for_each_character(pattern: str) -> None:
    # RE2 visits each instruction once for a character: this is its work, on any machine.
    assert patterns.compile_pattern(pattern).programsize <= 8 * (len(pattern) + 120)
    assert patterns.search(pattern, "a" * 50_000 + "!") in (True, False)


@given(st.lists(st.sampled_from(["**/", "**", "*", "?", "a", "/", "[a-c]", "[^/]"]), max_size=60))
def test_a_glob_becomes_a_program_as_long_as_itself(pieces: list[str]) -> None:
    glob = "".join(pieces)
    if not globs.check(glob):
        expression = globs._expression(glob)
        assert patterns.compile_pattern(expression).programsize <= 30 * (len(glob) + 1)
        assert globs.matches([glob], "a/" * 500 + "b") in (True, False)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "missing ): ("),
        ("a{1001}", "invalid repetition size: {1001}"),
        ("(?=a)", "invalid perl operator: (?="),
        (r"(a)\1", r"invalid escape sequence: \1"),
        ("((a{30}){30}){30}", "invalid repetition size: {30}"),
        (r"\pL{1000}", "pattern too large - compile failed"),
        ("a" * 2001, "it is longer than 2000 characters"),
    ],
)
def test_what_is_no_expression_of_re2_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(patterns.PatternError, match=re.escape(reason)):
        patterns.search(pattern, "a")


def test_a_name_that_is_no_utf_8_is_an_unknown_character() -> None:
    assert patterns.fullmatch("caf.", "caf\udce9")
    assert not patterns.fullmatch("café", "caf\udce9")
    assert patterns.search("x", "\ud800x")


def test_a_point_is_a_line_break_only_where_all_is_compared() -> None:
    assert not patterns.search("^a.b$", "a\nb")
    assert patterns.fullmatch("a.b", "a\nb")


@given(
    st.text(alphabet="ab.*+?|()[]^$", max_size=8),
    st.text(alphabet="abc", max_size=8),
)
def test_it_answers_as_the_usual_engine(pattern: str, text: str) -> None:
    try:
        expected = re.search(pattern, text) is not None
        found = patterns.search(pattern, text)
    except (re.error, patterns.PatternError, FutureWarning):
        return
    assert found == expected
