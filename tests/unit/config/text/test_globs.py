"""PipeCD's table of globs (10.5)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.config.text import globs
from volary.model import errors

MATCHES = [
    ("*", "a"),
    ("*", "a/b/c"),
    ("**", "a/b/c"),
    ("**/", "a/b/c"),
    ("*.yaml", "a.yaml"),
    ("docs", "docs"),
    ("docs", "docs/a/b.md"),
    ("dir/*", "dir/f"),
    ("dir/*", "dir/sub/f"),
    ("dir/**", "dir/f"),
    ("dir/**", "dir/sub/f"),
    ("a/*.txt", "a/f.txt"),
    ("a**/*.txt", "a/f.txt"),
    ("a**/*.txt", "a/dir/dir/f.txt"),
    ("**/*.txt", "a/dir/dir/f.txt"),
    ("**/*.txt", "f.txt"),
    ("**/foo/bar", "foo/bar"),
    ("**/foo/bar", "d/d2/foo/bar"),
    ("**file", "file"),
    ("**file", "dir/dir/file"),
    ("**/.foo", ".foo"),
    ("a[b-d]e", "ace"),
    ("abc?def", "abcZdef"),
    ("a[+--]e", "a,e"),
    ("a[a-b--0]e", "a.e"),
    ("a[&|~[]e", "a&e"),
]
MISSES = [
    ("*.yaml", "dir1/a.yaml"),
    ("docs", "docs-2/a"),
    ("dir/*", "dir"),
    ("dir/*", "other/f"),
    ("dir/**", "dir"),
    ("a/*.txt", "a/dir/f.txt"),
    ("**/.foo", "bar.foo"),
    ("a[b-d]e", "aae"),
    ("a[+--]e", "a.e"),
    ("abc?def", "abcdef"),
    ("abc?def", "abc/def"),
]


@pytest.mark.parametrize(("pattern", "path"), MATCHES)
def test_matches(pattern: str, path: str) -> None:
    assert globs.matches([pattern], path)


@pytest.mark.parametrize(("pattern", "path"), MISSES)
def test_does_not_match(pattern: str, path: str) -> None:
    assert not globs.matches([pattern], path)


@pytest.mark.parametrize("patterns", [["docs", "!docs/README.md"], ["!docs/README.md", "docs"]])
def test_an_exclusion_wins_in_any_order(patterns: list[str]) -> None:
    assert globs.matches(patterns, "docs/a.md")
    assert not globs.matches(patterns, "docs/README.md")


@pytest.mark.parametrize("pattern", ["!", "a[b"])
def test_a_pattern_that_cannot_be_read_is_an_error(pattern: str) -> None:
    with pytest.raises(errors.UserError):
        globs.matches([pattern], "a")


@given(st.text(alphabet="ab*?/[]!\\.-^", max_size=12), st.text(alphabet="ab/.", max_size=12))
def test_any_pattern_is_read_or_refused(pattern: str, path: str) -> None:
    if globs.check(pattern):
        with pytest.raises(errors.UserError):
            globs.matches([pattern], path)
    else:
        assert globs.matches([pattern], path) in (True, False)
