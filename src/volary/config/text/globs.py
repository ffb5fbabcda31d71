"""PipeCD's globs for paths (PipeCD: 7.3): like Docker's ignore files, relative to the root.

``*`` and ``?`` stop at a slash, ``**`` does not; a pattern that matches a directory covers
everything below it; ``!`` in front takes matches out again, whatever the order.
"""

import posixpath
from collections.abc import Iterable, Sequence
from functools import lru_cache

from volary.config.text import patterns as expressions
from volary.model import errors


def matches(patterns: Sequence[str], path: str) -> bool:
    """Say whether `path` is covered by `patterns`, taken together.

    Raises:
        errors.UserError: A pattern cannot be read.
    """
    included = False
    for pattern in _read(patterns):
        if pattern.startswith("!"):
            if _covers(pattern[1:], path):
                return False
        elif not included:
            included = _covers(pattern, path)
    return included


def any_match(patterns: Sequence[str], paths: Iterable[str]) -> str:
    """Return the first of `paths` that any single pattern covers; empty: none.

    Patterns are taken one at a time, as triggers do (PipeCD: 7.3).
    """
    for path in paths:
        if any(matches([pattern], path) for pattern in patterns):
            return path
    return ""


def check(pattern: str) -> str:
    """Say what is wrong with a pattern; empty: nothing."""
    text = pattern.strip().removeprefix("!")
    if pattern.strip() == "!":
        return "a lone ! matches nothing"
    try:
        expressions.compile_pattern(_expression(_clean(text)), any_character=True)
    except expressions.PatternError as error:
        return f"{pattern[:80]}: {error}"
    return ""


def _read(patterns: Sequence[str]) -> list[str]:
    cleaned = []
    for pattern in patterns:
        wrong = check(pattern)
        if wrong:
            raise errors.user_error(f"the path pattern cannot be read: {wrong}")
        text = pattern.strip()
        if text:
            negated = text.startswith("!")
            cleaned.append(("!" if negated else "") + _clean(text.removeprefix("!")))
    return cleaned


def _clean(pattern: str) -> str:
    cleaned = posixpath.normpath(pattern.strip()) if pattern.strip() else ""
    return cleaned.removeprefix("/")


def _covers(pattern: str, path: str) -> bool:
    """Match the whole path, or the leading part of its parent with as many segments."""
    expression = _expression(pattern)
    if expressions.fullmatch(expression, path):
        return True
    parent = posixpath.dirname(path)
    if not parent:
        return False
    segments, parts = pattern.count("/") + 1, parent.split("/")
    leading = "/".join(parts[:segments])
    return len(parts) >= segments and expressions.fullmatch(expression, leading)


@lru_cache(maxsize=2048)
def _expression(pattern: str) -> str:
    """Translate a glob into a regular expression.

    Raises:
        expressions.PatternError: It has brackets that do not fit.
    """
    out, position = "", 0
    while position < len(pattern):
        step, text = _translate(pattern, position)
        out += text
        position += step
    return out


def _translate(pattern: str, at: int) -> tuple[int, str]:
    """Return how much of the pattern was read at `at`, and what it means."""
    char = pattern[at]
    if pattern.startswith("**", at):
        return _translate_stars(pattern[at + 2 :])
    if char in "*?":
        return 1, "[^/]*" if char == "*" else "[^/]"
    if char == "\\" and at + 1 < len(pattern):
        return 2, _literal(pattern[at + 1])
    if char == "[":
        end = pattern.find("]", at + 2)
        if end < 0:
            raise expressions.PatternError("its brackets do not fit")
        return end - at + 1, _translate_set(pattern[at + 1 : end])
    return 1, _literal(char)


def _translate_set(inner: str) -> str:
    """Translate characters and ranges, of which none is a slash."""
    is_negated, rest = inner.startswith("^"), inner.removeprefix("^")
    out = ""
    while rest:
        is_range = rest[1:2] == "-" and rest[2:3]
        first, last = rest[0], rest[2] if is_range else rest[0]
        if first > last:
            raise expressions.PatternError(f"{first}-{last} is no range")
        for low, high in [(first, last)] if is_negated else _without_slash(first, last):
            out += f"{_literal(low)}-{_literal(high)}"
        rest = rest[3:] if is_range else rest[1:]
    if is_negated:
        return f"[^/{out}]"
    return f"[{out}]" if out else "[^\\x{0}-\\x{10FFFF}]"


def _without_slash(first: str, last: str) -> list[tuple[str, str]]:
    if not first <= "/" <= last:
        return [(first, last)]
    parts = [(first, "."), ("0", last)]
    return [(low, high) for low, high in parts if low <= high]


def _literal(char: str) -> str:
    """A character that means itself, inside of brackets as well."""
    return char if char.isalnum() else f"\\x{{{ord(char):x}}}"


def _translate_stars(rest: str) -> tuple[int, str]:
    """Translate ``**``: any number of directories, also none, when a slash follows."""
    if not rest.startswith("/"):
        return 2, ".*"
    return 3, "(?:.*/)?" if rest[1:] else ".*"
