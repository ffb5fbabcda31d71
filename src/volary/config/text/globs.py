"""PipeCD's globs for paths (PipeCD: 7.3): like Docker's ignore files, relative to the root.

``*`` and ``?`` stop at a slash, ``**`` does not; a pattern that matches a directory covers
everything below it; ``!`` in front takes matches out again, whatever the order.
"""

import posixpath
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

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
        _compile(_clean(text))
    except re.error:
        return f"{pattern} has brackets that do not fit"
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
    compiled = _compile(pattern)
    if compiled.fullmatch(path):
        return True
    parent = posixpath.dirname(path)
    if not parent:
        return False
    segments, parts = pattern.count("/") + 1, parent.split("/")
    return len(parts) >= segments and compiled.fullmatch("/".join(parts[:segments])) is not None


@lru_cache(maxsize=2048)
def _compile(pattern: str) -> re.Pattern[str]:
    """Translate a glob into an expression that takes linear time."""
    out, position = "", 0
    while position < len(pattern):
        step, text = _translate(pattern, position)
        out += text
        position += step
    return re.compile(out, re.DOTALL)


def _translate(pattern: str, at: int) -> tuple[int, str]:
    """Return how much of the pattern was read at `at`, and what it means."""
    char = pattern[at]
    if pattern.startswith("**", at):
        return _translate_stars(pattern[at + 2 :])
    if char in "*?":
        return 1, "[^/]*" if char == "*" else "[^/]"
    if char == "\\" and at + 1 < len(pattern):
        return 2, re.escape(pattern[at + 1])
    if char == "[":
        end = pattern.find("]", at + 2)
        if end < 0:
            raise re.error("missing ]")
        return end - at + 1, f"(?!/)[{_translate_set(pattern[at + 1 : end])}]"
    return 1, re.escape(char)


def _translate_set(inner: str) -> str:
    """Translate characters and ranges, whose signs may mean more to Python than themselves."""
    out, rest = ("^", inner[1:]) if inner.startswith("^") else ("", inner)
    while rest:
        is_range = rest[1:2] == "-" and rest[2:3]
        out += re.escape(rest[0]) + (f"-{re.escape(rest[2])}" if is_range else "")
        rest = rest[3:] if is_range else rest[1:]
    return out


def _translate_stars(rest: str) -> tuple[int, str]:
    """Translate ``**``: any number of directories, also none, when a slash follows."""
    if not rest.startswith("/"):
        return 2, ".*"
    return 3, "(?:[^/]*(?:/[^/]*)*/)?" if rest[1:] else ".*"
