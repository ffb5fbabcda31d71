"""Applying rules to a request."""

import functools
import re
import urllib.parse
from collections.abc import Callable, Sequence

from kube_sandbox.routes import words

Headers = Sequence[tuple[str, str]]


def choose(routes: words.Routes, method: str, target: str, headers: Headers) -> words.Rule | None:
    """Return the first rule that fits a request."""
    for rule in routes.rules:
        if not rule.matches or any(
            all(_holds(test, method, target, headers) for test in match.tests)
            for match in rule.matches
        ):
            return rule
    return None


def draw(rule: words.Rule, chance: float) -> words.Backend | None:
    """Return the backend for a number from 0 to below 1; None without any weight."""
    total = sum(each.weight for each in rule.backends)
    mark = chance * total
    for each in rule.backends:
        mark -= each.weight
        if mark < 0:
            return each
    return None


def _holds(test: words.Test, method: str, target: str, headers: Headers) -> bool:
    values: Sequence[str]
    match test.part:
        case words.Part.PATH:
            values = (target.partition("?")[0],)
        case words.Part.METHOD:
            values = (method,)
        case words.Part.HEADER:
            values = [value for name, value in headers if name.lower() == test.name]
        case words.Part.QUERY:
            query = urllib.parse.parse_qs(target.partition("?")[2], keep_blank_values=True)
            values = query.get(test.name, ())
    if test.how is words.How.ABSENT:
        return not values
    return any(_COMPARE[test.how](value, test.value) for value in values)


@functools.lru_cache(maxsize=1000)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern)
    except re.error:
        return None  # a router would refuse the object; here the rule never fits


def _regex(value: str, pattern: str) -> bool:
    compiled = _compiled(pattern)
    return compiled is not None and compiled.fullmatch(value) is not None


def _segments(value: str, prefix: str) -> bool:
    short = prefix.rstrip("/")
    return value == short or value.startswith(f"{short}/")


_COMPARE: dict[words.How, Callable[[str, str], bool]] = {
    words.How.EXACT: lambda value, wanted: value == wanted,
    words.How.PREFIX: lambda value, wanted: value.startswith(wanted),
    words.How.SEGMENTS: _segments,
    words.How.REGEX: _regex,
    words.How.PRESENT: lambda _value, _wanted: True,
}
