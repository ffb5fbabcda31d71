"""Applying rules to a request."""

import functools
import re
import urllib.parse
from collections.abc import Callable, Sequence

from kube_sandbox.dataplane.routes import route_rules

Headers = Sequence[tuple[str, str]]


def choose(
    routes: route_rules.Routes, method: str, target: str, headers: Headers
) -> route_rules.Rule | None:
    """Return the first rule that fits a request."""
    for rule in routes.rules:
        if not rule.matches or any(
            all(_holds(test, method, target, headers) for test in match.tests)
            for match in rule.matches
        ):
            return rule
    return None


def draw(rule: route_rules.Rule, chance: float) -> route_rules.Backend | None:
    """Return the backend for a number from 0 to below 1; None without any weight."""
    total = sum(each.weight for each in rule.backends)
    mark = chance * total
    for each in rule.backends:
        mark -= each.weight
        if mark < 0:
            return each
    return None


def _holds(test: route_rules.Test, method: str, target: str, headers: Headers) -> bool:
    values: Sequence[str]
    match test.part:
        case route_rules.Part.PATH:
            values = (target.partition("?")[0],)
        case route_rules.Part.METHOD:
            values = (method,)
        case route_rules.Part.HEADER:
            values = [value for name, value in headers if name.lower() == test.name]
        case route_rules.Part.QUERY:
            query = urllib.parse.parse_qs(target.partition("?")[2], keep_blank_values=True)
            values = query.get(test.name, ())
    if test.how is route_rules.Comparison.ABSENT:
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


_COMPARE: dict[route_rules.Comparison, Callable[[str, str], bool]] = {
    route_rules.Comparison.EXACT: lambda value, wanted: value == wanted,
    route_rules.Comparison.PREFIX: lambda value, wanted: value.startswith(wanted),
    route_rules.Comparison.SEGMENTS: _segments,
    route_rules.Comparison.REGEX: _regex,
    route_rules.Comparison.PRESENT: lambda _value, _wanted: True,
}
